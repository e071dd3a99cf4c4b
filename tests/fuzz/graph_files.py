"""Files of graph formats, odd from the start: hostile XML, headers that promise more than there is, lines of the wrong
kind.
"""

from __future__ import annotations

from fuzz.mutate import Rng, pick

TAME = [f"n{i}" for i in range(9)]
NAMES = [*TAME, "", " n1 ", "雪", "&amp;", "a&quot;b"]
VALUES = ["1", "2.5", "-1", "nan", "x", "", "1e400", "2020-01-01", "x" * 3000]
DOCTYPES = [
    *[""] * 20,
    '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
    '<!DOCTYPE g SYSTEM "file:///etc/hostname">',
    "<!-- a comment -->",
]


def _edges(rng: Rng) -> list[tuple[str, str]]:
    names = TAME if rng.random() < 0.7 else NAMES
    return [(pick(rng, names), pick(rng, names)) for _ in range(int(rng.integers(0, 25)))]


def _value(rng: Rng) -> str:
    return pick(rng, VALUES) if rng.random() < 0.1 else "2"


def graphml_file(rng: Rng) -> bytes:
    key = pick(rng, ["weight", "time", "note", "source"])
    rows = []
    for u, v in _edges(rng):
        data = f'<data key="d0">{_value(rng)}</data>' if rng.random() < 0.5 else ""
        rows.append(f'<edge source="{u}" target="{v}">{data}</edge>')
    nodes = "".join(f'<node id="{pick(rng, TAME)}"/>' for _ in range(int(rng.integers(0, 9))))
    odd = pick(rng, [*[""] * 20, "<hyperedge/>", "<graph/>", "<node/>", "<edge/>", "<a>" * 3000, "&b;"])
    return (
        f'<?xml version="1.0"?>{pick(rng, DOCTYPES)}<graphml><key id="d0" for="edge" attr.name="{key}"/><graph'
        f' edgedefault="{pick(rng, ["directed", "undirected", "x"])}">{nodes}{odd}{"".join(rows)}</graph></graphml>'
    ).encode()


def gexf_file(rng: Rng) -> bytes:
    rows = "".join(f'<edge source="{u}" target="{v}" weight="{_value(rng)}"/>' for u, v in _edges(rng))
    values = f'<edge source="n1" target="n2"><attvalues><attvalue for="0" value="{_value(rng)}"/></attvalues></edge>'
    about = '<attributes class="edge"><attribute id="0" title="time"><default>3</default></attribute></attributes>'
    return (
        f"{pick(rng, DOCTYPES)}<gexf><graph"
        f' defaultedgetype="directed">{about}<edges>{values}{rows}</edges></graph></gexf>'.encode()
    )


def matrix_market_file(rng: Rng) -> bytes:
    form, field = (
        pick(rng, ["coordinate", "coordinate", "array"]),
        pick(rng, ["real", "real", "integer", "pattern", "complex"]),
    )
    kind = pick(rng, ["general", "general", "symmetric", "skew-symmetric", "x"])
    count = int(rng.integers(0, 20))
    low, high = (0, 12) if rng.random() < 0.2 else (1, 10)
    rows = [f"{int(rng.integers(low, high))} {int(rng.integers(1, 10))} {_value(rng)}" for _ in range(count)]
    rows = [row.rpartition(" ")[0] if field == "pattern" else row for row in rows]
    size = pick(rng, [*[9] * 20, 10, 0, 10**9, 10**18, -1])
    return (
        f"%%MatrixMarket matrix {form} {field} {kind}\n% made\n{size} {pick(rng, [9, 9, size])}"
        f" {pick(rng, [*[count] * 9, 10**12])}\n".encode()
        + "\n".join(rows).encode()
    )


def graph6_file(rng: Rng) -> bytes:
    body = bytes(rng.integers(63, 127, int(rng.integers(0, 40))).astype("u1"))
    good = b"HCOf`gP"  # six characters for nine nodes
    return pick(rng, [b"", b">>graph6<<"]) + pick(rng, [good, body, b"~~" + body, b"~" + body, b":" + body])


def commented_list(rng: Rng) -> bytes:
    """KONECT's and SNAP's edge lists."""
    first = pick(
        rng,
        [
            "% sym unweighted",
            "% asym positive",
            "% bip weighted",
            "% bip",
            "%  sym  x y z",
            "# Directed graph: x",
            "# a\n# Undirected graph",
        ],
    )
    separator = pick(rng, [" ", "\t", "  "])
    width = int(rng.integers(1, 6))
    rows = [separator.join(str(int(v)) for v in rng.integers(0, 9, width)) for _ in range(int(rng.integers(0, 25)))]
    return (first + "\n" + "\n".join(rows)).encode()


MAKERS = {
    graphml_file: ".graphml",
    gexf_file: ".gexf",
    matrix_market_file: ".mtx",
    graph6_file: ".g6",
    commented_list: ".txt",
}
