"""GlobalFilters and GlobalNet: learned filters on the eigenvectors of a whole graph, and a network that reads them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Linear, Parameter, ReLU, Sequential

NEAR = (3e-3, 3e-2)
"""ε of log(λ + ε) at the lower end: slopes of −1 on them are resolvents, whose differences are resistances."""
SCALE = (16.0, 16.0, 1.0, 1.0, 1.0)
"""Factors of the exponents, so that a step of the optimizer changes each filter about as much."""
START = (
    (4, 0, 0, 0, 0),
    (16, 0, 0, 0, 0),
    (64, 0, 0, 0, 0),
    (256, 0, 0, 0, 0),
    (0, 0, 1, 0, 0),
    (0, 0, 0, 1, 0),
    (0, 4, 0, 0, 0),
    (0, 16, 0, 0, 0),
    (0, 0, 0, 0, 1),
)
"""Exponents of the initial filters: diffusions and resolvents from the lower end, then from the upper."""
TINY = 1e-6


class GlobalFilters(torch.nn.Module):
    """Channels of a pair from the eigenvectors ψ_k of its whole graph, by learned filters f_s:

    c_s = Σ_k f_s(λ_k) ψ_k(u) ψ_k(v),   d_s = Σ_k f_s(λ_k) (ψ_k(u) − ψ_k(v))²,   s = 1 … S,

    given as ± log(1 + |c_s|), log d_s and the cosine c_s / √(q_s(u) q_s(v)), q_s(u) = Σ_k f_s(λ_k) ψ_k(u)². Filters are
    positive and sum to one over the spectrum:

    log f_s(λ) = − w_s · (λ, 2 − λ, log(λ + ε₁), log(λ + ε₂), log(2 − λ + ε₂)) + const.

    At first they are diffusions exp(−tλ) and resolvents 1 / (λ + ε), of both ends. As whole clusters of eigenvalues are
    summed, the channels depend neither on signs nor on the vectors chosen in an eigenspace.

    Shapes:
        - **input:** eigenvalues `[g, k]` of g graphs, which are padded: `known [g, k]`; for each pair its graph `[m]`
          and the rows of the eigenvectors at its ends, `[m, k]` each
        - **output:** channels `[m, out_channels]`, symmetric in the ends

    >>> values, known = torch.tensor([[0.1, 0.5, 1.9]]), torch.ones(1, 3, dtype=torch.bool)
    >>> filters = GlobalFilters()
    >>> filters(values, known, torch.zeros(4, dtype=torch.long), torch.randn(4, 3), torch.randn(4, 3)).shape
    torch.Size([4, 27])
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(torch.empty(len(START), len(SCALE)))
        self.out_channels = 3 * len(START)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets all learnable parameters."""
        with torch.no_grad():
            self.weight.copy_(torch.tensor(START) / torch.tensor(SCALE))

    def filters(self, values: Tensor, known: Tensor) -> Tensor:
        """f_s at the eigenvalues `[g, k]`: `[g, S, k]`, with sum one over the known ones.

        Args:
            values: eigenvalues.
            known: which of them are no padding.
        """
        low, high = values.clamp(0, 2), (2 - values).clamp(0, 2)
        parts = [low, high, (low + NEAR[0]).log(), (low + NEAR[1]).log(), (high + NEAR[1]).log()]
        exponent = torch.stack(parts, -1) @ (self.weight * self.weight.new_tensor(SCALE)).T
        # a finite floor, so that a graph without any vector has filters too
        exponent = (-exponent).masked_fill(~known.unsqueeze(-1), -1e30)
        found: Tensor = exponent.softmax(1).mT * known.unsqueeze(1)
        return found

    def forward(self, values: Tensor, known: Tensor, graph: Tensor, at_u: Tensor, at_v: Tensor) -> Tensor:
        f = self.filters(values, known)
        # the difference itself is squared: u² + v² − 2uv of near nodes would be rounding
        products = torch.stack([at_u * at_v, at_u**2, at_v**2, (at_u - at_v) ** 2], -1)  # [m, k, 4]
        product, own_u, own_v, apart = torch.matmul(f if len(f) == 1 else f[graph], products).unbind(2)
        cosine = product / ((own_u + TINY) * (own_v + TINY)).sqrt()
        return torch.cat([product.sign() * product.abs().log1p(), (apart + TINY).log(), cosine], 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(START)})"


class GlobalNet(torch.nn.Module):
    """The logit of a pair from its channels in the whole graph and from its statistics:

    y = MLP(BN([GlobalFilters(λ, ψ(u), ψ(v)), statistics])), clipped to ±`clip` behind the normalisation.

    Args:
        num_statistics: statistics of a pair.
        hidden_channels: width of the two hidden layers.
        dropout: dropout rate behind the first one.
        clip: bound of a normalised input.

    Shapes:
        - **input:** as `GlobalFilters`, and statistics `[m, num_statistics]`
        - **output:** logits `[m]`

    >>> net = GlobalNet(num_statistics=2)
    >>> values, known = torch.tensor([[0.1, 1.9]]), torch.ones(1, 2, dtype=torch.bool)
    >>> rows, graph = torch.randn(2, 4, 2), torch.zeros(4, dtype=torch.long)
    >>> net(values, known, graph, rows[0], rows[1], torch.zeros(4, 2)).shape
    torch.Size([4])
    """

    def __init__(
        self, num_statistics: int, *, hidden_channels: int = 32, dropout: float = 0.2, clip: float = 5.0
    ) -> None:
        super().__init__()
        self.clip = clip
        self.filters = GlobalFilters()
        width = self.filters.out_channels + num_statistics
        self.norm = BatchNorm1d(width, affine=False)
        self.head = Sequential(
            Linear(width, hidden_channels),
            ReLU(),
            Dropout(dropout),
            Linear(hidden_channels, hidden_channels),
            ReLU(),
            Linear(hidden_channels, 1),
        )

    def reset_parameters(self) -> None:
        """Resets all learnable parameters."""
        self.filters.reset_parameters()
        self.norm.reset_parameters()
        for layer in self.head:
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(
        self, values: Tensor, known: Tensor, graph: Tensor, at_u: Tensor, at_v: Tensor, statistics: Tensor
    ) -> Tensor:
        channels = self.filters(values, known, graph, at_u, at_v)
        inputs = self.norm(torch.cat([channels, statistics.to(channels.dtype)], 1)).clamp(-self.clip, self.clip)
        logits: Tensor = self.head(inputs).squeeze(1)
        return logits
