"""What happens: stages, the ledger, and the engine that drives runs."""
