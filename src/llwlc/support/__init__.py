"""What knows nothing of graphs: ragged arrays, draws, files, threads, registries, roots, the compiler."""

from llwlc.support.lazy import lazy

__getattr__, __dir__ = lazy(__name__, {})
