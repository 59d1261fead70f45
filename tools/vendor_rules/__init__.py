"""Makes the vendors' rules of `continuity.privacy` from a list that others keep; nothing here is shipped."""
