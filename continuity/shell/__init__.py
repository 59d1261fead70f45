"""The imperative shell: performs what is due and keeps the clock. It holds no rule of its own."""
