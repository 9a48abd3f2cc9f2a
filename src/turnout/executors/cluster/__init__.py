"""Runs attempts on clusters that others operate. A supervisor in the cluster is a worker of every orchestrator."""
