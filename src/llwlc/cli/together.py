"""A command that torchrun started in several processes: they connect to each other, and only the first prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from llwlc.cli.console import ERR, OUT
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc.training.ranks import Ranks

LAUNCHED = "TORCHELASTIC_RUN_ID" in os.environ
"""Whether torchrun started this process."""
if LAUNCHED:
    # set before torch is loaded: torch warns that an option of ours makes each step search for unused parameters (`step.averaged` says why it is set)
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


@contextmanager
def together(device: str) -> Iterator[Ranks | None]:
    """This process's place among those of torchrun, None if torchrun did not start it. Processes other than the first print only errors."""
    if not LAUNCHED:
        yield None
        return
    from llwlc.support.devices import pick_device
    from llwlc.support.progress import bars
    from llwlc.training.ranks import Ranks

    ranks = Ranks.join(pick_device(device))
    try:
        if ranks.first:
            yield ranks
            return
        OUT.quiet = ERR.quiet = True
        with bars(Console(stderr=True, quiet=True)):  # every other bar is a line of this one
            yield ranks
    except InputError as error:
        if not ranks.first:
            print(f"Error in process {ranks.rank}: {error}", file=sys.stderr)
        raise
    finally:
        ranks.leave()
