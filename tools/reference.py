"""Writes the generated parts of docs/reference, which stand between markers, from the code.

    python tools/reference.py           # rewrites the pages
    python tools/reference.py --check   # names the pages that are not current, and fails if there are any

A part stands between ``<!-- generated: NAME -->``, or ``<!-- generated: settings TABLE -->``, and ``<!-- end -->``. The
site is built with the parts made anew; a test compares the files. The JSON Schema of workflow files is generated whole.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
PART = re.compile(r"(<!-- generated: (\w+)(?: ([\w.]+))? -->\n).*?(<!-- end -->)", re.DOTALL)
DIRECTIVE = re.compile(r"^::: ([\w.]+)", re.MULTILINE)
API_PAGES = ("authoring", "running", "routing", "executors", "workers", "testing", "settings", "errors")


def cell(text: str) -> str:
    """Returns the text as one cell of a table."""
    one_line = re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))
    return re.sub(r"(?<!\\)\|", r"\\|", one_line)


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return [*lines, *(f"| {' | '.join(cell(each) for each in row)} |" for row in rows), ""]


# -- command line ------------------------------------------------------------------------------------------------------


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yields every command and group below this one, with its path."""
    for name, each in command.commands.items():
        if not each.hidden:
            yield f"{path} {name}", each
        if hasattr(each, "commands"):
            yield from commands(each, f"{path} {name}")


