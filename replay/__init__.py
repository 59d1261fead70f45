"""Reads recorded journals offline: folds, audits and explains; it never reaches a network."""
