"""What can be replaced: Protocols only."""
