"""How the extension comes into Tau: what would be done, and the doing. The commands that ask a person are beside it."""
