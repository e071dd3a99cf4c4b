"""The errors that a user can fix: each says what is wrong, where, and what to do. All of them are an `LLwLCError`, and
also the kind of Python's that they resemble.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any


class LLwLCError(Exception):
    """The base of all errors raised on purpose. The command line prints the message in one line, without a traceback,
    and exits with code 2.

    >>> import llwlc
    >>> try:
    ...     llwlc.datasets.load("coar")
    ... except llwlc.LLwLCError as error:
    ...     print(error)
    no dataset is called 'coar'; there are cora, ... Did you mean cora?
    """


class InputError(LLwLCError, ValueError):
    """An option, an array, a table or a file that cannot be used.

    >>> import llwlc
    >>> llwlc.datasets.load("coar")
    Traceback (most recent call last):
    llwlc.errors.InputError: no dataset is called 'coar'; there are cora, ... Did you mean cora?
    """


class RunFolderError(InputError):
    """A run folder, or a checkpoint in it, that is missing, damaged, of another run or of another format. It is an
    `InputError` as well, since the folder is given by the user.

    >>> import llwlc
    >>> llwlc.LinkPredictor.load("nowhere")
    Traceback (most recent call last):
    llwlc.errors.RunFolderError: there is no run folder nowhere: make one with llwlc fit GRAPH --out nowhere
    """


class DatasetError(InputError):
    """A named dataset whose files are neither there nor can be fetched, or are damaged.

    >>> issubclass(DatasetError, InputError)
    True
    """


class NotFittedError(LLwLCError, ValueError, AttributeError):
    """A predictor or a model was asked for something that only a fitted one has.

    It is an `AttributeError`, so that `hasattr` is False before `fit`. Where scikit-learn is loaded, it is also a
    `sklearn.exceptions.NotFittedError`:

    >>> import llwlc, sklearn.exceptions
    >>> try:
    ...     llwlc.LinkPredictor().metrics_
    ... except sklearn.exceptions.NotFittedError as error:
    ...     print(error)
    this predictor is not fitted yet: call fit(graph) or LinkPredictor.load(folder)
    """

    def __new__(cls, *args: object) -> NotFittedError:
        # `except` looks at base classes alone. Whoever names scikit-learn's error has loaded it, so the class that has
        # both as bases is made only then, and nothing here waits for
        # the second that importing scikit-learn takes
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        return super().__new__(cls if theirs is None else _of_both_kinds(theirs), *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return NotFittedError, self.args  # the class of both kinds has no name to be pickled by


@cache
def _of_both_kinds(theirs: type[Exception]) -> type[NotFittedError]:
    return type("NotFittedError", (NotFittedError, theirs), {"__module__": __name__, "__doc__": NotFittedError.__doc__})


class MissingDependencyError(LLwLCError, ImportError):
    """An optional package that is not installed; the message names the extra and the command that installs it, `name`
    the package.

    >>> issubclass(MissingDependencyError, ImportError)
    True
    """


class StorageError(LLwLCError, OSError):
    """Files that cannot be kept: a full disk, a folder that may not be written, a lock that another process holds, a
    damaged cache; and databases that do not answer.

    >>> issubclass(StorageError, OSError)
    True
    """


class EngineError(LLwLCError, RuntimeError):
    """Workers that cannot be reached or were lost.

    >>> issubclass(EngineError, RuntimeError)
    True
    """
