"""`python -m research bench`: times the computation of eigenbases from pairs against all usual methods, in one run, on
the same links, on one core.

The ratios can be compared between machines; absolute times are those of the machine that the report describes.
"""

# not lazy: the modules `run` and `scale` would hide the functions of those names, were they imported after this package
from research.bench.gpu import GpuReport, gpu_table, run_gpu
from research.bench.report import save, table
from research.bench.run import Report, run
from research.bench.scale import scale, scale_table
from research.bench.scores import ScoresReport, run_scores, scores_table

__all__ = [
    "GpuReport",
    "Report",
    "ScoresReport",
    "gpu_table",
    "run",
    "run_gpu",
    "run_scores",
    "save",
    "scale",
    "scale_table",
    "scores_table",
    "table",
]
