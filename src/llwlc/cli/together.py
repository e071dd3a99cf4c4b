"""A command that torchrun started several times: the processes find each other, and only the first speaks."""

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
    # before torch is loaded, which warns of an option of ours that costs a look at each step (`step.averaged` says why it is set)
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


@contextmanager
def together(device: str) -> Iterator[Ranks | None]:
    """This process among those of torchrun, None where it did not start this one. Of the others only errors are heard."""
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
