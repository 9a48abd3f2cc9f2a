"""Holds the values and pure functions of the domain: states, specs, rules, retries, events and results."""
