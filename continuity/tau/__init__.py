"""Tau's side of continuity: what the host tells us and what we ask of it. No rule of ours lives here."""
