"""Declares the Protocols of what can be replaced."""
