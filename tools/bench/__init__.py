"""Measures how well and how fast the product works, on samples made from a seed; nothing of it is shipped."""
