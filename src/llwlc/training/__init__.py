"""From a split graph to a trained, calibrated, measured network."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.training._checkpoint import Checkpoint as Checkpoint
    from llwlc.training._epoch_record import EpochRecord as EpochRecord
    from llwlc.training._limits import Limits as Limits
    from llwlc.training._loop import Schedule as Schedule
    from llwlc.training._loop import Trainee as Trainee
    from llwlc.training._loop import TrainingResult as TrainingResult
    from llwlc.training._loop import ValidationScores as ValidationScores
    from llwlc.training._loop import train as train
    from llwlc.training._node_features import NodeFeatures as NodeFeatures
    from llwlc.training._resources import Resources as Resources

_HOMES = {
    "Checkpoint": "_checkpoint",
    "EpochRecord": "_epoch_record",
    "Limits": "_limits",
    "NodeFeatures": "_node_features",
    "Resources": "_resources",
    "Schedule": "_loop",
    "Trainee": "_loop",
    "TrainingResult": "_loop",
    "ValidationScores": "_loop",
    "train": "_loop",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
