"""Steps published to one subscriber, results published by it: for handlers that know nothing else."""
