"""A job in a folder: `job.json` describes it, every shard is a file that is written atomically, and
`manifest.json` is written last.

So a worker or a driver may be killed at any moment, and the same call then computes exactly the missing shards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from llwlc._support.files import PARTIAL, file_digest, write_text
from llwlc._support.json_file import read_json
from llwlc._support.lock import LOCK, hold_lock
from llwlc._support.version import VERSION
from llwlc.errors import InputError, StorageError

JOB, MANIFEST = "job.json", "manifest.json"


class Shard(NamedTuple):
    """A file of a job: its number, the rows that it must have, its size and SHA-256."""

    number: int
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ShardFolder:
    """`rows` rows in shards of `each`; `count`: reads the number of rows of a file, and fails on one that is
    damaged.
    """

    path: Path
    rows: int
    each: int
    ending: str
    count: Callable[[Path], int]
    name: str = "part"

    @property
    def shards(self) -> int:
        return -(-self.rows // self.each)

    def rows_of(self, shard: int) -> tuple[int, int]:
        """The first row of a shard, and the row after its last."""
        return shard * self.each, min((shard + 1) * self.each, self.rows)

    def file(self, shard: int) -> Path:
        return self.path / f"{self.name}-{shard:06d}{self.ending}"

    def missing(self) -> list[int]:
        """The shards that are still to be computed; a damaged file is removed and counts as missing."""
        missing = []
        for shard in range(self.shards):
            file, (begin, end) = self.file(shard), self.rows_of(shard)
            try:
                whole = file.exists() and self.count(file) == end - begin
            except Exception:  # any error of a reader on a damaged file
                whole = False
            if not whole:
                file.unlink(missing_ok=True)
                missing.append(shard)
        return missing

    def described(self, shard: int) -> Shard:
        begin, end = self.rows_of(shard)
        return Shard(shard, end - begin, self.file(shard).stat().st_size, file_digest(self.file(shard)))

    def finish(self, job: Mapping[str, Any], done: Iterable[Shard]) -> None:
        """Writes the manifest, after the rows of all shards were counted once more."""
        by_number = {shard.number: shard for shard in done}
        shards = [by_number.get(number) or self.described(number) for number in range(self.shards)]
        files = {self.file(s.number).name: {"rows": s.rows, "bytes": s.bytes, "sha256": s.sha256} for s in shards}
        about = {"llwlc": VERSION, "rows": sum(s.rows for s in shards), "job": dict(job), "files": files}
        write_text(self.path / MANIFEST, json.dumps(about, indent=1) + "\n")


@contextmanager
def open_job_folder(folder: Path, job: Mapping[str, Any]) -> Iterator[bool]:
    """Opens or makes the folder of a job; the folder of another job, or one that another process works in, is refused.
    Yields whether the job is done already.
    """
    new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"the folder {folder} cannot be made ({error.strerror}): name one in a folder that is there"
        ) from error
    with hold_lock(folder, "another call of this job"):
        others = [entry for entry in folder.iterdir() if entry.name != LOCK and not entry.name.endswith(PARTIAL)]
        if (folder / JOB).exists():
            if read_json(folder / JOB) != json.loads(json.dumps(job)):
                raise InputError(
                    f"{folder} holds another job (other run, pairs or options): choose another folder, or delete it"
                )
        elif others:
            raise InputError(f"{folder} holds files that are not a job of llwlc: choose another folder")
        else:
            try:
                write_text(folder / JOB, json.dumps(job, indent=1) + "\n")
            except StorageError:
                if new:
                    (folder / LOCK).unlink(missing_ok=True)
                raise
        yield (folder / MANIFEST).exists()
