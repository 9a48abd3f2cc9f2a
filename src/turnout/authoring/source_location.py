"""The line of the author's code that an error is about."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from types import FrameType

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def author() -> FrameType:
    """The frame of the author's line that led here."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_HERE):
        frame = frame.f_back
    return frame


def place() -> str:
    """``file.py:12`` of the author's line that led here, with the line itself if it can be read."""
    frame = author()
    return _shown(frame.f_code.co_filename, frame.f_lineno)


def unpacked() -> int | None:
    """Into how many names the author's line, which asks for an iterator, unpacks; None if it does something else."""
    import dis

    frame = author()
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if dis.opname[code[at]] in ("UNPACK_SEQUENCE", "UNPACK_EX") else None


def raised_at(error: BaseException) -> str:
    """`` at file.py:12`` of the line that raised, with the line itself if it can be read."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {_shown(frames[-1].filename, frames[-1].lineno or 0)}" if frames else ""


def _shown(file: str, line: int) -> str:
    text = linecache.getline(file, line).strip()
    return f"{file}:{line}" + (f" ({text})" if text else "")
