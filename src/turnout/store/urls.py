"""How is a database's address shown to people? Never with its password."""

from __future__ import annotations

import re

_USER_INFO = re.compile(r"(?<=://)([^/@:]*):([^@]*)@")
_PARAMETER = re.compile(r"(?i)\b(password|sslpassword|passfile)=('[^']*'|[^\s&]*)")


def shown_url(url: str) -> str:
    """The URL without secrets.

    >>> shown_url("postgresql://ada:s3cret@db.example/turnout?sslmode=require")
    'postgresql://ada:***@db.example/turnout?sslmode=require'
    >>> shown_url("sqlite:///.turnout/turnout.db")
    'sqlite:///.turnout/turnout.db'
    """
    return _PARAMETER.sub(r"\1=***", _USER_INFO.sub(r"\1:***@", url))
