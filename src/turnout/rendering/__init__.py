"""Workflows as text, Mermaid, Graphviz and SVG. Pure: a spec and the states of a run in, text out."""
