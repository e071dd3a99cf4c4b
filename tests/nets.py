"""Networks for tests of compiled code, and their scores by the specification in torch."""

import torch

from llwlc.bases._encoded_links import EncodedLinks
from llwlc.nn import LLwLCNet, NetConfig


def make_net(config: NetConfig, seed: int = 0, scale: float = 1.5) -> LLwLCNet:
    """With weights large enough for scores to differ."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = LLwLCNet(config).eval()
        with torch.no_grad():
            for p in net.parameters():
                p.mul_(scale).add_(0.05 * torch.randn_like(p))
    return net


def by_torch(net: LLwLCNet, data: EncodedLinks, x: torch.Tensor | None) -> torch.Tensor:
    """The specification."""
    batch = data.batch(torch.arange(len(data))).to("cpu", torch.float64)
    with torch.inference_mode():
        double = LLwLCNet(net.config).double().eval()
        double.load_state_dict(net.state_dict())
        return double.outputs(batch, None if x is None else x.double())
