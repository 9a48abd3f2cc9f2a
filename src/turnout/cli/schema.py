"""``turnout schema``: prints the JSON Schema of workflow files, or the OpenAPI document of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")] = None,
    api: Annotated[bool, typer.Option("--api", help="The OpenAPI document of the server instead.")] = False,
) -> None:
    """Print the JSON Schema of YAML workflow files, for editors.

    An editor that knows the YAML language server takes it from the first line of a workflow file.

    \b
    turnout schema --output workflow.schema.json
    echo '# yaml-language-server: $schema=workflow.schema.json' > hello.yaml
    turnout schema --api
    """
    from turnout.cli.output import print_json, print_line
    from turnout.model.texts import json_text

    document = _api_document() if api else _workflow_schema()
    if output is None:
        print_json(document)
    else:
        output.write_text(json_text(document, indent=2) + "\n", encoding="utf-8")
        print_line(f"wrote {output}")


def _workflow_schema() -> dict[str, Any]:
    from turnout.authoring.yaml.schema import workflow_schema

    return workflow_schema()


def _api_document() -> dict[str, Any]:
    from turnout.model.extras import optional_packages

    with optional_packages():
        from turnout.server.app import openapi_document
    return openapi_document()
