"""The five stages of orchestration: submission, claims, start of tasks, results, end."""
