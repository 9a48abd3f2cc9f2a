"""Finds words and forms in docstrings, comments, log lines and pages that the project does not use.

    .venv/bin/python tools/prose.py            # findings, one a line; exit code 1 if there are any
    .venv/bin/python tools/prose.py --count    # findings per word

CONTRIBUTING.md, "How the code reads", gives the rules. A name in backquotes is code and is not checked.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("src/turnout", "tools", "benchmarks", "examples")
PAGES = ("docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")

PEOPLE = r"\b(?:who|whom|whoever|nobody|somebody|anybody|everybody|himself|herself)\b"
"""Workers, runs, sessions and callers are things: "that", "which", "no worker", "another session"."""
WORDS = {
    PEOPLE: "a worker, run, session or caller is a thing: name it",
    r"\btried again\b|\btries again\b|\btry again\b": "retried",
    r"\bput(?:s|ting)? (?:\w+ )?off\b": "deferred",
    r"\bnobody has it\b": "orphaned",
    r"\bcarr(?:y|ies|ied) out\b": "applies, runs",
    r"\bsolitude|\bbirths?\b|\bsalvage|\bkeepers?\b": "a metaphor: use the name of the mechanism",
    r"\bhappenings?\b": "events",
}
"""Forms that are not used, and what is written instead."""
TITLE = re.compile(r"#+ .*\?$")
"""The title of a part of a page that is a question."""
QUESTIONS = re.compile(r"(What|Whether|How|Who|Which|Why|Where|When)\b")
IMPERATIVES = re.compile(
    r"(Add|Ask|Begin|Bring|Call|Carry|Claim|Close|Count|Do|Drop|End|Find|Forget|Get|Give|Hold|Keep|Let|Look|Make|Move|Note|"
    r"Open|Put|Read|Release|Remove|Return|Run|Say|Send|Set|Start|Stop|Take|Tell|Turn|Wait|Write)\b"
)
"""First words of a docstring that states no fact: "Returns …", "True if …", "Sends …" do."""
LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "failure", "recovered"})
CODE = re.compile(r"``[^`]*``|`[^`]*`|\"[^\"\n]*\"")


def openings_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields the line and the first word of the docstring of every class and function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and (
            text := ast.get_docstring(node)
        ):
            yield node.body[0].lineno, text.split()[0].strip(".,:;")


def texts_of(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yields the line, the text, and whether it is the docstring of the module."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value, bool(tree.body) and node is tree.body[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOG_METHODS:
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.lineno, argument.value, False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def page_texts(path: Path) -> Iterator[tuple[int, str, bool]]:
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line, False


def findings_in(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yields the line, the word found and what to write instead."""
    if path.suffix == ".py":
        for line, word in openings_of(ast.parse(path.read_text(encoding="utf-8"))):
            # The docstring of a command is its help, which tells users what they can do.
            if QUESTIONS.fullmatch(word) or (IMPERATIVES.fullmatch(word) and "cli" not in path.parts):
                yield line, f"{word} …", "state a fact: Returns …, True if …, Sends …"
    for line, text, opens_module in texts_of(path) if path.suffix == ".py" else page_texts(path):
        if opens_module and re.match(r"[^.\n]*\?", text):
            yield line, "a question as the title of a module", "state what the module is responsible for"
        if path.suffix == ".md" and TITLE.match(text):
            yield line, "a question as a title", "name what the part is about"
        plain = CODE.sub("", text)
        for pattern, instead in WORDS.items():
            for found in re.finditer(pattern, plain, re.IGNORECASE):
                yield line + plain[: found.start()].count("\n"), found.group(), instead


def files() -> Iterator[Path]:
    for name in SOURCES:
        yield from sorted((ROOT / name).rglob("*.py"))
    for name in PAGES:
        path = ROOT / name
        yield from sorted(path.rglob("*.md")) if path.is_dir() else [path]


def main() -> int:
    found = [(path, *finding) for path in files() for finding in findings_in(path)]
    if "--count" in sys.argv[1:]:
        for word, number in Counter(word.lower() for _, _, word, _ in found).most_common():
            print(f"{number:6}  {word}")
    else:
        for path, line, word, instead in found:
            print(f"{path.relative_to(ROOT)}:{line}: {word!r}: {instead}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
