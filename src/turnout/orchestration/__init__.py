"""Drives runs: stages, the ledger, upkeep, and the engine that composes them."""
