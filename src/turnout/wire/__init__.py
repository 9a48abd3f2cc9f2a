"""What travels between a hub and its workers? Messages, their bytes, and the rules of a session; no sockets here."""
