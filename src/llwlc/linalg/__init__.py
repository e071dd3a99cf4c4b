"""Projectors, constrained Lanczos and spectral filters: tensors in, tensors out, no links, no PyG."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.linalg._basis import Eigenbasis as Eigenbasis
    from llwlc.linalg._eigsh import EigenPairs as EigenPairs
    from llwlc.linalg._eigsh import constrained_eigsh as constrained_eigsh
    from llwlc.linalg._filter import spectral_filter as spectral_filter
    from llwlc.linalg._health import Health as Health
    from llwlc.linalg._health import health as health
    from llwlc.linalg._lanczos import constrained_lanczos as constrained_lanczos
    from llwlc.linalg._neumann import neumann_eigenvalue as neumann_eigenvalue
    from llwlc.linalg._projector import FactorizationError as FactorizationError
    from llwlc.linalg._projector import factorization_error as factorization_error

_HOMES = {
    "EigenPairs": "_eigsh",
    "Eigenbasis": "_basis",
    "FactorizationError": "_projector",
    "Health": "_health",
    "constrained_eigsh": "_eigsh",
    "constrained_lanczos": "_lanczos",
    "factorization_error": "_projector",
    "health": "_health",
    "neumann_eigenvalue": "_neumann",
    "spectral_filter": "_filter",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
