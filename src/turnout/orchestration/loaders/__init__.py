"""Loads what attempts and readers need of a run: bodies, arguments, results."""
