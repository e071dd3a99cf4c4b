"""The URL of a database, and how to print it: whatever is secret in it is never shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from llwlc.errors import InputError

HIDDEN = "***"
# a scheme has two letters or more: C:/ is a drive; a path may have lost one of the two slashes
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+:/"
_USER = re.compile(rf"\b(?!https?:)({_SCHEME}{{1,2}}[^\s:/@?#]*):[^\n]*@")
_PARAMETER = re.compile(r"(?i)([?&](?:ssl|proxy_?)?(?:password|passwd|pwd|token|secret)=)[^&\s'\"]*")


def is_database_url(text: str) -> bool:
    """Whether a text is the URL of something, rather than the name of a file or of a dataset.

    >>> is_database_url("postgresql://localhost/shop"), is_database_url("C:/data/shop.db")
    (True, False)
    """
    return re.match(_SCHEME + "/", text) is not None


def restore_url(path: Path) -> str | None:
    """The URL that a path was made of, in which slashes are lost; None for another path.

    >>> restore_url(Path("sqlite:///shop.db")), restore_url(Path("shop.db"))
    ('sqlite:////shop.db', None)
    """
    match = re.match(_SCHEME, path.as_posix())
    if match is None:
        return None
    scheme, rest = path.as_posix().split(":/", 1)
    if scheme.lower() not in ("sqlite", "duckdb"):
        return f"{scheme}://{rest}"
    return f"{scheme}:///{rest}" if Path(rest).exists() else f"{scheme}:////{rest}"


def refuse_url(path: str | Path, instead: str) -> None:
    """Refuses the URL of a database where only a file or a folder will do: written to, it would become folders whose
    names hold the password.

    >>> refuse_url("top.csv", "name a file")
    """
    if re.match(_SCHEME, Path(path).as_posix()):
        raise InputError(f"{redact(Path(path).as_posix())} is a URL, which cannot be used here: {instead}")


def redact(text: str) -> str:
    """A text without the passwords of the database URLs in it.

    >>> redact("no answer from postgresql://ann:hunter2@db.example/shop?sslpassword=x")
    'no answer from postgresql://ann:***@db.example/shop?sslpassword=***'
    """
    if ":/" not in text:
        return text
    return _PARAMETER.sub(rf"\1{HIDDEN}", _USER.sub(rf"\1:{HIDDEN}@", text))


@dataclass(frozen=True)
class DatabaseUrl:
    """A URL as the user wrote it; its `repr` and all messages show it without a password."""

    text: str = field(repr=False)

    def __post_init__(self) -> None:
        if not is_database_url(self.text):
            raise InputError(
                f"{redact(self.text)!r} is not the URL of a database: write it as sqlite:///shop.db,"
                " duckdb:///shop.duckdb, postgresql://host/shop or neo4j://host"
            )

    def __repr__(self) -> str:
        return f"DatabaseUrl({redact(self.text)!r})"

    @property
    def scheme(self) -> str:
        return self.text.partition("://")[0].lower()

    @property
    def file(self) -> Path:
        """The file of a database that is one: `///shop.db` here, `////data/shop.db` from the root."""
        host, slash, path = self.text.partition("://")[2].partition("/")
        if host or not slash or not path or path == ":memory:":
            raise InputError(
                f"{redact(self.text)} names no file: write {self.scheme}:///shop.db, or with four slashes"
                f" {self.scheme}:////data/shop.db for a path from the root"
            )
        return Path(path)

    @property
    def place(self) -> str:
        """The name of the database in messages, without user and password.

        >>> DatabaseUrl("postgresql://ann:hunter2@db.example:5432/shop").place
        'postgresql at db.example:5432/shop'
        """
        if self.text.partition("://")[2].startswith("/"):
            return self.text.partition(":///")[2].partition("?")[0] or self.scheme
        found = self.text.partition("://")[2].rpartition("@")[2].partition("?")[0]
        return f"{self.scheme.partition('+')[0]} at {found}" if found else self.scheme

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password, where both are in the URL."""
        parts = urlsplit(self.text)
        return None if parts.username is None or not parts.password else (unquote(parts.username), self._password)

    @property
    def _password(self) -> str:
        return unquote(urlsplit(self.text).password or "")

    def check_password(self) -> None:
        """Refuses a password with a bare @ or /: a driver takes what follows for the host, and would print it."""
        name, _, secret = self.text.partition("://")[2].rpartition("@")[0].partition(":")
        port = re.match(r"\d+[/,]", secret)  # host:5432/shop?user=ann@example
        if re.search("[@/]", secret) and not re.search("[/?[]", name) and not port:
            raise InputError(
                f"{self.place}: the password in the URL has a bare @ or /, which ends it there: write %40 and %2F, or"
                " leave the password to PGPASSWORD or ~/.pgpass"
            )

    def hide(self, message: str) -> str:
        """A driver's message without any form of the secrets of this URL."""
        rest = self.text.partition("://")[2]
        user = "" if rest.startswith("/") else rest.rpartition("@")[0]
        secrets = {user.partition(":")[2], user.partition(":")[2].partition("@")[0]}
        secrets |= {match.partition("=")[2] for match in (m[0] for m in _PARAMETER.finditer(self.text))}
        for secret in sorted(secrets | {unquote(text) for text in secrets}, key=len, reverse=True):
            message = message.replace(secret, HIDDEN) if secret else message
        return redact(message)
