"""The steps of `evolve`, one small pure function per event, a module a family. None of them raises or judges."""
