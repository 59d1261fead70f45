"""Makes the pictures of Tau's screen that the README shows, from a session with the real Tau and the real Basic Memory."""
