"""A readout of one's own: `llwlc fit cora --plugin my_readout.py --set pooling=mean`."""

import torch

from llwlc.nn import register


@register("mean")
class MeanReadout(torch.nn.Module):
    """The mean of all rows of a subgraph."""

    def __init__(self, channels, config):
        super().__init__()
        self.out_channels = channels

    def forward(self, x, batch):
        ptr = batch.basis.ptr
        graph = torch.repeat_interleave(torch.arange(batch.num_links, device=x.device), ptr.diff())
        total = x.new_zeros(batch.num_links, x.shape[1]).index_add(0, graph, x)
        return total / ptr.diff().clamp(min=1).unsqueeze(1)
