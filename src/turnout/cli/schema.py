"""``turnout schema``: prints the JSON Schema of workflow files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")] = None,
) -> None:
    """Print the JSON Schema of YAML workflow files, for editors.

    An editor that knows the YAML language server takes it from the first line of a workflow file.

    \b
    turnout schema --output workflow.schema.json
    echo '# yaml-language-server: $schema=workflow.schema.json' > hello.yaml
    """
    from turnout.authoring.yaml.schema import workflow_schema
    from turnout.cli.output import print_json, print_line
    from turnout.model.texts import json_text

    if output is None:
        print_json(workflow_schema())
    else:
        output.write_text(json_text(workflow_schema(), indent=2) + "\n", encoding="utf-8")
        print_line(f"wrote {output}")
