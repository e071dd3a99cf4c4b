"""Links of several types, generated: drugs treat and cause diseases, genes are linked to diseases, drugs act on genes.
`python examples/facts.py facts.csv`, and the links of a new drug: `python examples/facts.py facts.csv new.csv`
"""

import random
import sys


def make_facts(path: str, groups: int = 6) -> None:
    """Writes columns source, type and target; drugs, genes and diseases of a group belong together."""
    draw = random.Random(0)
    drugs = [(f"drug {i}", i % groups) for i in range(36)]
    genes = [(f"gene {i}", i % groups) for i in range(30)]
    diseases = [(f"disease {i}", i % groups) for i in range(24)]
    kinds = (("acts on", drugs, genes), ("linked to", genes, diseases), ("treats", drugs, diseases))
    with open(path, "w", encoding="utf-8") as file:
        file.write("source,type,target\n")
        for kind, sources, targets in kinds:
            for source, group in sources:
                for target, other in targets:
                    if draw.random() < (0.8 if group == other else 0.01):
                        file.write(f"{source},{kind},{target}\n")


def make_new_drug(path: str) -> None:
    """Writes two links of a drug that `make_facts` does not have."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("source,type,target\ndrug new,acts on,gene 1\ndrug new,acts on,gene 7\n")


if __name__ == "__main__":
    make_facts(sys.argv[1])
    if len(sys.argv) > 2:
        make_new_drug(sys.argv[2])
