"""Holds ``@task`` and ``@workflow``, placeholders, and the registry that finds the function of a stored task."""
