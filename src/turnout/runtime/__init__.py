"""How a body is run: in threads, on an event loop, under a deadline; used by executors and by workers."""
