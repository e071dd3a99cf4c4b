"""The parts of the readout, and what each contributes to the log-odds: exact Shapley values against a sample of random
pairs.

The heads read one row per link, made of parts: the pooled subgraph, the two ends, their filtered features, the pair's
own numbers. A coalition of parts is valued by the mean log-odds of rows that have these parts from the link and the
others from a reference pair; with so few parts all coalitions are tried, so nothing is sampled but the reference pairs.
The contributions add up to the link's log-odds less the mean of the references.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.explain._blended import AnyPopulation, BesideNetwork, BlendedPopulation
from llwlc.nn._net import LLwLCNet

COALITIONS = 1 << 8
"""Coalitions that are valued together."""


class ReadoutPart(NamedTuple):
    """Columns `begin` to `end` of the readout."""

    name: str
    about: str
    begin: int
    end: int


def list_parts(net: LLwLCNet) -> list[ReadoutPart]:
    """In the order in which `LLwLCNet.readout` puts them."""
    c, parts, at = net.config, [], 0
    sizes = [("structure", "the nodes around the pair, by their distances to both ends", net.pool.out_channels)]
    if c.ends:
        sizes.append(("ends", "what the blocks make of the two ends", 2 * c.channels))
    if net.filtered is not None:
        cosines = net.filtered.out_channels - 2 * c.filtered_channels
        sizes.append(
            ("features", "the features of the two ends, filtered over the neighbourhood", 2 * c.filtered_channels)
        )
        sizes.append(("likeness", "how alike the filtered features of the ends are", cosines))
    if c.pair_channels:
        sizes.append(("common neighbours", "their number, Adamic–Adar, resource allocation", 3))
        sizes.append(("degrees", "how many links the ends have already", 2))
        sizes.append(("raw features", "the cosine of the raw features", c.pair_channels - 5))
    for name, about, size in sizes:
        if size:
            parts.append(ReadoutPart(name, about, at, at + size))
            at += size
    return parts


def logits(net: LLwLCNet, readout: Tensor) -> tuple[Tensor, Tensor]:
    """`LLwLCNet.outputs` from its readout `[B, width]`: logits `[B, 1 or 2]`, and whether the ends share a neighbour
    `[B]`.
    """
    hidden = net.head[:-1](readout)
    out: Tensor = net.head[-1](hidden)
    pair = net.config.pair_channels
    sharing = readout[:, -pair] > 0 if pair else torch.zeros(len(readout), dtype=torch.bool)
    if net.ranking is None:
        return out, sharing
    both = net.ranking(torch.cat([hidden, readout], 1))
    return torch.cat([out, torch.where(sharing, both[:, 0], both[:, 1]).unsqueeze(1)], 1), sharing


def log_odds_of(net: LLwLCNet, readout: Tensor, population: AnyPopulation) -> Tensor:
    """The log-odds `[B]` of links in a population, all of them finite."""
    out, sharing = logits(net, readout)
    odds = population.log_odds(out[:, population.output], sharing)
    if not odds.isfinite().all():
        raise InputError(
            "the network gives log-odds that are NaN or infinite: its weights are damaged, or its training diverged;"
            " copy the run again, or fit again"
        )
    return odds


def shapley_values(
    net: LLwLCNet,
    link: Tensor,
    references: Tensor,
    population: AnyPopulation,
    beside: tuple[BesideNetwork, BesideNetwork] | None = None,
) -> list[float]:
    """The Shapley values of `list_parts(net)`, then of the other members of a blend, for one link's readout
    `[1, width]` against those of reference pairs `[R, width]`; `beside`: what the other members add to either.
    """
    parts = list_parts(net)
    others = 0 if beside is None else len(beside[0].names)
    count = len(parts) + others
    member = (torch.arange(2**count).unsqueeze(1) >> torch.arange(count)) & 1 == 1
    columns = torch.zeros(2**count, references.shape[1], dtype=torch.bool)
    for i, part in enumerate(parts):
        columns[:, part.begin : part.end] = member[:, i : i + 1]
    value = torch.empty(2**count, dtype=references.dtype)
    for some in torch.split(torch.arange(2**count), COALITIONS):
        rows = torch.where(columns[some].unsqueeze(1), link, references).flatten(0, 1)
        asked = population
        if beside is not None and isinstance(population, BlendedPopulation):
            mine, theirs = (each.parts for each in beside)
            added = torch.where(member[some, len(parts) :].unsqueeze(1), mine, theirs).sum(2)
            asked = BlendedPopulation(population.population, population.blend, added.flatten())
        value[some] = log_odds_of(net, rows, asked).view(len(some), -1).mean(1)
    size = member.sum(1)
    share = torch.tensor([1 / (count * math.comb(count - 1, k)) for k in range(count)], dtype=value.dtype)
    effects = []
    for i in range(count):
        without = (~member[:, i]).nonzero()[:, 0]
        gain = value[without + 2**i] - value[without]
        effects.append(float((share[size[without]] * gain).sum()))
    return effects
