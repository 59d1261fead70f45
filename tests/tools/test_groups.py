"""A test's group says how it works: what opens files is not called pure, and what drives real programs comes last."""

import pytest

from tests.conftest import TESTS, group_of


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("journal/test_chain.py", "pure"),
        ("continuity/test_recall.py", "pure"),
        ("journal/test_store_failures.py", "store"),
        ("journal/test_disk.py", "store"),
        ("journal/test_integrity.py", "store"),
        ("journal/test_tampering.py", "store"),
        ("replay/test_tampering_is_audited.py", "pure"),
        ("shell/test_git.py", "edges"),
        ("cli/test_cli.py", "edges"),
        ("simulation/test_seeds.py", "simulation"),
        ("real/test_host.py", "real"),
    ],
)
def test_a_test_is_in_the_group_of_what_it_works_on(name: str, group: str) -> None:
    assert group_of(TESTS / name) == group
    assert group_of(TESTS / name, real=True) == "real"
