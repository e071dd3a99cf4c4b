"""Constrained eigenbases of links: how they are asked for, computed, kept and handed to a network."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.bases._config import BasisConfig as BasisConfig
    from llwlc.bases._eigenbasis import eigenbasis as eigenbasis
    from llwlc.bases._global_basis import GlobalBasis as GlobalBasis
    from llwlc.bases._global_basis import global_basis as global_basis
    from llwlc.bases._link_bases import link_bases as link_bases
    from llwlc.bases._link_bases import stream_bases as stream_bases
    from llwlc.bases._starts import STARTS as STARTS
    from llwlc.bases._starts import StartInputs as StartInputs
    from llwlc.bases._starts import register as register

_HOMES = {
    "BasisConfig": "_config",
    "GlobalBasis": "_global_basis",
    "STARTS": "_starts",
    "StartInputs": "_starts",
    "eigenbasis": "_eigenbasis",
    "global_basis": "_global_basis",
    "link_bases": "_link_bases",
    "register": "_starts",
    "stream_bases": "_link_bases",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
