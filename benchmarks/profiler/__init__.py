"""The parts of ``benchmarks/profile.py``."""
