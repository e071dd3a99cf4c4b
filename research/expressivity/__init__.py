"""What constrained eigenbases tell apart: Weisfeiler–Leman tests, graph families, exact fingerprints, BREC's
procedure.
"""

# not lazy: the module `separate` would hide the function of that name, were it imported after this package
from research.expressivity.families import Pair, load_suite, relabel
from research.expressivity.learned import SubsetNet, learn
from research.expressivity.rpc import PairedComparison, compare_pair
from research.expressivity.sampled import separate_sampled
from research.expressivity.separate import POLICIES, Verdict, climb, fingerprint, separate
from research.expressivity.wl import wl1, wl3

__all__ = [
    "POLICIES",
    "Pair",
    "PairedComparison",
    "SubsetNet",
    "Verdict",
    "climb",
    "compare_pair",
    "fingerprint",
    "learn",
    "load_suite",
    "relabel",
    "separate",
    "separate_sampled",
    "wl1",
    "wl3",
]
