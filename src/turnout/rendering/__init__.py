"""Renders workflows as text, Mermaid, Graphviz and SVG. Pure: takes a spec and the states of a run, returns text."""
