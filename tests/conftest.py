"""Fixtures that tests of several packages share."""

from databases import database as database
