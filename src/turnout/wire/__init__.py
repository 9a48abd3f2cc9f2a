"""Defines what travels between a hub and its workers: messages, their bytes, and sessions without sockets."""
