"""Does a worker program keep the protocol? A scripted hub plays the sessions of ``wire/vectors`` against it."""