def command_help(text: str) -> list[str]:
    """Returns a help text as Markdown: paragraphs after a ``\\b`` are code."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text.replace("\f", "")).split("\n\n"):
        if paragraph.startswith("\b\n"):
            lines += ["```console", *(f"$ {line.strip()}" for line in paragraph[2:].splitlines()), "```", ""]
        else:
            lines += [" ".join(paragraph.split()), ""]
    return lines


def option_row(option: Any, context: Any) -> tuple[str, ...]:
    names, text = option.get_help_record(context)
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    value = re.sub(r"^(?:(?:, |/| / )?-[\w-]+)+ ?", "", names).strip("<>[]").removeprefix("list[").rstrip("]")
    value = {"str": "TEXT", "int": "N", "int range": "N", "float": "X", "float range": "X"}.get(value, value)
    meaning, _, extra = text.partition("  [")
    extras = dict(each.rpartition(": ")[::2] for each in extra.rstrip("]").split("; ") if each)
    limits = f" ({extras['']})" if re.search(r"x[<>]|[<>]=?x", extras.get("", "")) else ""
    shown = "required" if option.required else f"`{extras['default']}`" if "default" in extras else ""
    return flags + (f" `{value}`" if value else ""), shown, meaning + limits


def argument_name(argument: Any) -> str:
    name = f"{argument.metavar or argument.name.upper()}" + ("…" if argument.nargs == -1 else "")
    return name.replace("……", "…") if argument.required else f"[{name.replace('……', '…')}]"


def cli_part() -> list[str]:
    import typer.main

    from turnout.cli.app import application

    root = typer.main.get_command(application())
    lines: list[str] = []
    for path, command in commands(root, "turnout"):
        group = hasattr(command, "commands")
        context = command.context_class(command, info_name=path)
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
        usage = " ".join([path, *map(argument_name, arguments), "[OPTIONS]" if options else ""]).strip()
        lines += [f"{'###' if path.count(' ') == 1 else '####'} {path}", ""]
        lines += command_help(command.help or "")
        if group and not command.invoke_without_command:
            continue
        lines += ["```", usage, "```", ""]
        rows = [(f"`{argument_name(each)}`", each.help or "") for each in arguments]
        lines += table(("argument", "meaning"), rows) if rows else []
        rows = [option_row(each, context) for each in options]
        lines += table(("option", "default", "meaning"), rows) if rows else []
    return lines


# -- Python API --------------------------------------------------------------------------------------------------------


def api_names() -> dict[str, str]:
    """Returns the page of every name that the API reference has."""
    pages = {page: (REFERENCE / "api" / f"{page}.md").read_text(encoding="utf-8") for page in API_PAGES}
    return {name: page for page, text in pages.items() for name in DIRECTIVE.findall(text)}


def api_part() -> list[str]:
    modules: dict[str, list[str]] = {}
    for name, page in api_names().items():
        module, _, short = name.rpartition(".")
        modules.setdefault(module, []).append(f"[`{short}`]({page}.md#{name})")
    rows = [(f"`{module}`", ", ".join(sorted(links, key=str.lower))) for module, links in modules.items()]
    return table(("module", "names"), sorted(rows))


# -- errors and waiting reasons ----------------------------------------------------------------------------------------


def exceptions() -> list[type[Any]]:
    """Returns every exception of ``turnout.errors``, in the order of the module."""
    from turnout import errors

    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TurnoutError)]


def cause_and_remedy(kind: type[Exception]) -> tuple[str, str]:
    """Returns the two halves of the first paragraph of a docstring, ``Raised when …. Remedy: …``."""
    first = " ".join(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].split())
    cause, found, remedy = first.removeprefix("Raised when ").partition(" Remedy: ")
    if not found or cause == first:
        raise ValueError(f"the docstring of {kind.__name__} does not say 'Raised when …. Remedy: …'")
    return cause[0].upper() + cause[1:], remedy[0].upper() + remedy[1:]


def errors_part() -> list[str]:
    from turnout.cli.failure import exit_code

    rows = [
        (f"`{kind.__name__}`", f"`{kind.code}`", str(int(exit_code(kind.__new__(kind)))), *cause_and_remedy(kind))
        for kind in exceptions()
    ]
    return table(("exception", "code", "exit code", "raised when", "remedy"), rows)


@cache
def raised_codes() -> dict[str, set[str]]:
    """Returns every code that the source gives to an exception, or to the error of a task, as a literal, with the names
    of the exceptions of ``turnout.errors`` that are called with it."""
    kinds = {kind.__name__ for kind in exceptions()}
    found: dict[str, set[str]] = {}
    for file in sorted((ROOT / "src" / "turnout").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                given = [each.value for each in node.keywords if each.arg == "code"]
                called = node.func.id if isinstance(node.func, ast.Name) else ""
                if called in ("_refuse", "refuse", "Problem") and len(node.args) > 1:
                    given += node.args
                for each in given:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        found.setdefault(each.value, set()).update({called} & kinds)
    return {code: raised for code, raised in found.items() if re.fullmatch(r"[a-z]+(_[a-z]+)+", code)}


def wait_reasons_part() -> list[str]:
    from turnout.model.reasons import WAIT_REASONS

    rows = [(f"`{code}`", reason.meaning, reason.remedy) for code, reason in WAIT_REASONS.items()]
    return table(("code", "meaning", "remedy"), rows)


# -- settings ----------------------------------------------------------------------------------------------------------

TYPES = {
    "a number of seconds": "duration",
    "a whole number": "integer",
    "true or false": "boolean",
    "a list of texts": "list of text",
    "a number above 0 and below 1": "ratio",
    "labels as": "labels",
    "a list of rules": "list of rules",
}
POOLS = "orchestration.executor_pools"


def settings_part(wanted: str = "") -> list[str]:
    """Returns the settings of one table; the five pools are one table, with a second one for their own defaults."""
    from turnout.runner.config_reference import setting_rows

    rows = [row for row in setting_rows() if row.table == ("" if wanted == "root" else wanted)]
    if wanted == POOLS:
        return pools_part()
    return table(("setting", "type", "default", "meaning"), [setting_row(row) for row in rows])


def setting_row(row: Any) -> tuple[str, ...]:
    kind = next((short for long, short in TYPES.items() if row.type.startswith(long)), row.type)
    limits = row.bounds.replace("at least ", "≥ ").replace("a positive number of seconds", "> 0")
    limits = re.sub(r"^a number from (\S+) to (\S+)$", r"\1–\2", limits)
    type_text = kind if kind == "ratio" or not limits else f"{kind} {limits}"
    default = row.default
    if isinstance(default, tuple | list):
        shown = ", ".join(f"`{each}`" for each in default) or "none"
    elif isinstance(default, bool):
        shown = f"`{str(default).lower()}`"
    else:
        shown = "none" if default in (None, "") else f"`{default}`"
    return f"`{row.name}`", type_text, shown, row.description


def pools_part() -> list[str]:
    from turnout.runner.config_reference import setting_rows

    pools: dict[str, list[Any]] = {}
    for row in setting_rows():
        if row.table.startswith(f"{POOLS}."):
            pools.setdefault(row.table.rpartition(".")[2], []).append(row)
    rows = [(*setting_row(row)[:2], row.description) for row in next(iter(pools.values()))]
    names = [f"`{row.name}`" for row in next(iter(pools.values()))]
    defaults = [(f"`{pool}`", *(setting_row(row)[2] for row in each)) for pool, each in pools.items()]
    return [*table(("setting", "type", "meaning"), rows), *table(("pool", *names), defaults)]


def setting_tables() -> set[str]:
    """Returns the tables that the reference must have."""
    from turnout.runner.config_reference import setting_rows

    return {POOLS if row.table.startswith(POOLS) else row.table or "root" for row in setting_rows()}


# -- workflow files ----------------------------------------------------------------------------------------------------

SCHEMA = REFERENCE / "workflow.schema.json"


def workflow_keys_part(wanted: str) -> list[str]:
    """Returns the keys of one table of a workflow file."""
    from turnout.authoring.yaml.key_reference import key_rows

    rows: list[tuple[str, ...]] = []
    for row in key_rows(wanted):
        names = " or ".join(f"`{name}`" for name in (row.name, *row.also))
        default = row.default
        if row.required:
            shown = "required"
        elif isinstance(default, str | int | float) and default != "":
            shown = f"`{json.dumps(default).strip(chr(34))}`"
        else:
            shown = "none"
        rows.append((names, row.type[0].upper() + row.type[1:], shown, row.description, f"`{row.example}`"))
    return table(("key", "value", "default", "meaning", "example"), rows)


def findings_part() -> list[str]:
    from turnout.authoring.yaml.findings import FINDING_CODES

    return table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in FINDING_CODES.items()])


def refused_variables_part() -> list[str]:
    from turnout.model.variables import REFUSED_PREFIXES, REFUSED_VARIABLES

    names = [*(f"`{prefix}*`" for prefix in REFUSED_PREFIXES), *(f"`{name}`" for name in sorted(REFUSED_VARIABLES))]
    return [", ".join(names) + ".", ""]


# -- REST API ----------------------------------------------------------------------------------------------------------


COMMON_CODES = frozenset(
    {"malformed_request", "no_token", "role_too_low", "invalid_request", "too_many_requests", "store_unreachable"}
) | frozenset({"body_too_large", "unsupported_media_type"})
"""Codes that every operation may answer with; the page names them once."""


def openapi() -> dict[str, Any]:
    from turnout.server.app import openapi_document

    return openapi_document()


def shown_type(schema: dict[str, Any]) -> str:
    """Returns a JSON Schema in a few words: the name of a type is a link to it."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{short_type(name)}](#{short_type(name).lower()})"
    if "oneOf" in schema or "anyOf" in schema:
        parts = [shown_type(each) for each in schema.get("oneOf") or schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(parts)) or "any"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"] if each is not None)
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        kind = " or ".join(each for each in kind if each != "null")
    if kind == "array":
        return f"list of {shown_type(schema.get('items', {}))}"
    bounds = [
        f"{sign} {schema[name]:g}"
        for name, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
        if name in schema
    ]
    return " ".join([kind, *bounds])


