"""The one kind of error that a user can mend: it says what is wrong, where, and what to do."""


class InputError(ValueError):
    """Input that cannot be used. The command line prints its message without a traceback and exits with code 2.

    >>> import llwlc
    >>> llwlc.datasets.load("coar")
    Traceback (most recent call last):
    llwlc.errors.InputError: no dataset is called 'coar'; there are cora, ... Did you mean cora?
    """
