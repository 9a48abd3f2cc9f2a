"""Runs attempts on a Ray cluster. The package ``ray`` is imported by the modules that use it only."""
