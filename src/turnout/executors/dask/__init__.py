"""Runs attempts on a Dask cluster. The package ``distributed`` is imported by the modules that use it only."""
