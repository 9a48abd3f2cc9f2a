"""Type-checks the Python code of the documentation, of examples/ and of what `turnout init` writes, in strict mode.

    python tools/check_examples.py          # basedpyright and mypy
    python tools/check_examples.py --list   # the programs, without checking them

The code blocks of a page are one program, as the tests run them; findings name the page and its line.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PROGRAMS = (*sorted((ROOT / "examples").rglob("*.py")), *sorted((ROOT / "src/turnout/cli/starter").glob("*.py.in")))
NEIGHBOURS = (ROOT / "examples/languages", ROOT / "examples/languages/python", ROOT / "examples/serverless")
"""Folders whose modules the examples import by their bare names."""
PYRIGHT = {
    "typeCheckingMode": "strict",
    "pythonVersion": "3.11",
    "failOnWarnings": True,
    "extraPaths": [str(ROOT / "src"), *map(str, NEIGHBOURS)],
    "reportDeprecated": False,
    # As for the package itself: JSON values are Any.
    "reportUnknownVariableType": False,
    "reportUnknownArgumentType": False,
    "reportUnknownMemberType": False,
    "reportUnknownLambdaType": False,
}


def program_of(page: Path) -> str | None:
    """Returns the page's Python blocks as one program whose lines have the numbers of the page; None if there are
    none."""
    text, lines = page.read_text(encoding="utf-8"), list[str]()
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        first = text[: block.start(1)].count("\n")
        lines += [""] * (first - len(lines)) + block.group(1).splitlines()
    return "\n".join(lines) + "\n" if lines else None


def write_programs(folder: Path) -> dict[str, Path]:
    """Writes every program under a module name of its own; returns its source by file name."""
    sources: dict[str, Path] = {}
    for source in (*PAGES, *PROGRAMS):
        code = program_of(source) if source.suffix == ".md" else source.read_text(encoding="utf-8")
        if code is not None:
            inside = "src/turnout/cli/starter" in str(source)
            name = source.stem.removesuffix(".py") if inside else re.sub(r"\W", "_", str(source.relative_to(ROOT)))
            (folder / f"{name}.py").write_text(code, encoding="utf-8")
            sources[f"{name}.py"] = source.relative_to(ROOT)
    return sources


def findings(command: list[str], folder: Path, sources: dict[str, Path]) -> list[str]:
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, NEIGHBOURS))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if re.search(r"\.py:\d+", line) and " note: " not in line]
    if done.returncode != 0 and not lines:
        lines = [f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}"]
    return [_by_source(line.strip(), sources) for line in lines]


def _by_source(line: str, sources: dict[str, Path]) -> str:
    return re.sub(r"(?:\S*/)?(\w+\.py)(?=:\d)", lambda match: str(sources.get(match[1], match[1])), line, count=1)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = write_programs(folder)
        if "--list" in sys.argv[1:]:
            print("\n".join(str(source) for source in sources.values()))
            return 0
        (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
        beside = Path(sys.executable).parent
        cache = ROOT / ".mypy_cache"
        found = findings([str(beside / "basedpyright"), "--pythonpath", sys.executable], folder, sources)
        mypy = [str(beside / "mypy"), "--strict", "--python-version", "3.11", "--cache-dir", str(cache)]
        found += findings([*mypy, "--python-executable", sys.executable, "."], folder, sources)
        print("\n".join([*found, f"{len(sources)} programs, {len(found)} findings"]))
        return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
