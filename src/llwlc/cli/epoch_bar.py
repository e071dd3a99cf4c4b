"""The bar over the epochs of training."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from llwlc.training.records import EpochRecord


class EpochBar:
    """A bar that moves by epochs and shows loss and validation score, from `open` to the end of the block."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self._stack = ExitStack()
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> EpochBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def open(self) -> None:
        """Draws it; what has to be printed first comes before."""
        from llwlc.support.progress import bars

        progress = self._stack.enter_context(bars())
        self._shown = progress, progress.add_task("training", total=self.total)

    def move(self, record: EpochRecord) -> None:
        """One epoch is done."""
        if self._shown is not None:
            progress, task = self._shown
            text = f"training, loss {record.loss:.3f}, AUC {record.valid_auc:.4f}"
            progress.update(task, completed=record.epoch + 1, description=text)
