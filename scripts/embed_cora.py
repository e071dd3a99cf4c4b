"""Makes src/llwlc/datasets/files/cora.npz from the two Parquet files of the PyPI wheel `graphdatascience` 2.2
(Apache-2.0).

    python scripts/embed_cora.py [WHEEL]

Without an argument pip fetches the wheel into a temporary folder. Nodes are numbered in the order of the wheel's node
table (that of the original `cora.content`); citations lose their direction, repeats and self-citations. Coordinates fit
into int16.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

TARGET = Path(__file__).parents[1] / "src" / "llwlc" / "datasets" / "files" / "cora.npz"
FOLDER = "graphdatascience/resources/cora"


def fetch(folder: str) -> Path:
    """The wheel, as pip finds it on whatever index the machine is set up for."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
    subprocess.run([*pip, "graphdatascience==2.2"], check=True)
    return next(Path(folder).glob("graphdatascience-2.2-*.whl"))


def convert(wheel: Path) -> dict[str, np.ndarray]:
    """`edges [5278, 2]` and `features [49216, 2]` (paper, word), int16, sorted."""
    with zipfile.ZipFile(wheel) as archive:
        nodes = pq.read_table(io.BytesIO(archive.read(f"{FOLDER}/cora_nodes.parquet.gzip")))
        cites = pq.read_table(io.BytesIO(archive.read(f"{FOLDER}/cora_rels.parquet.gzip")))
    paper = nodes["nodeId"].to_numpy()
    order = np.argsort(paper)
    ends = [cites[name].to_numpy() for name in ("sourceNodeId", "targetNodeId")]
    source, target = (order[np.searchsorted(paper, end, sorter=order)] for end in ends)
    pairs = np.sort(np.stack([source, target], 1), axis=1)
    edges = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    words = np.stack(nodes["features"].to_numpy())
    return {"edges": edges.astype(np.int16), "features": np.argwhere(words).astype(np.int16)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(sys.argv[1]) if len(sys.argv) > 1 else fetch(folder)
        arrays = convert(wheel)
    TARGET.parent.mkdir(exist_ok=True)
    np.savez_compressed(TARGET, **arrays)
    print(f"{TARGET.name}: { ({name: a.shape for name, a in arrays.items()}) }, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
