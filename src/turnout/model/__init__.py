"""What exists: states, workflow specs, rules, retry, events and results. Frozen values and pure functions."""
