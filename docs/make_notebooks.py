"""Writes and executes the notebooks of `docs/notebooks`: `python docs/make_notebooks.py`, with the extra `notebook`.

They are kept as the cells below, so that a change of the code shows in a plain diff; what stands in `docs/notebooks`
has their outputs. The build of the site executes them too (`docs/site/notebook_pages.py`), so they read no file that a
fresh clone does not have.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "notebooks"
FROM_CSV = [
    (
        "# From a CSV to explained links\n\nA file with one link a row, a model of seconds, its likeliest missing"
        " links, and why the first is one. The file has the characters of *Les Misérables* and who meets whom in a"
        " chapter."
    ),
    (
        "%matplotlib inline\nimport csv\nimport tempfile\nfrom pathlib import Path\n\nimport networkx as nx\n\nimport"
        " llwlc\n\nedges = Path(tempfile.mkdtemp()) / 'edges.csv'\nwith edges.open('w', newline='') as file:\n   "
        " csv.writer(file).writerows([('source', 'target'),"
        " *nx.les_miserables_graph().edges])\nprint(*edges.read_text().splitlines()[:4], sep='\\n')"
    ),
    "graph = llwlc.Graph.from_csv(edges)\ngraph",
    (
        "model = llwlc.LinkPredictor(epochs=6, copies=1).fit(graph, graph_name='Les Misérables')   # fewer epochs than"
        " by default, for a quick look\nmodel"
    ),
    (
        "Here are characters who look as if a meeting of theirs were missing. A probability is the chance among"
        " candidates, and says so; in a graph as small as this it is rough."
    ),
    "best = model.recommend(top=8)\nbest",
    "Why the first? Everything below is measured by removing it from the graph and asking the network again.",
    "why = model.explain(best[0].source, best[0].target, population='candidates')\nwhy",
    "The same as plain numbers:",
    "[(edge.nodes, round(edge.lost, 2)) for edge in why.edges[:5]]",
    "why.plot(eigenvector=0)",
]
EIGENBASIS = [
    (
        "# A constrained eigenbasis, looked at\n\nAround a pair of nodes stands its enclosing subgraph. The network"
        " filters in eigenvectors of its Laplacian that keep linear constraints. Here are those of one subgraph, with"
        " the Neumann boundary condition and without."
    ),
    (
        "%matplotlib inline\nimport torch\nimport llwlc\n\ngraph = llwlc.datasets.load('cora')\npair ="
        " graph.edges[[1200]]\nsubs = llwlc.subgraphs.extract(graph, pair, hops=2)\nsubs.num_nodes, len(subs.row) // 2"
    ),
    (
        "plain = llwlc.eigenbasis(subs, None, steps=10, dtype=torch.float64)\ncons = llwlc.constraints.by_name(subs,"
        " 'neumann_boundary')\nconstrained = llwlc.eigenbasis(subs, cons, steps=10,"
        " dtype=torch.float64)\nprint('without:', plain.values[0].round(decimals=3).tolist())\nprint('with:   ',"
        " constrained.values[0].round(decimals=3).tolist())"
    ),
    (
        "The constraint says that nothing flows across the border of the pair's neighbourhood, Σ (f(y) − f(x)) = 0 over"
        " the edges between one hop and two. Every vector of the constrained basis keeps it, to rounding:"
    ),
    (
        "def flow(basis):\n    return (cons.columns.T @ basis.vectors).abs().max().item()\n\nprint(f'without:"
        " {flow(plain):.3f}   with: {flow(constrained):.1e}')\nassert flow(constrained) < 1e-10"
    ),
    "By the theorem of Cauchy the constrained eigenvalues of a complete basis interlace with the plain ones.",
    (
        "full = llwlc.eigenbasis(subs, None, steps=subs.num_nodes, complete=True, dtype=torch.float64).values[0]\nheld"
        " = llwlc.eigenbasis(subs, cons, steps=subs.num_nodes, complete=True, dtype=torch.float64)\nheld ="
        " held.values[0][held.mask[0]]\nassert all(full[i] - 1e-9 <= held[i] <= full[i + 1] + 1e-9 for i in"
        " range(len(held)))\nlen(full), len(held)"
    ),
    "The second vector on the subgraph, without the constraint and with it:",
    (
        "import networkx as nx\nfrom matplotlib.figure import Figure\n\ndrawn = nx.Graph(zip(subs.row.tolist(),"
        " subs.col.tolist()))\nplaces = nx.spring_layout(drawn, seed=3)\nfigure = Figure(figsize=(10, 4),"
        " layout='constrained')\nfor axes, (title, basis) in zip(figure.subplots(1, 2), (('without', plain), ('with the"
        " constraint', constrained))):\n    order = list(drawn)\n    nx.draw_networkx_edges(drawn, places, ax=axes,"
        " alpha=0.3)\n    nx.draw_networkx_nodes(drawn, places, order, ax=axes, node_size=[120 if i < 2 else 30 for i"
        " in order], node_color=[float(basis.vectors[i, 1]) for i in order], cmap='PuOr')\n   "
        " axes.set_title(f'{title}: λ = {float(basis.values[0, 1]):.3f}')\n    axes.set_axis_off()\nfigure"
    ),
]
NOTEBOOKS = {"from_csv_to_explained_links": FROM_CSV, "constrained_eigenbasis": EIGENBASIS}


def notebook(cells: list[str]):
    """A text that begins like a sentence or a heading is prose, any other is code."""
    import nbformat

    made = nbformat.v4.new_notebook()
    for at, text in enumerate(cells):
        prose = text.startswith("# ") or (text[0].isupper() and "=" not in text.split("\n")[0].split(" Σ")[0])
        cell = (nbformat.v4.new_markdown_cell if prose else nbformat.v4.new_code_cell)(text)
        cell["id"] = f"cell-{at}"  # the same in every run
        made.cells.append(cell)
    return made


def is_progress(output: dict) -> bool:
    """Bars, and lines of what is being compiled, which rich displays as a `pre`: no results, and other ones on every
    machine.
    """
    shown = "".join(output.get("data", {}).get("text/html", ""))
    return output.get("name") == "stderr" or (output["output_type"] == "display_data" and shown.startswith("<pre"))


def main(folder: Path) -> None:
    """Executes all notebooks into a folder, which has to exist."""
    import nbformat
    from nbclient import NotebookClient

    for name, cells in NOTEBOOKS.items():
        made = notebook(cells)
        # in the environment that runs this, whatever kernels are installed
        place = {"metadata": {"path": str(folder)}}
        client = NotebookClient(made, timeout=900, kernel_name="python3", resources=place)
        # no warning that the socket of a kernel is not encrypted: the site is built without one
        client.extra_arguments = ["--log-level=ERROR"]
        client.execute()
        for cell in made.cells:
            cell["metadata"] = {}  # times of execution change every run
            if cell.cell_type == "code":
                cell["outputs"] = [output for output in cell["outputs"] if not is_progress(output)]
        nbformat.write(made, folder / f"{name}.ipynb")
        print(f"{folder / name}.ipynb", file=sys.stderr)


if __name__ == "__main__":
    main(FOLDER)
