"""How many stage executors are there, how are they, and how hard may they work? Pure decisions, slow loops."""
