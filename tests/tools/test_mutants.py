"""A survivor passes only with the explanation that fits it, and an explanation only with its survivor."""

from pathlib import Path

import pytest

from tools.mutants import EXPLAINED, Change, Tally, change, explanations, function_of, judged, results, tallies

PRINTED = """
    continuity.due.x_due__mutmut_1: killed
    continuity.due.x_due__mutmut_2: survived
    continuity.due.xǁ_Workǁkey__mutmut_1: timeout
    continuity.verdict.x_verdict__mutmut_1: no tests
    continuity.verdict.x_verdict__mutmut_2: killed
"""
DIFF = """# continuity.due.x_due__mutmut_2: survived
--- continuity/due.py
+++ continuity/due.py
@@ -1,4 +1,4 @@
 def due(state):
-    if state.closed:
+    if not state.closed:
         return None
"""
CLOSED = Change("continuity.due.due", "if state.closed:", "if not state.closed:")
OTHER = Change("continuity.due.due", "return None", "return 1")
ENOUGH = [Tally("continuity.due", 100, 95)]


def test_a_mutant_is_noticed_when_a_test_failed_or_came_to_no_end() -> None:
    assert tallies(results(PRINTED)) == [
        Tally("continuity.due", 3, 2),
        Tally("continuity.verdict", 2, 1),
        Tally("all", 5, 3),
    ]


def test_a_mutant_is_named_by_its_function_and_not_by_its_number() -> None:
    assert function_of("continuity.due.x__after__mutmut_12") == "continuity.due._after"
    assert function_of("continuity.due.xǁ_Workǁkey__mutmut_1") == "continuity.due._Work.key"


def test_a_change_is_the_lines_that_go_and_the_lines_that_come() -> None:
    assert change("continuity.due.x_due__mutmut_2", DIFF) == CLOSED


def test_enough_killed_and_every_survivor_explained_is_no_finding() -> None:
    assert judged(ENOUGH, [CLOSED], {CLOSED: "why"}) == []


def test_a_survivor_without_an_explanation_is_a_finding() -> None:
    (finding,) = judged(ENOUGH, [CLOSED, OTHER], {CLOSED: "why"})
    assert finding == "survived, unexplained: continuity.due.due\n    - return None\n    + return 1"


def test_an_explanation_that_fits_no_survivor_is_a_finding() -> None:
    (finding,) = judged(ENOUGH, [CLOSED], {CLOSED: "why", OTHER: "why not"})
    assert finding.startswith("explained, but does not survive: continuity.due.due")


@pytest.mark.parametrize(("killed", "findings"), [(950, 0), (949, 1)])
def test_a_module_with_fewer_than_95_per_cent_killed_is_a_finding(killed: int, findings: int) -> None:
    assert len(judged([Tally("continuity.due", 1000, killed)], [], {})) == findings


def test_one_explanation_may_cover_several_changes(tmp_path: Path) -> None:
    path = tmp_path / "explained.toml"
    text = '[[survivors]]\nbecause = """no\n one"""\nchanges = [["f", "a", "b"], ["f", "a", "c"]]\n'
    path.write_text(text, encoding="utf-8")
    assert explanations(path) == {Change("f", "a", "b"): "no one", Change("f", "a", "c"): "no one"}


def test_every_explanation_of_ours_says_why() -> None:
    assert all(explanations(EXPLAINED).values())
