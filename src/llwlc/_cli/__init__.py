"""The command line: every command is one call of the library; torch is imported only when a command needs it."""

from __future__ import annotations

import gc
import signal
import sys


def main() -> None:
    """Entry point. Input that cannot be used, and wrong usage, end with code 2; an interrupt with 130; a standard
    output that cannot be written with 1.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the process quietly until the next import is done
    from llwlc._cli import process

    process.mark_start()
    process.quiet_interrupts()
    process.prepare_streams()
    try:
        try:
            from llwlc._cli.app import app

            app()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise SystemExit(process.INTERRUPTED) from None
    except BrokenPipeError:  # the reader has closed the pipe: it wants no more
        process.drop_output()
        raise SystemExit(process.OUTPUT_FAILED) from None
    except process.OutputError as error:
        process.drop_output()
        print(
            f"Error: standard output cannot be written ({error.strerror}): check the disk it goes to", file=sys.stderr
        )
        raise SystemExit(process.OUTPUT_FAILED) from None
    finally:
        gc.freeze()  # Python's last search for cycles, through all of torch, takes as long as a quarter of the imports
        process.interrupts_end_at_once()
