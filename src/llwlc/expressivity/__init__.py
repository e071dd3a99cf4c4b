"""What constrained eigenbases tell apart: Weisfeiler–Leman tests, graph families, exact fingerprints, BREC's procedure."""

# not lazy: the module `separate` would hide the function of that name, were it imported after this package
from llwlc.expressivity.families import Pair, relabelled, suite
from llwlc.expressivity.learned import SubsetNet, learn
from llwlc.expressivity.rpc import Comparison, compare
from llwlc.expressivity.sampled import separate_sampled
from llwlc.expressivity.separate import POLICIES, Verdict, climb, fingerprint, separate
from llwlc.expressivity.wl import wl1, wl3

__all__ = [
    "POLICIES",
    "Comparison",
    "Pair",
    "SubsetNet",
    "Verdict",
    "climb",
    "compare",
    "fingerprint",
    "learn",
    "relabelled",
    "separate",
    "separate_sampled",
    "suite",
    "wl1",
    "wl3",
]
