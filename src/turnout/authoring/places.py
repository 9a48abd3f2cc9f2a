"""Where in the author's code did this happen?"""

from __future__ import annotations

import linecache
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def place() -> str:
    """``file.py:12`` of the author's line that led here, with the line itself if it can be read."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_HERE):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).strip()
    return f"{file}:{line}" + (f" ({text})" if text else "")
