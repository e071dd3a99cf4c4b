"""The progress bar of training, one step per epoch."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from llwlc._cli.console import print_status

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from llwlc.training._epoch_record import EpochRecord


class EpochBar:
    """A progress bar over epochs that shows loss and validation score. `open` draws it, the end of the block removes
    it; for a resumed run it begins at the epoch reached before.
    """

    def __init__(self, total: int | None, run: Path | None = None) -> None:
        self.total, self.run = total, run
        self._stack = ExitStack()
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> EpochBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def open(self, total: int | None = None) -> None:
        """Draws the bar, once, for `total` epochs, by default those of the constructor. Whatever must be printed above
        the bar is printed before this call.
        """
        if self._shown is not None:
            return
        self.total = self.total if total is None else total
        from llwlc._support.progress import make_progress

        done = self._count_epochs()
        if done:
            print_status(f"going on after epoch {done:,}{'' if self.total is None else f' of {self.total:,}'}")
        progress = self._stack.enter_context(make_progress())
        self._shown = progress, progress.add_task("training", total=self.total, completed=done)

    @property
    def resumes(self) -> bool:
        """Whether the run has completed epochs already."""
        return self._count_epochs() > 0

    def _count_epochs(self) -> int:
        from llwlc._runs.directory import CHECKPOINT
        from llwlc._runs.plan_file import read_plan
        from llwlc.training._checkpoint import count_epochs

        if self.run is None or not (self.run / CHECKPOINT).is_file():
            return 0
        plan = read_plan(self.run)
        self.total = self.total if plan is None or self.total is None else plan.preset.train.epochs
        return count_epochs(self.run / CHECKPOINT)

    def move(self, record: EpochRecord) -> None:
        """Advances the bar by one epoch."""
        if self._shown is not None:
            progress, task = self._shown
            text = f"training, loss {record.loss:.3f}, AUC {record.valid_auc:.4f}"
            progress.update(task, completed=record.epoch + 1, description=text)
