"""How the pages become a site: links that leave docs/ for the repository become plain text with the file's name."""

from __future__ import annotations

import re
from typing import Any

OUTWARD = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    return OUTWARD.sub(lambda link: f"{link[1]} (`{link[2].replace('../', '')}`)", markdown)
