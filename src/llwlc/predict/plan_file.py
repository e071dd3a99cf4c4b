"""`plan.json`: the plan of a fit, written before training, so that the same command continues with the same plan, however busy the machine is then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llwlc.errors import InputError
from llwlc.predict.run_format import PLAN
from llwlc.support.files import write_text
from llwlc.support.json_file import read_json
from llwlc.support.records import plain
from llwlc.training.plan import Plan
from llwlc.training.presets import Preset, read_preset

FORMAT = 1


@dataclass(frozen=True)
class WrittenPlan:
    """`base`: the fingerprint of the fit before anything was left out; `preset`: the settings of the plan; `minutes`: the budget; `cost`: points of AUC that the plan is known to cost; `forecast`:
    seconds of each stage, and of all together from then on, at most, usually and at least."""

    base: str
    preset: Preset
    minutes: float
    cost: float
    forecast: Mapping[str, Any]

    @classmethod
    def of(cls, base: str, plan: Plan) -> WrittenPlan:
        ahead = plan.forecast
        forecast = {
            "stages": dict(ahead.stages),
            "seconds": ahead.seconds,
            "at_most": ahead.at_most,
            "usual": ahead.usual,
            "at_least": ahead.at_least,
            "bytes": ahead.num_bytes,
        }
        return cls(base, plan.preset, float(plan.minutes or 0.0), plan.cost, forecast)


def write_plan(folder: Path, plan: WrittenPlan) -> None:
    parts = {name: getattr(plan, name) for name in ("base", "minutes", "cost")}
    found = {"format": FORMAT, **parts, "preset": plain(plan.preset), "forecast": dict(plan.forecast)}
    write_text(folder / PLAN, json.dumps(found, indent=2) + "\n")


def read_plan(folder: Path) -> WrittenPlan | None:
    """The plan of a run, finished or begun; None where it has none."""
    path = folder / PLAN
    if not path.is_file():
        return None
    data = read_json(path)
    try:
        if data["format"] != FORMAT:
            raise InputError(f"{path} has format {data['format']}, this version reads {FORMAT}: update llwlc")
        minutes, cost = float(data["minutes"]), float(data["cost"])
        return WrittenPlan(
            str(data["base"]), read_preset(data["preset"], str(path)), minutes, cost, dict(data["forecast"])
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged ({error!r}): delete it and fit again") from error
