"""Text from files of unknown origin, made safe to print."""

from __future__ import annotations

import re
from html import escape

# control characters, marks that have no width or change the direction of writing, and lone surrogates; joiners are part
# of words and of emoji
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def escape_controls(text: str, keep: str = "") -> str:
    r"""The text on one line, with characters that move the cursor, change colours or hide words written as codes,
    except for those in `keep`.

    >>> escape_controls("Ada\x1b[2J\nBob")
    'Ada\\x1b[2J\\nBob'
    """
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


def html_text(text: str) -> str:
    """Text for a page: escaped, and isolated from the direction of the text around it.

    >>> html_text("<b>Ada</b>")
    '&lt;b&gt;Ada&lt;/b&gt;'
    """
    return escape(escape_controls(text))


def quote_text(text: object, limit: int = 60) -> str:
    """A name or a cell in a message: quoted, and cut where it is long.

    >>> quote_text("Ada"), quote_text("x" * 100, 5)
    ("'Ada'", "'xxxxx…'")
    """
    whole = str(text)
    return repr(whole if len(whole) <= limit else whole[:limit] + "…")


def shortened(name: str, limit: int = 48) -> str:
    """A long name by its beginning and its end, for a row of a table.

    >>> shortened("Ada"), shortened("x" * 100 + "y", 5)
    ('Ada', 'xxx…y')
    """
    tail = limit // 4
    return name if len(name) <= limit else f"{name[: limit - tail - 1]}…{name[len(name) - tail :]}"


def describe_error(error: BaseException, limit: int = 200) -> str:
    r"""The first line of another library's error, for use in a message, cut where it quotes a long piece of a file.

    >>> describe_error(ValueError("no number: 'xxx'\nsee line 3"), 12), describe_error(KeyError())
    ("no number: '…", 'KeyError')
    """
    first = str(error).strip().split("\n")[0]
    return escape_controls(first if len(first) <= limit else first[:limit] + "…") or type(error).__name__