def short_type(name: str) -> str:
    return name.rpartition("_")[2] if name.startswith("turnout_") else name


def meaning_of(schema: dict[str, Any]) -> str:
    return str(schema.get("description", ""))


def rest_operations_part() -> list[str]:
    document, lines = openapi(), []
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    for tag in sorted(by_tag):
        lines += [f"## {tag.capitalize()}", ""]
        for method, path, operation in sorted(by_tag[tag], key=lambda each: (each[1], each[0])):
            lines += rest_operation(method, path, operation)
    return lines


def rest_operation(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    role = operation.get("x-role")
    needs = f"Role: {role}." if role else "Open without a token."
    lines = [f"### {operation['summary']}", "", f"`{method} {path}` · `{operation['operationId']}` · {needs}", ""]
    lines += [" ".join(str(operation.get("description", "")).replace("``", "`").split()), ""]
    rows = [
        (f"`{each['name']}`", each["in"], shown_type(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", ())
    ]
    if "requestBody" in operation:
        for media, content in operation["requestBody"]["content"].items():
            rows.append(("body", media, shown_type(content.get("schema", {})), ""))
    lines += table(("parameter", "in", "type", "meaning"), rows) if rows else []
    answers = []
    for status, answer in sorted(operation["responses"].items()):
        if set(re.findall(r"`(\w+)`", answer.get("description", ""))) <= COMMON_CODES and status >= "400":
            continue
        contents = [shown_type(each.get("schema", {})) for each in (answer.get("content") or {}).values()]
        answers.append((status, " ".join(contents) if status < "400" else "", answer.get("description", "")))
    return lines + table(("answer", "body", "meaning"), answers)


def rest_types_part() -> list[str]:
    lines: list[str] = []
    for name, schema in sorted(openapi()["components"]["schemas"].items(), key=lambda pair: short_type(pair[0])):
        lines += [f"### {short_type(name)}", ""]
        lines += [schema["description"], ""] if schema.get("description") else []
        if "enum" in schema:
            lines += ["One of " + ", ".join(f"`{each}`" for each in schema["enum"]) + ".", ""]
            continue
        required = schema.get("required", ())
        rows = [
            (f"`{field}`", shown_type(each), "" if field in required else "optional", meaning_of(each))
            for field, each in schema.get("properties", {}).items()
        ]
        lines += table(("field", "type", "", "meaning"), rows) if rows else []
    return lines


def schema_text() -> str:
    from turnout.authoring.yaml.schema import workflow_schema

    return json.dumps(workflow_schema(), indent=1, ensure_ascii=False) + "\n"


PARTS: dict[str, Callable[..., list[str]]] = {
    "cli": cli_part,
    "api": api_part,
    "errors": errors_part,
    "wait_reasons": wait_reasons_part,
    "settings": settings_part,
    "workflow_keys": workflow_keys_part,
    "findings": findings_part,
    "refused_variables": refused_variables_part,
    "rest_operations": rest_operations_part,
    "rest_types": rest_types_part,
}


def current(text: str) -> str:
    """Returns the text of a page with its generated parts made anew."""

    def part(match: re.Match[str]) -> str:
        arguments = [match[3]] if match[3] else []
        return "".join([match[1], "\n", "\n".join(PARTS[match[2]](*arguments)), "\n", match[4]])

    return PART.sub(part, text)


def renewed(path: Path) -> str:
    """Returns the text that a page, or the published schema, should have."""
    return schema_text() if path == SCHEMA else current(path.read_text(encoding="utf-8"))


def stale() -> list[Path]:
    paths = [*sorted(REFERENCE.rglob("*.md")), SCHEMA]
    return [path for path in paths if not path.is_file() or renewed(path) != path.read_text(encoding="utf-8")]


def main() -> int:
    pages = stale()
    for page in pages:
        print(page.relative_to(ROOT))
        if "--check" not in sys.argv[1:]:
            page.write_text(renewed(page), encoding="utf-8")
    return 1 if pages and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
