"""Work beside the stages: sweeps, notifications, retention, logs, sessions of workers."""
