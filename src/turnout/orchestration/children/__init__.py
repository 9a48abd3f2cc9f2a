"""Child runs: tasks whose body is a workflow."""
