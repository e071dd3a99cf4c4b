"""`plan.json`: the plan of a fit, written before training, so that the same command continues with the same plan,
however busy the machine is then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llwlc._planning.omissions import describe_plan
from llwlc._planning.plan import FitPlan
from llwlc._runs.format import PLAN
from llwlc._support.files import write_text
from llwlc._support.json_file import read_json
from llwlc._support.records import to_mapping
from llwlc.errors import InputError, RunFolderError
from llwlc.models._llwlc.presets import Preset, read_preset

PLAN_FORMAT = 1


@dataclass(frozen=True)
class SavedPlan:
    """`base`: the fingerprint of the fit before anything was left out; `preset`: the settings of the plan; `minutes`:
    the budget; `cost`: points of AUC that the plan is known to cost; `forecast`: seconds of each stage, and of all
    together from then on, at most, usually and at least, and how many times longer work took than on an idle machine.
    """

    base: str
    preset: Preset
    minutes: float
    cost: float
    forecast: Mapping[str, Any]
    left_out: tuple[str, ...] = ()
    """The members of a blend that the budget did not allow."""
    network_left_out: str = ""
    """Why the network is not trained, "" where it is."""

    @classmethod
    def of(cls, base: str, plan: FitPlan, left_out: tuple[str, ...] = ()) -> SavedPlan:
        ahead = plan.forecast
        forecast = {
            "stages": dict(ahead.stages),
            "seconds": ahead.seconds,
            "at_most": ahead.at_most,
            "usual": ahead.usual,
            "at_least": ahead.at_least,
            "bytes": ahead.num_bytes,
            "slowdown": plan.slowdown,
        }
        minutes = float(plan.minutes or 0.0)
        return cls(base, plan.preset, minutes, plan.cost, forecast, left_out, plan.network_left_out)

    @property
    def sentence(self) -> str:
        """What is left out, in plain words."""
        return describe_plan(self.preset, self.cost, self.network_left_out)


def write_plan(folder: Path, plan: SavedPlan) -> None:
    parts = {name: getattr(plan, name) for name in ("base", "minutes", "cost")}
    content = {"format": PLAN_FORMAT, **parts, "preset": to_mapping(plan.preset), "forecast": dict(plan.forecast)}
    content |= {"left_out": list(plan.left_out), "network_left_out": plan.network_left_out}
    write_text(folder / PLAN, json.dumps(content, indent=2) + "\n")


def read_plan(folder: Path) -> SavedPlan | None:
    """The plan of a run, finished or begun; None where it has none."""
    path = folder / PLAN
    if not path.is_file():
        return None
    data = read_json(path)
    try:
        if data["format"] != PLAN_FORMAT:
            raise RunFolderError(f"{path} has format {data['format']}, this version reads {PLAN_FORMAT}: update llwlc")
        minutes, cost = float(data["minutes"]), float(data["cost"])
        preset, left_out = read_preset(data["preset"], str(path)), tuple(map(str, data["left_out"]))
        why = str(data["network_left_out"])
        return SavedPlan(str(data["base"]), preset, minutes, cost, dict(data["forecast"]), left_out, why)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise RunFolderError(f"{path} is damaged ({error!r}): delete it and fit again") from error
