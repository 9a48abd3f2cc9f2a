"""Stored workflow definitions: what is in force, how it is changed, and the import of workflow folders."""
