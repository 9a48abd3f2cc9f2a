"""Workers elsewhere: the hub that they connect to, and the executor that gives them attempts."""
