"""Trains a small network among the processes that torchrun started, or alone; run as a script by `test_ranks.py`. Rank
1 can be told to die in the middle of an epoch.
"""

import os
import signal
import sys
import threading
from pathlib import Path

import networkx as nx
import torch
from safetensors.torch import save_file

from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import EncodedLinks, encode_pairs
from llwlc.bases._pair_inputs import PairInputs
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.training import ValidationLinks, train_network
from llwlc.models._llwlc.worker import train_worker
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.splits._negatives import NonEdges
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._node_features import NodeFeatures
from llwlc.training._ranks import Ranks

NET = NetConfig(feature_channels=4, pair_channels=5, channels=16, filters=2, filter_hidden=16, filtered_channels=16)
NODES = NodeFeatures(torch.randn(120, 4, generator=torch.Generator().manual_seed(0)))
STEPS = TrainConfig(epochs=1, batch_size=20, learning_rate=5e-3, average=0)  # 20 steps
EPOCHS = TrainConfig(epochs=5, batch_size=20, learning_rate=5e-3)


def fitted(
    config: TrainConfig, ranks: Ranks | None, checkpoint: Path | None = None, dies: bool = False
) -> dict[str, torch.Tensor]:
    """The weights that training ends in; of rank 0, the others have none to show."""
    graph = Graph.from_edges(torch.tensor(list(nx.connected_watts_strogatz_graph(120, 6, 0.1, seed=1).edges)))
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))
    negative = NonEdges(120, graph.edges).at(torch.arange(0, 4800, 5))
    positives, held_out = graph.edges[order[:200]], graph.edges[order[200:260]]
    pairs, message = torch.cat([positives, negative[:700]]), graph.with_edges(positives)

    def encoded(some: torch.Tensor) -> EncodedLinks:
        return encode_pairs(message, some, BasisConfig(), about="").with_pair(PairInputs()(message, some))

    data = encoded(pairs if ranks is None else pairs[ranks.own(len(pairs))])
    sizes = None if ranks is None else ranks.gather_sizes(data.sizes, len(pairs))
    links = EncodedTrainingLinks(data, 200, 400, torch.arange(200) % 3 > 0, sizes)  # and 300 candidates

    def of_epoch(epoch: int) -> EncodedTrainingLinks:
        if dies and epoch == 2:
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return links

    torch.manual_seed(3)
    net = LLwLCNet(NET)
    if ranks is not None and not ranks.first:
        train_worker(net, of_epoch, config, features=NODES, ranks=ranks)
        return {}
    valid = ValidationLinks(encoded(held_out), encoded(negative[700:]))
    kept = None if checkpoint is None else Checkpoint(checkpoint, "")
    train_network(net, of_epoch, valid, config, features=NODES, checkpoint=kept, ranks=ranks)
    return net.state_dict()


def main(folder: Path, *told: str) -> None:
    ranks = Ranks.join(torch.device("cpu"))
    again = os.environ["TORCHELASTIC_RESTART_COUNT"] != "0"
    if again:
        (folder / "restarted").touch()
    found = {"steps": fitted(STEPS, ranks)}
    dies = "die" in told and ranks.rank == 1 and not again
    found["epochs"] = fitted(EPOCHS, ranks, folder / "checkpoint.safetensors", dies)
    if ranks.first:
        save_file(
            {f"{name}.{k}": t for name, state in found.items() for k, t in state.items()},
            folder / "weights.safetensors",
        )
    ranks.leave()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
