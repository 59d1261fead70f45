"""Kills real servers and real writers around their writes, and judges what the journal then says. Not shipped."""
