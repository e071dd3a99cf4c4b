"""A command that torchrun started in several processes: they connect to each other, and only the first prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llwlc._cli.console import ERR, OUT
from llwlc.errors import LLwLCError

if TYPE_CHECKING:
    from llwlc.training._ranks import Ranks

STARTED_BY_TORCHRUN = "TORCHELASTIC_RUN_ID" in os.environ
"""Whether torchrun started this process."""
if STARTED_BY_TORCHRUN:
    # set before torch is loaded: torch warns that an option of ours makes each step search for unused parameters
    # (`step.average_gradients` says why it is set)
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


@contextmanager
def join_processes(device: str) -> Iterator[Ranks | None]:
    """This process's place among those of torchrun, None if torchrun did not start it. Processes other than the first
    print only errors.
    """
    if not STARTED_BY_TORCHRUN:
        yield None
        return
    from llwlc._support.devices import pick_device
    from llwlc._support.progress import show_progress
    from llwlc.training._ranks import Ranks

    ranks = Ranks.join(pick_device(device))
    try:
        if ranks.first:
            yield ranks
            return
        OUT.quiet = ERR.quiet = True
        with show_progress(False):
            yield ranks
    except LLwLCError as error:
        if not ranks.first:
            print(f"Error in process {ranks.rank}: {error}", file=sys.stderr)
        raise
    finally:
        ranks.leave()
