"""Kernels that come translated are the machine code that their source gives, and are not needed."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from llwlc._support import compiler, translated_kernels
from llwlc._support.checksum import strip_checksum

ROOT = Path(__file__).parents[2]
OWN = textwrap.dedent("""
    import numpy as np
    from llwlc._support.compiler import compiled
    @compiled
    def squares(values):
        total = 0.0
        for i in range(len(values)):
            total += values[i] * values[i]
        return total
    @compiled
    def largest_row(matrix):
        best, at = -1.0, 0
        for i in range(len(matrix)):
            norm = squares(matrix[i])
            if norm > best:
                best, at = norm, i
        return np.sort(matrix[at])
    if __name__ == "__main__":
        import sys
        from llwlc._support import translated_kernels
        translated_kernels.FOLDER = __import__("pathlib").Path(sys.argv[1])
        print(largest_row(np.arange(12.0).reshape(4, 3)).tolist(), sum(largest_row.stats.cache_hits.values()))
""")


def script():
    spec = importlib.util.spec_from_file_location("translate_kernels", ROOT / "scripts" / "translate_kernels.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def own(tmp_path):
    """Runs a user's kernel from an empty code cache; returns what it prints, and the stored files."""
    (tmp_path / "own.py").write_text(OWN)

    def run(code: str, **environment: str) -> tuple[str, list[bytes]]:
        where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / code)} | environment
        command = [sys.executable, "own.py", str(tmp_path / "archives")]
        done = subprocess.run(command, cwd=tmp_path, env=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        stored = sorted((tmp_path / code).rglob("*.nbc"))
        return done.stdout.strip(), [strip_checksum(path.read_bytes()) for path in stored]

    return run


@pytest.fixture
def archive(tmp_path, own):
    """An archive of the user's kernel, and the machine code that its source gave meanwhile."""
    printed, stored = own("source", **{translated_kernels.RECORD: str(tmp_path / "recorded")})
    assert printed == "[9.0, 10.0, 11.0] 0"
    (tmp_path / "archives").mkdir()
    path = tmp_path / "archives" / translated_kernels.archive_name()
    script().write_archive(tmp_path / "recorded", path)
    return path, stored


def machine_code(stored):
    import pickle

    content = pickle.loads(stored)
    return (pickle.loads(content) if isinstance(content, bytes) else content)[0][2][0]


def test_a_translated_kernel_is_the_machine_code_of_its_source(own, archive):
    printed, stored = own("translated")
    assert printed == "[9.0, 10.0, 11.0] 1"  # found, not compiled from source
    folder = str(Path(translated_kernels.numba.__file__).parents[1]).encode()
    plain = "." + "/" * (len(folder) - 1)
    for one, other in zip(archive[1], stored, strict=True):
        # the archive does not name the folder that numba is in
        assert machine_code(one).replace(folder, plain.encode()) == machine_code(other)


def test_a_damaged_archive_is_not_read(own, archive):
    path = archive[0]
    content = path.read_bytes()
    path.write_bytes(content[:200] + bytes(100) + content[300:])
    assert own("damaged")[0] == "[9.0, 10.0, 11.0] 0"
    path.write_bytes(content[:99])
    assert own("cut")[0] == "[9.0, 10.0, 11.0] 0"


def test_a_change_of_source_is_compiled_from_source(own, archive, tmp_path):
    (tmp_path / "own.py").write_text(OWN.replace("values[i] * values[i]", "-values[i] * values[i]"))
    assert own("changed")[0] == "[0.0, 1.0, 2.0] 0"


@pytest.mark.skipif(
    not (translated_kernels.FOLDER / translated_kernels.archive_name()).exists(),
    reason="no kernels are translated for this system, Python and numba",
)
def test_the_kernels_of_a_fit_are_translated_from_the_present_source():
    from llwlc.bases._kernel_compilation import MODULES
    from llwlc.nn._kernel_compilation import KERNEL_MODULES

    stale = [name for name in (*MODULES, *KERNEL_MODULES.values()) if not compiler.is_translated(name)]
    assert not stale, "python scripts/translate_kernels.py"
