"""StudyModel: our model with the options of a `StudyNet`, by which cells name readings of the paper that no preset
has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from llwlc.errors import InputError
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.presets import Preset, find_preset
from llwlc.nn._config import NetConfig
from llwlc.nn._registry import READOUTS
from research.experiments.leaks import MODELS
from research.experiments.study_net import StudyConfig, StudyNet

OPTIONS = frozenset(field.name for field in fields(StudyConfig)) - {field.name for field in fields(NetConfig)}
"""The options that only a `StudyNet` has."""


@dataclass(frozen=True)
class StudyPreset(Preset):
    """A preset whose network is a `StudyNet`."""

    net: StudyConfig

    def __post_init__(self) -> None:
        super().__post_init__()
        unreachable = 2 * self.basis.hops + 1
        if self.net.labels == "drnl" and self.net.distance_cap != unreachable:
            raise InputError(
                f"labels='drnl' are SEAL's of whole distances: set distance_cap={unreachable} with"
                f" hops={self.basis.hops}, got {self.net.distance_cap}"
            )
        if self.net.labels == "features" and not (self.features and self.net.node_features):
            raise InputError("labels='features' are the features alone: set features and node_features")

    def without_effect(self, option: str) -> str:
        net = self.net
        if option == "common" and net.common:
            if not net.filtered_channels:
                return "no features are filtered where filtered_channels is 0"
            return "" if self.features else "there are no features where features is 0"
        if option == "sort_channel" and net.sort_channel and not READOUTS[net.pooling].sized:
            return f"the readout {net.pooling!r} sorts nothing"
        return super().without_effect(option)


def cell_preset(name: str, **options: Any) -> Preset:
    """The preset of this name with the options of a cell: a `StudyPreset` where one of them is the study's own.

    >>> cell_preset("paper", powers=5).net.powers
    5
    """
    if not OPTIONS & set(options):
        return find_preset(name, **options)
    known = find_preset(name)
    study = StudyPreset(**(vars(known) | {"net": StudyConfig(**vars(known.net))}))
    return study.changed(**options)


class StudyModel(LLwLC):
    """Our model with a `StudyNet`. It is fitted and measured; a run folder of it is not read."""

    network = StudyNet


def cell_model(name: str, options: Mapping[str, Any], leak: str = "") -> LLwLC:
    """The model of a cell, by its preset, options and leak."""
    chosen = cell_preset(name, **options)
    if not isinstance(chosen, StudyPreset):
        return MODELS.get(leak, LLwLC)(name, **options)
    if leak in MODELS:
        raise InputError(
            f"the leak {leak!r} is not made for a network with {', '.join(sorted(OPTIONS & set(options)))}: leave the"
            " leak or these options out"
        )
    return StudyModel(chosen)
