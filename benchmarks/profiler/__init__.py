"""The parts of ``benchmarks/profile_engine.py``."""
