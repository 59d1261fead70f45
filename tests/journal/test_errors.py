"""The error tree that is drawn is the error tree there is, and each class says what is true afterwards."""

import re

from journal import errors
from journal.errors import JournalError


def tree(root: type[BaseException]) -> list[type[BaseException]]:
    return [root, *(kind for child in root.__subclasses__() for kind in tree(child))]


def test_the_drawing_names_every_error_and_no_other() -> None:
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    assert sorted(drawn) == sorted(kind.__name__ for kind in tree(JournalError)[1:])


def test_every_error_says_in_its_own_words_what_is_true_afterwards() -> None:
    assert all(vars(kind).get("__doc__") for kind in tree(JournalError))
