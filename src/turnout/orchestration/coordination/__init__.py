"""Sizing, health and backpressure of the stage executors: pure decisions, slow loops."""
