"""The server: an orchestrator with a REST API. Needs the extra ``turnout[server]``."""
