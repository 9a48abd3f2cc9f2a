"""Runs bodies in threads, on an event loop and in child processes, under deadlines, for executors and workers."""
