"""Facts and their bytes: an append-only journal that imports nothing else of ours."""
