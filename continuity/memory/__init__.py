"""Basic Memory's face: a child process, the session with it, and typed calls. It decides nothing and journals nothing."""
