"""A tip is stored as bytes when that loses nothing, and always comes back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.row import pack_tip, unpack_tip


@given(st.one_of(st.none(), st.text(), st.binary(min_size=1).map(bytes.hex)))
def test_a_tip_comes_back_as_it_was(tip: str | None) -> None:
    assert unpack_tip(pack_tip(tip)) == tip


@pytest.mark.parametrize("tip", ["aa01", "00" * 16])
def test_lower_hex_of_even_length_is_stored_as_bytes(tip: str) -> None:
    assert pack_tip(tip) == bytes.fromhex(tip)


@pytest.mark.parametrize("tip", ["", "abc", "AA01", "aa0g", "aa 01", "aa01\n", "\u0660\u0660"])
def test_any_other_tip_is_stored_as_text(tip: str) -> None:
    assert pack_tip(tip) == tip
