"""The vendors' forms are what the kept list says, taken over into expressions that cannot be made to cost much."""

import re
from random import Random

import pytest

from continuity.privacy.vendor import FORMS, NAMES, SOURCE
from tools.vendor_rules.__main__ import PACKAGE, ROOT, TARGET, main, text
from tools.vendor_rules.forms import drawn, prefixes, secret_of, shortest, written
from tools.vendor_rules.patterns import Unsupported, parsed


def test_the_module_is_what_the_installed_list_says() -> None:
    assert main(["--check"]) == 0


def test_a_module_that_is_not_current_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.vendor_rules.__main__.TARGET", "continuity/privacy/names.py")
    assert main(["--check"]) == 1
    assert capsys.readouterr().out == "continuity/privacy/names.py\n"


def test_the_notice_names_where_the_rules_are_from() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert SOURCE.startswith(PACKAGE)
    for said in (
        TARGET,
        PACKAGE,
        "Betterleaks",
        "MIT",
        "OSV-SCALIBR",
        "Apache License",
        "Permission is hereby granted",
    ):
        assert said in notice
    assert text().count("\n") < 400


def test_no_expression_repeats_what_repeats() -> None:
    assert len(FORMS) > 200
    assert len(NAMES) > 80
    for _, _, form, _ in FORMS:
        bare = re.sub(r"\[(?:\\.|[^\]])*\]|\\.", "x", form)
        assert "*" not in bare
        for repeated in re.findall(r"\(\?:([^()]*)\)\{", bare):
            assert "}" not in repeated.replace("}+", ""), form  # what gives nothing back may be repeated


@pytest.mark.parametrize(
    ("rule", "form"),
    [
        (r"\b(ghp_[0-9a-z]{36})(?:['\"]|$)", "ghp_[0-9a-z]{36}"),
        (r"(?i)\b(ab_[a-f]{2,4})\b", "ab_[A-Fa-f]{2,4}+"),
        (r"x-(?i)[a-c]+(?-i:d)", "x-[A-Ca-c]{1,1024}+d"),
        (r"(?:^|[^a-z])(q[[:alnum:]]{3}\x2d)", r"q[0-9A-Za-z]{3}-"),
        (r"(?:one|two)_\d{3}?", "(?:one|two)_[0-9]{3}"),
        (r"k(?:-[0-9]{2,3}){3}", "k(?:-[0-9]{2,3}+){3}"),
        (r"(?P<t>v[\w]{3}[^\s!-~]?)", r"v[0-9A-Z_a-z]{3}" + written(parsed(r"[^\s!-~]?"))),
        (r"a[b\]]{1,3}b", r"a[\]b]{1,3}b"),
    ],
)
def test_a_rule_is_taken_over_without_its_edges_and_without_ways_to_match(rule: str, form: str) -> None:
    assert written(secret_of(parsed(rule))) == form


@pytest.mark.parametrize(
    "rule", [r"(?=a)b", r"(a)\1", r"(?x)a", "(a", "a)", r"[a-z]{2,90}[a-z]{2,90}", r"name = (secret)", r"\pL", "a\\"]
)
def test_what_is_not_understood_or_could_match_in_many_ways_is_refused(rule: str) -> None:
    with pytest.raises(Unsupported):
        written(secret_of(parsed(rule)))


def test_a_form_tells_how_it_begins_how_short_it_is_and_an_example() -> None:
    node = parsed("(?:ab|cd)_(?:x_)?[0-9]{3,5}")
    assert prefixes(node) == ("ab_", "ab_x_", "cd_", "cd_x_")
    assert shortest(node) == 6
    assert re.fullmatch("(?:ab|cd)_[0-9]{3}", drawn(node, Random(1)).replace("x_", ""))  # noqa: S311 - repeatable
