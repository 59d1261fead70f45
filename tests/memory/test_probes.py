"""A probe says what was seen and no more: a note that cannot be reached is not absent."""

import pytest

from continuity.capture import content_digest
from continuity.memory import probes
from journal.events.writes import NoteAddress, Observation
from journal.ids import CaptureId
from tests.fakes.memory_server import FakeMemory
from tests.memory.conftest import Reach

ID = CaptureId("a" * 64)
ADDRESS = NoteAddress(folder="tau/x", title="tau-checkpoint-aaaa")
PATH = ADDRESS.file_path


def put(fake: FakeMemory) -> None:
    fake.put(PATH, "body", capture_id=ID, source_tip="t1", content_digest=content_digest("body"))


async def look(reach: Reach) -> dict[str, tuple[Observation, ...]]:
    async with reach() as connection:
        return {
            "address": await probes.by_address(connection, "main", PATH, 5),
            "title": await probes.by_title(connection, "main", ADDRESS, 5),
            "id_search": await probes.by_id(connection, "main", ID, 5),
        }


async def test_every_way_finds_a_note_with_its_identity_and_digests(fake: FakeMemory, reach: Reach) -> None:
    put(fake)
    for way, seen in (await look(reach)).items():
        (one,) = seen
        assert (one.by, one.found, one.capture_id, one.source_tip) == (way, "note", ID, "t1")
        assert one.content_sha256 == one.declared_sha256 == content_digest("body")
        assert one.file_path == PATH


async def test_nothing_anywhere_is_seen_as_nothing(reach: Reach) -> None:
    assert [one.found for seen in (await look(reach)).values() for one in seen] == ["nothing"] * 3


async def test_a_renamed_note_is_found_by_its_identity_alone(fake: FakeMemory, reach: Reach) -> None:
    put(fake)
    fake.move(PATH, "elsewhere/other.md", forwarded=False)
    notes = fake.notes
    fake.delete("elsewhere/other.md")
    fake.put("elsewhere/other.md", "body", **notes["elsewhere/other.md"]["frontmatter"])
    seen = await look(reach)
    assert [seen[way][0].found for way in ("address", "title", "id_search")] == ["nothing", "nothing", "note"]
    assert seen["id_search"][0].file_path == "elsewhere/other.md"


async def test_a_moved_note_answers_at_its_old_address_with_its_new_path(fake: FakeMemory, reach: Reach) -> None:
    put(fake)
    fake.move(PATH, "elsewhere/tau-checkpoint-aaaa.md")
    assert (await look(reach))["address"][0].file_path == "elsewhere/tau-checkpoint-aaaa.md"


@pytest.mark.parametrize(("index", "found"), [("lag", "nothing"), ("required", "unreachable")])
async def test_a_lagging_index_hides_nothing_from_the_address(
    fake: FakeMemory, reach: Reach, index: str, found: str
) -> None:
    put(fake)
    fake.faults(index=index)
    seen = await look(reach)
    assert [seen[way][0].found for way in ("address", "title", "id_search")] == ["note", found, found]


async def test_what_the_index_has_and_the_reader_has_not_is_no_absence(fake: FakeMemory, reach: Reach) -> None:
    put(fake)
    missing = '{"file_path": null, "error": "NOTE_NOT_FOUND"}'
    fake.faults(read_note=[{"error": missing}])
    assert [one.found for one in (await look(reach))["id_search"]] == ["unreachable"]


async def test_the_index_is_proven_by_a_note_that_is_known(fake: FakeMemory, reach: Reach) -> None:
    put(fake)
    async with reach() as connection:
        assert await probes.index_finds(connection, "main", ID, 5)
        fake.faults(index="lag")
        assert not await probes.index_finds(connection, "main", ID, 5)
