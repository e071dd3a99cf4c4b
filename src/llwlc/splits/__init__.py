"""Named protocols: which links are trained on, validated on and tested on, against which negatives, with which messages.

`docs/protocols.md` describes each protocol, names its authors, and says where this implementation differs.
"""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.splits.auditing import Audit as Audit
    from llwlc.splits.auditing import audit as audit
    from llwlc.splits.auditing import audit_parts as audit_parts
    from llwlc.splits.auditing import from_pyg as from_pyg
    from llwlc.splits.linksplit import LinkSplit as LinkSplit
    from llwlc.splits.making import fresh_negatives as fresh_negatives
    from llwlc.splits.making import largest_component as largest_component
    from llwlc.splits.making import make as make
    from llwlc.splits.registry import PROTOCOLS as PROTOCOLS
    from llwlc.splits.registry import Sizes as Sizes
    from llwlc.splits.sizing import sizes as sizes

_HOMES = {
    "Audit": "auditing",
    "LinkSplit": "linksplit",
    "PROTOCOLS": "registry",
    "Sizes": "registry",
    "audit": "auditing",
    "audit_parts": "auditing",
    "fresh_negatives": "making",
    "from_pyg": "auditing",
    "largest_component": "making",
    "make": "making",
    "sizes": "sizing",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
