"""YAML workflow files: their model, the reader that reports every problem with its place, the JSON Schema."""
