"""Checks that a worker program keeps the protocol: a scripted hub plays the sessions of ``wire/vectors``."""
