"""Runs every attempt in a Kubernetes Job of its own, whose container is a worker of the hub for this attempt."""
