"""Measures the structure of the source: size, names, import cycles, reach-ins, and the path of one run.

    .venv/bin/python tools/structure.py [ROOT …]
    .venv/bin/python tools/structure.py --cycles

``ROOT`` is a checkout with its own ``.venv``, or this one. One column for each, so that a change can be compared.
``--cycles`` checks one thing only: that no modules import one another in a circle, imports for types included.
"""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

NOUNS = frozenset({"batching", "logging", "mapping", "polling", "routing", "scaling", "setting", "testing"})
"""Words in -ing that the field uses as nouns."""
COMMON = frozenset({"__init__", "__main__", "settings"})
"""Module names that may stand in every package."""

ONE_RUN = """
import json, sys, threading
seen, measured = set(), False
def hook(frame, event, arg):
    if measured and event == "call":
        name = frame.f_code.co_filename
        at = name.rfind("/turnout/")
        if at >= 0:
            seen.add((name[at + 1:], frame.f_code.co_qualname))
threading.setprofile(hook)
sys.setprofile(hook)
from turnout import Runner, TaskInfo, task, workflow
@task(retries=1, retry_delay="1ms")
def flaky(info: TaskInfo) -> int:
    if info.attempt == 1:
        raise ValueError("once")
    return 1
@workflow
def once() -> int:
    return flaky()
with Runner("sqlite:///:memory:") as runner:
    runner.run(once)
    measured = True
    runner.run(once)
    measured = False
print(json.dumps(sorted(seen)))
"""


def modules_of(root: Path) -> dict[str, tuple[Path, ast.Module]]:
    source = root / "src"
    found: dict[str, tuple[Path, ast.Module]] = {}
    for path in sorted((source / "turnout").rglob("*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = (path, ast.parse(path.read_text()))
    return found


def code_lines(path: Path, tree: ast.Module) -> int:
    """Returns the number of lines that are neither blank nor comment nor docstring."""
    documented: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = path.read_text().splitlines()
    return sum(
        bool(text.strip()) and not text.strip().startswith("#") and number not in documented
        for number, text in enumerate(lines, 1)
    )


def imported(name: str, tree: ast.Module, known: dict[str, tuple[Path, ast.Module]]) -> Iterator[str]:
    """Returns the modules that this one imports at its top, those for types included."""
    open_: list[ast.stmt] = list(tree.body)
    while open_:
        node = open_.pop()
        if isinstance(node, ast.If | ast.Try | ast.With):
            open_ += [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                target = whole if whole in known else node.module
                if target in known and target != name:
                    yield target


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Returns the strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def reach_ins(known: dict[str, tuple[Path, ast.Module]]) -> dict[str, tuple[int, int, int]]:
    """Returns, by type of a stored constructor argument: accesses through it, attributes reached, modules that do
    so."""
    accesses: Counter[str] = Counter()
    attributes: defaultdict[str, set[str]] = defaultdict(set)
    users: defaultdict[str, set[str]] = defaultdict(set)
    for module, (_, tree) in known.items():
        for cls in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]:
            kept = _kept(cls)
            for function in [node for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]:
                for kind, attribute in _reached(function, kept):
                    accesses[kind] += 1
                    attributes[kind].add(attribute)
                    users[kind].add(module)
    return {kind: (accesses[kind], len(attributes[kind]), len(users[kind])) for kind in accesses}


def _kept(cls: ast.ClassDef) -> dict[str, str]:
    kept: dict[str, str] = {}
    for function in cls.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            arguments = (*function.args.args, *function.args.kwonlyargs)
            types = {each.arg: ast.unparse(each.annotation) for each in arguments if each.annotation}
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in types:
                    for target in node.targets:
                        if isinstance(target, ast.Attribute):
                            kept[target.attr] = types[node.value.id].strip("'\"")
    return kept


def _reached(function: ast.AST, kept: dict[str, str]) -> Iterator[tuple[str, str]]:
    local: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
            if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
            for target, value in pairs:
                if isinstance(target, ast.Name) and (kind := _type_of(value, kept, {})):
                    local[target.id] = kind
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and (kind := _type_of(node.value, kept, local)):
            yield kind, node.attr


def _type_of(node: ast.expr, kept: dict[str, str], local: dict[str, str]) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return kept.get(node.attr)
    return local.get(node.id) if isinstance(node, ast.Name) else None


def path_of_one_run(root: Path) -> list[list[str]]:
    python = root / ".venv/bin/python"
    answer = subprocess.run(
        [str(python if python.exists() else sys.executable), "-c", ONE_RUN],
        env={"PYTHONPATH": str(root / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(answer.stdout)


def cycles_in(known: dict[str, tuple[Path, ast.Module]]) -> list[list[str]]:
    return cycles({name: set(imported(name, tree, known)) - {name} for name, (_, tree) in known.items()})


def figures(root: Path) -> dict[str, str]:
    known = modules_of(root)
    sizes = [len(path.read_text().splitlines()) for path, _ in known.values()]
    knots = cycles_in(known)
    names = [path.stem for path, _ in known.values()]
    layers: defaultdict[tuple[str, str], int] = defaultdict(int)
    for path, _ in known.values():
        parts = path.relative_to(root / "src/turnout").parts
        if path.stem not in COMMON:
            layers[parts[0], path.stem] += 1
    run = path_of_one_run(root)
    kind, (times, reached, users) = max(reach_ins(known).items(), key=lambda item: item[1][1] * item[1][2])
    gerunds = sorted(name for name in names if name.endswith("ing") and name.rpartition("_")[2] not in NOUNS)
    return {
        "files": f"{len(known):,}",
        "lines": f"{sum(sizes):,}",
        "code lines": f"{sum(code_lines(path, tree) for path, tree in known.values()):,}",
        "median file": f"{statistics.median(sizes):.0f}",
        "files above 350 lines": f"{sum(size > 350 for size in sizes)}",
        "files on the path of one run": f"{len({path for path, _ in run})}",
        "functions on the path of one run": f"{len(run)}",
        "widest door": f"{kind}: {times} accesses, {reached} attributes, {users} modules",
        "import cycles, types included": f"{len(knots)} with {sum(map(len, knots))} modules",
        "modules that are gerunds": f"{len(gerunds)} {' '.join(gerunds[:6])}",
        "module names twice in a package": f"{sum(count > 1 for count in layers.values())}",
    }


def check_cycles(root: Path) -> None:
    found = cycles_in(modules_of(root))
    for knot in found:
        print(f"these modules import one another: {', '.join(knot)}")
    sys.exit(1 if found else 0)


def main() -> None:
    if sys.argv[1:] == ["--cycles"]:
        check_cycles(Path(__file__).resolve().parents[1])
    roots = [Path(each).resolve() for each in sys.argv[1:]] or [Path(__file__).resolve().parents[1]]
    columns = [figures(root) for root in roots]
    for label in columns[0]:
        print(f"{label:34}", *(f"{column[label]:48}" for column in columns))


if __name__ == "__main__":
    main()
