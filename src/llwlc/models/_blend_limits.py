"""MemberLimits: a blend takes its limits and its training links from one of its members."""

from __future__ import annotations

from torch import Tensor

from llwlc.models._base import LinkModel
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._limits import Limits


class MemberLimits(LinkModel):
    """The limits of the first member that is trained on candidates, otherwise of the first one."""

    members: list[LinkModel]

    @property
    def _ranker(self) -> LinkModel:
        return next((member for member in self.members if member.trains_on_candidates), self.members[0])

    @property
    def compact_features(self) -> int | str:  # type: ignore[override]
        return self._ranker.compact_features

    @property
    def candidate_pool(self) -> int:  # type: ignore[override]
        return self._ranker.candidate_pool

    @property
    def trains_on_candidates(self) -> bool:  # type: ignore[override]
        return self._ranker.trains_on_candidates

    @property
    def list_length(self) -> int:
        return self._ranker.list_length

    @list_length.setter
    def list_length(self, length: int) -> None:
        self._ranker.list_length = length

    @property
    def limits(self) -> Limits:
        return self._ranker.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._ranker.limits = limits

    @property
    def epochs(self) -> int | None:  # type: ignore[override]
        return self.members[0].epochs

    def training_links(self, split: LinkSplit, seed: int) -> Tensor:
        return self._ranker.training_links(split, seed)
