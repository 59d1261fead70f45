"""Plays one whole session with the real Tau and the real Basic Memory and proves each step; the model alone is scripted."""
