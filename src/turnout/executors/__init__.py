"""Where attempts are done: the task executors that come with Turnout."""
