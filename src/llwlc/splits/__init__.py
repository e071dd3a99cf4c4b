"""Named protocols: which links are trained on, validated on and tested on, against which negatives, with which
messages.

`docs/protocols.md` describes each protocol, names its authors, and says where this implementation differs.
"""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.splits._auditing import Audit as Audit
    from llwlc.splits._auditing import audit as audit
    from llwlc.splits._auditing import audit_parts as audit_parts
    from llwlc.splits._auditing import from_pyg as from_pyg
    from llwlc.splits._known_negatives import with_known_negatives as with_known_negatives
    from llwlc.splits._linksplit import LinkSplit as LinkSplit
    from llwlc.splits._making import fresh_negatives as fresh_negatives
    from llwlc.splits._making import largest_component as largest_component
    from llwlc.splits._making import make as make
    from llwlc.splits._registry import PROTOCOLS as PROTOCOLS
    from llwlc.splits._registry import Sizes as Sizes
    from llwlc.splits._registry import register as register
    from llwlc.splits._sizing import sizes as sizes

_HOMES = {
    "Audit": "_auditing",
    "LinkSplit": "_linksplit",
    "PROTOCOLS": "_registry",
    "Sizes": "_registry",
    "audit": "_auditing",
    "audit_parts": "_auditing",
    "fresh_negatives": "_making",
    "from_pyg": "_auditing",
    "largest_component": "_making",
    "make": "_making",
    "register": "_registry",
    "sizes": "_sizing",
    "with_known_negatives": "_known_negatives",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
