"""Holds the task executors that come with Turnout."""
