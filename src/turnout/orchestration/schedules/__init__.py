"""Runs that start by themselves: which due times have come, what is decided about each, and the effects of that."""
