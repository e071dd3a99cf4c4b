"""Limits of one request, and the error of a request beyond them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RequestLimits:
    """Of one request: bytes of its body, pairs, links, edges of an explanation, seconds it may take; and how many
    requests may wait for the model.
    """

    body: int = 1_000_000
    pairs: int = 10_000
    links: int = 1_000
    edges: int = 500
    seconds: float = 30.0
    waiting: int = 16
    requests: int = 64
    """Requests that may wait for the model, those for the same work counted each."""
    name: int = 1_000
    """Characters of a node's name, or of the longest name in the graph where that is longer."""


class RequestError(Exception):
    """A request that is not answered: a status from 400 to 499, and a sentence that says why and what to do."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
