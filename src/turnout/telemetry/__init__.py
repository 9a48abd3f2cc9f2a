"""Traces and metrics for OpenTelemetry; only the modules of the export need the packages of the extra ``otel``."""
