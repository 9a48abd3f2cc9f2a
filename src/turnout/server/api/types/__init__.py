"""The bodies of requests and answers, one module per noun."""
