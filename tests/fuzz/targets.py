"""What is fuzzed. A target is set up once in a folder; a case returns "accepted" or "refused", or raises `Fault` or
anything else that is one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from fuzz.mutate import VALUES, Rng, mutated_bytes, mutated_json, mutated_tensors, pick
from fuzz.tables import odd_file
from llwlc._cli.app import app
from llwlc._predictor import LinkPredictor
from llwlc._runs.format import FILES, PLAN, write_manifest
from llwlc._support.files import PARTIAL
from llwlc.bases._cache import load_or_encode
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import FIELD_TYPES, encode_pairs
from llwlc.bases._kernel_compilation import compile_basis_kernels
from llwlc.errors import InputError
from llwlc.graph._feature_file import read_features
from llwlc.graph._graph import Graph
from llwlc.graph._pair_file import read_pairs
from llwlc.models._registry import MODELS
from people import QUICK, people

LIMIT = 64 << 20  # bytes that a fuzzed file may unpack to


class Fault(Exception):
    """What must not happen."""


class Target(Protocol):
    trained: bool
    """Whether the last case trained a network, which takes its time."""

    def __init__(self, folder: Path) -> None: ...

    def case(self, rng: Rng) -> str: ...


def compile_all() -> None:
    """What the options of a run can ask for: all stages at once, and one by one."""
    compile_basis_kernels(people(), BasisConfig())
    compile_basis_kernels(people(), BasisConfig(hops=16))


def fit_method(method: str, out: Path, on_epoch: Callable[[object], None] | None = None) -> None:
    """A run of a baseline, of two epochs where it trains."""
    options = {"epochs": 2} if MODELS[method].trained else {}
    LinkPredictor(model=method, cache=None, minutes=None, device="cpu", **options).fit(
        people(), out=out, on_epoch=on_epoch
    )


def one_line(error: InputError) -> str:
    if "\n" in str(error) or len(str(error)) > 4000:
        raise Fault(f"a message of several lines, or of {len(str(error))} characters: {str(error)[:200]!r}")
    return "refused"


class Readings:
    """Edge lists, features and pairs from odd files."""

    trained = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graph = Graph.from_edges(
            torch.tensor([[i, (i + 1) % 9] for i in range(9)]), names=[f"n{i}" for i in range(9)]
        )
        self.edges = folder / "good.csv"
        self.graph.to_csv(self.edges)

    def case(self, rng: Rng) -> str:
        path = odd_file(self.folder, rng, "odd")
        reads: list[Callable[[], object]] = [
            lambda: Graph.read(path, unzipped_limit=LIMIT),
            lambda: Graph.read(path, header=False, weight="3", unzipped_limit=LIMIT),
            lambda: read_pairs(path, self.graph, unzipped_limit=LIMIT),
            lambda: Graph.read(path, node_list=path, unzipped_limit=LIMIT),
            lambda: read_pairs(path, self.graph, unknown="blank", verbatim=True, unzipped_limit=LIMIT),
            lambda: read_features(path, unzipped_limit=LIMIT),
            lambda: read_features(path, missing_values="error", unzipped_limit=LIMIT),
            lambda: Graph.read(self.edges, features=path, isolated="drop", unzipped_limit=LIMIT),
            lambda: Graph.read(self.edges, features=path, isolated="keep", unzipped_limit=LIMIT),
        ]
        npz = path.suffix == ".npz"
        try:
            found = pick(rng, reads[5:] if npz else reads)()
            self.check(found)
        except InputError as error:
            return one_line(error)
        finally:
            path.unlink()
        return "accepted"

    def check(self, found: object) -> None:
        """What was read is usable: a graph in order, finite numbers."""
        if isinstance(found, Graph):
            if found.num_edges < 1 or (found.degree < 0).any() or not 0 <= int(found.indices.max()) < found.num_nodes:
                raise Fault("a graph that is none")
            if found.weight is not None and not (torch.isfinite(found.weight).all() and (found.weight > 0).all()):
                raise Fault("weights that are none")
            if found.names is not None and len(set(found.names)) != found.num_nodes:
                raise Fault("names that are none")
        if sorted(p.name for p in self.folder.iterdir() if p.name.endswith(PARTIAL)):
            raise Fault("a half-written file")


class Runs:
    """Run folders, altered with and without a manifest that fits: of our network, of one that was planned, and of
    baselines.
    """

    MODELS = ("gcn", "buddy", "adamic-adar")
    trained = False

    def __init__(self, folder: Path) -> None:
        compile_all()
        self.copy = folder / "copy"
        self.fit(folder / "ours")
        self.fit(folder / "planned", minutes=5)
        for method in self.MODELS:
            fit_method(method, folder / method)
        self.pairs = torch.tensor([[0, 40], [3, 5], [7, 80]])
        self.originals = [folder / name for name in ("ours", "ours", "ours", "planned", *self.MODELS)]
        self.scores = {path: LinkPredictor.load(path, device="cpu").score(self.pairs).score for path in self.originals}

    def fit(self, out: Path, minutes: float | None = None) -> None:
        LinkPredictor(cache=None, minutes=minutes, device="cpu", **QUICK).fit(people(), out=out)

    def case(self, rng: Rng) -> str:
        original = pick(rng, self.originals)
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(original, self.copy)
        planned = [PLAN] * 3 if (self.copy / PLAN).exists() else []
        name = pick(rng, [*FILES, "manifest.json", "config.json", "graph.safetensors", *planned])
        altered = self.alter(self.copy / name, rng)
        fitting = name != "manifest.json" and rng.random() < 0.7
        if fitting:
            write_manifest(self.copy)
        try:
            model = LinkPredictor.load(self.copy, device="cpu", cache=None)
            score = model.score(self.pairs).score
            links = model.recommend(top=3)
            if model.model_.name == "llwlc":
                model.explain("Person 00", "Person 40").to_json()  # no NaN is JSON
        except InputError as error:
            return one_line(error)
        told = [
            value
            for link in links
            for value in (link.score, link.probability_low, link.probability, link.probability_high)
        ]
        if not torch.isfinite(torch.tensor([*score.tolist(), *told], dtype=torch.float64)).all():
            raise Fault(f"scores of {score.tolist()}, {told} after an altered {name}")
        if altered and not fitting and name != "manifest.json":
            raise Fault(f"an altered {name} that was not noticed")
        if (
            altered
            and name in ("metrics.json", "history.jsonl", "MODEL_CARD.md", "manifest.json", PLAN)
            and not torch.equal(score, self.scores[original])
        ):
            raise Fault(f"other scores after an altered {name}")
        return "accepted"

    def alter(self, path: Path, rng: Rng) -> bool:
        before = path.read_bytes()
        if path.suffix == ".safetensors" and rng.random() < 0.8:
            with safe_open(path, "pt") as file:
                about = file.metadata()
            tensors = mutated_tensors(load_file(path), rng)
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, about)
        elif path.suffix == ".json" and rng.random() < 0.8:
            path.write_text(json.dumps(mutated_json(json.loads(before), rng)))
        else:
            path.write_bytes(mutated_bytes(before, rng))
        return path.read_bytes() != before


class Checkpoints:
    """Checkpoints of our network and of a baseline, altered: refused, or resumed to the same bits."""

    trained = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.run = folder, folder / "run"

        def stop(_: object) -> None:
            raise KeyboardInterrupt

        self.wanted = {}
        for kind, fit in self.FITS.items():
            fit(folder / f"{kind} whole")
            self.wanted[kind] = self.bits(folder / f"{kind} whole")
            with contextlib.suppress(KeyboardInterrupt):
                fit(folder / kind, stop)

    @staticmethod
    def fit(out: Path, on_epoch: Callable[[object], None] | None = None) -> None:
        LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(people(), out=out, on_epoch=on_epoch)

    @staticmethod
    def fit_gcn(out: Path, on_epoch: Callable[[object], None] | None = None) -> None:
        fit_method("gcn", out, on_epoch)

    FITS: ClassVar = {"ours": fit, "gcn": fit_gcn}

    def bits(self, folder: Path) -> list[bytes]:
        return [(folder / name).read_bytes() for name in ("model.safetensors", "history.jsonl")]

    def case(self, rng: Rng) -> str:
        kind = pick(rng, ["ours", "ours", "gcn"])
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(self.folder / kind, self.run)
        path = self.run / "checkpoint.safetensors"
        if rng.random() < 0.6:
            path.write_bytes(mutated_bytes(path.read_bytes(), rng, 1 + int(rng.integers(2))))
        else:
            with safe_open(path, "pt") as file:
                about = file.metadata()
            tensors = mutated_tensors(load_file(path), rng)
            about = {key: value if rng.random() < 0.8 else str(pick(rng, VALUES[:12])) for key, value in about.items()}
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, about)
        before = path.read_bytes()
        self.trained = True
        try:
            self.FITS[kind](self.run)
        except InputError as error:
            self.trained = False
            if path.read_bytes() != before:
                raise Fault("a refused checkpoint was changed") from error
            return one_line(error)
        if self.bits(self.run) != self.wanted[kind]:
            raise Fault("resumed to other bits")
        return "accepted"


class Caches:
    """Cached bases, altered: refused, or the same."""

    trained = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder / "kept", folder / "cache"
        self.graph, self.config = people(), BasisConfig()
        self.pairs = self.graph.edges[:20]
        load_or_encode(self.graph, self.pairs, self.config, cache=self.folder)
        self.wanted = encode_pairs(self.graph, self.pairs, self.config, about="")

    def case(self, rng: Rng) -> str:
        shutil.rmtree(self.cache, ignore_errors=True)
        shutil.copytree(self.folder, self.cache)
        path = pick(rng, sorted(p for p in self.cache.rglob("*") if p.is_file()))
        if rng.random() < 0.1:
            path.unlink()
        else:
            path.write_bytes(mutated_bytes(path.read_bytes(), rng))
        try:
            found = load_or_encode(self.graph, self.pairs, self.config, cache=self.cache)
        except InputError as error:
            return one_line(error)
        if not all(torch.equal(getattr(found, name), getattr(self.wanted, name)) for name in FIELD_TYPES):
            raise Fault(f"other bases after an altered {path.name}")
        return "accepted"


class Lines:
    """Command lines, in-process: exit code 0 or 2, never a traceback, never a half-written file."""

    WORDS = (
        *(
            "",
            "-",
            "--",
            "-1",
            "0",
            "1",
            "nan",
            "inf",
            "1e-9",
            "0.999999",
            "1e400",
            "99999999999999999999",
            "none",
            "auto",
            "x=1",
            "=",
            "é",
        ),
        *(
            "[/x]",
            "\x1b[2J",
            "\udcff",
            "x" * 300,
            "edges.csv",
            "pairs.csv",
            "people.csv",
            "run",
            ".",
            "..",
            "/dev/null",
            "cora",
            "missing.csv",
        ),
        *(
            "random",
            "temporal",
            "cpu",
            "cuda:7",
            "meta",
            "out.csv",
            "out.parquet",
            "out.xyz",
            "Person 01",
            "source",
            "weight",
            "3",
            "tab",
        ),
    )
    NUMBERS = (
        "-3",
        "-1",
        "0",
        "1",
        "2",
        "5",
        "1e-9",
        "0.1",
        "0.5",
        "0.999",
        "nan",
        "inf",
        "1e400",
        "2147483648",
        "1000000000",
        "9" * 25,
    )
    SETS = (
        "epochs",
        "hops",
        "steps",
        "channels",
        "features",
        "filtered_channels",
        "batch_size",
        "constraints",
        "start",
        "count",
        "dropout",
        "select",
        "blocks",
        "filters",
        "head",
        "copies",
        "average",
        "distance_cap",
        "max_nodes_per_hop",
        "learning_rate",
    )

    trained = False

    def __init__(self, folder: Path) -> None:
        compile_all()
        self.folder = folder / "user"
        self.folder.mkdir()
        os.chdir(self.folder)
        os.environ["LLWLC_CACHE"] = str(folder / "cache")
        graph = people()
        graph.to_csv("edges.csv")
        Path("pairs.csv").write_text("source,target,score\nPerson 01,Person 40,3\nPerson 02,Person 50,4\n")
        rows = (f"Person {i:02d},{row[0]:.3f},{row[1]:.3f}\n" for i, row in enumerate(graph.x.tolist()))
        Path("people.csv").write_text("node,a,b\n" + "".join(rows))
        Path("names.txt").write_text("node\nPerson 01\nNobody\n")
        LinkPredictor(device="cpu", **QUICK).fit(graph, out="run")
        self.mine = {p.name for p in self.folder.iterdir()}
        self.before = {p.name: p.read_bytes() for p in Path("run").iterdir()}

    def line(self, rng: Rng) -> list[str]:
        quick = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
        bases = [
            ["fit", "edges.csv", "--out", "new", *quick],
            ["fit", "edges.csv", "--features", "people.csv", "--out", "new", "--protocol", "random", *quick],
            [
                "fit",
                "edges.csv",
                "--out",
                "new",
                "--seed",
                "1",
                "--val",
                "0.1",
                "--test",
                "0.1",
                "--device",
                "cpu",
                *quick,
            ],
            ["score", "run", "pairs.csv", "-o", "out.csv", "--prior", "0.1"],
            ["score", "run", "pairs.csv", "--source", "source", "--target", "target", "--spreadsheet-safe"],
            ["recommend", "run", "--top", "5", "-o", "out.csv"],
            ["recommend", "run", "--node", "Person 01", "--prior", "0.1"],
            ["data", "show", "edges.csv", "--weight", "none", "--separator", ",", "--unzipped-limit", "1"],
            ["data", "show", "cora"],
            ["score", "run", "pairs.csv", "--unknown", "blank", "--add", "edges.csv", "-o", "-", "--format", "jsonl"],
            ["recommend", "run", "--graph", "edges.csv", "--graph-source", "source", "--node-list", "names.txt"],
            ["data", "audit", "run"],
            ["evaluate", "run", "--protocol", "random", "--seeds", "1"],
            ["evaluate", "run", "--ranking", "--hidden", "test"],
            ["fit", "edges.csv", "--out", "new", "--minutes", "5", *quick],
            ["fit", "edges.csv", "--out", "new", "--plan", "run", *quick],
            ["explain", "run", "Person 01", "Person 40", "--prior", "0.1", "-o", "out.json"],
            ["report", "run", "-o", "out.html", "--top", "3"],
            ["cache", "show"],
        ]
        if rng.random() < 0.1:
            method = pick(rng, ["mlp", "gcn", "buddy", "ncn", "adamic-adar", "katz", *self.WORDS])
            return [
                "fit",
                "edges.csv",
                "--out",
                "new",
                "--model",
                method,
                "--set",
                f"epochs={pick(rng, self.NUMBERS)}",
                "--set",
                "epochs=2",
            ]
        words = list(pick(rng, bases))
        for _ in range(1 + int(rng.random() < 0.3)):
            value = pick(rng, list(self.NUMBERS if rng.random() < 0.7 else self.WORDS))
            at = int(rng.integers(1, len(words) + 1))
            values = [i + 1 for i, word in enumerate(words[:-1]) if word.startswith("-") and word != "--set"]
            kind = rng.random()
            if kind < 0.45 and words[0] == "fit":
                words += ["--set", f"{pick(rng, list(self.SETS))}={value}"]
            elif kind < 0.85 and values:
                words[pick(rng, values)] = value
            elif kind < 0.9:
                words[at : at + 1] = []
            elif kind < 0.95:
                words[at:at] = [value]
            elif at < len(words):
                words[at] = value
        if words[0] == "evaluate":  # who asks for a hundred trainings gets them
            words = ["2" if word.isdigit() and int(word) < 1000 else word for word in words]
        if words[0] == "fit":  # a fit of the defaults is no hang, but long; what comes last counts
            words = ["edges.csv" if word == "cora" else word for word in words]
            words += quick if rng.random() < 0.9 else []
        return words

    def case(self, rng: Rng) -> str:
        words = self.line(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = CliRunner().invoke(app, words)
        self.trained = words[0] in ("fit", "evaluate") and result.exit_code == 0
        try:
            self.check(words, result)
        finally:
            self.tidy()
        return "accepted" if result.exit_code == 0 else "refused"

    def check(self, words: list[str], result: object) -> None:
        error, code, said = result.exception, result.exit_code, result.output  # type: ignore[attr-defined]
        if error is not None and not isinstance(error, SystemExit):
            raise Fault(f"{words}: {type(error).__name__}: {str(error)[:200]}") from error
        if code not in (0, 2):
            raise Fault(f"{words}: exit code {code}")
        if "Traceback" in said or "\x1b[2J" in said:
            raise Fault(f"{words}: {said[-300:]}")
        if any(p.name.endswith(PARTIAL) for p in self.folder.rglob("*")):
            raise Fault(f"{words}: a half-written file")
        if {p.name: p.read_bytes() for p in Path("run").iterdir()} != self.before:
            raise Fault(f"{words}: the run has changed")

    def tidy(self) -> None:
        for path in self.folder.iterdir():
            if path.name not in self.mine:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


TARGETS: dict[str, tuple[type[Target], int, int]] = {
    "readings": (Readings, 20_000, 60),
    "lines": (Lines, 2_000, 120),  # a fit takes its time
    "runs": (Runs, 500, 60),
    "checkpoints": (Checkpoints, 100, 60),
    "caches": (Caches, 100, 60),
}
"""What there is, with the number of cases of a whole run and the seconds by the clock that a case may take, also where
much else runs on the machine.
"""
