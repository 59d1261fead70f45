"""The command `resolve`: records what a person decided of one open thing, and makes the new attempt it may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from continuity.cli.common import ask, in_option, our_server, refer_to_owner, reported, run, standing_named
from continuity.cli.texts import DONE, announce, print_json, show_sent
from continuity.console import FINDINGS, MISUSE, fail, helped, json_option, out, say

if TYPE_CHECKING:
    from continuity.commands import Resolve, ResolveCall
    from continuity.shell.online import Standing
    from continuity.shell.unattended import Visitor
    from journal.events.writes import Decision
    from journal.ids import Sha256


@click.command(
    short_help="Record what you decided about a write or a call.",
    help=helped(
        """
        continuity resolve 3f2a9c1b04 --abandon --reason "the work moved on"
        continuity resolve 3f2a9c1b04 --rewrite --reason "proven lost" --yes
        continuity resolve 3f2a9c1b04 --accept --reason "I read the note at its address"
        """,
        """
        Settle what reading could not, with a reason that is kept. Nothing recorded before is changed.

        --accept counts the note that a probe found as done, --abandon lets go of it, --rewrite sends it once more, as a
        new note from the text that is kept; that is allowed only where nothing is stored and nothing can land any more.
        For a tool call only the first two are possible. What is decided to be sent again and was not sent yet, because
        memory could not be reached, is sent by --rewrite, without a second decision and its reason.

        What a running session has open is settled there, with /bm-pending.
        """,
    ),
)
@click.argument("reference", metavar="REF")
@click.option("--accept", "decision", flag_value="accept", help="Count what was found as done.")
@click.option("--abandon", "decision", flag_value="abandon", help="Let go of it.")
@click.option("--rewrite", "decision", flag_value="rewrite", help="Send it again, once, as a new note.")
@click.option("--reason", metavar="TEXT", help="Why; kept masked in the journal.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@in_option
@json_option
@reported
def resolve(
    reference: str, *, decision: Decision | None, reason: str | None, yes: bool, where: Path | None, as_json: bool
) -> None:
    """Record what you decided about a write or a call."""
    from continuity.shell.online import visitor

    if decision is None:
        fail("nothing was decided", "say --accept, --abandon or --rewrite", MISUSE)
    reason = _reason(reason)
    if not reason and decision != "rewrite":
        _needs_reason()
    standing = standing_named(reference, where)
    decided = standing.item.unsent and decision == "rewrite"
    if not reason and not decided:
        _needs_reason()
    _unattended(standing)
    comes = visitor()
    if not decided:
        _allowed(standing, decision, reason, comes)
    if decision == "rewrite":
        _has_text(standing)
    announce(standing, decision)
    if not yes:
        ask("nothing was recorded", "say --yes to do it")
    _carried_out(standing, decision, reason, comes, as_json=as_json)


def _reason(typed: str | None) -> str:
    """Return the reason as it is kept: empty if nobody could read anything in it."""
    from continuity.pending import legible, too_long

    reason = (typed or "").strip()
    trouble = too_long(reason)
    if trouble is not None:
        fail(trouble, "say it shorter; nothing was recorded", MISUSE)
    return reason if legible(reason) else ""


def _needs_reason() -> NoReturn:
    fail("a decision needs its reason", "say --reason TEXT", MISUSE)


def _unattended(standing: Standing) -> None:
    from journal.errors import JournalLocked
    from journal.lock import holder

    owner = holder(standing.left.path)
    if owner.live:
        refer_to_owner(JournalLocked(standing.left.path, owner.record))


def _allowed(standing: Standing, decision: Decision, reason: str, comes: Visitor) -> None:
    """Ask the core whether the decision may be made, before anybody is asked to agree to it."""
    from continuity.commands import CommandRejected
    from continuity.decide import decide
    from continuity.shell.settling import settlement
    from continuity.shell.unattended import once_opened

    item, short = standing.item, standing.item.short
    try:
        command, _ = settlement(item, decision, reason)
        decide(once_opened(standing.left.states[item.branch], comes), command)
    except CommandRejected as refused:
        hint = f"`continuity probe {short}` reads now" if item.readable else "--accept or --abandon it"
        fail(f"{short} cannot be settled so: {refused.reason}", hint, FINDINGS)


def _has_text(standing: Standing) -> None:
    from continuity.shell.online import is_filed
    from journal.reader import open_reader

    capture, short = standing.capture, standing.item.short
    with open_reader(standing.left.path) as reader:
        kept = reader.digests()
    if capture is None or capture.handoff_sha256 not in kept:
        what = f"the text of {short} was erased, so it cannot be written again; nothing was changed"
        fail(what, "--abandon lets go of it", FINDINGS)
    if not is_filed(standing, kept):
        what = f"which checkout {short} is of was erased, so it cannot be written again from here; nothing was changed"
        fail(what, f"start its session there and say `/bm-pending rewrite {short}`; --abandon lets go of it", FINDINGS)


def _carried_out(standing: Standing, decision: Decision, reason: str, comes: Visitor, *, as_json: bool) -> None:
    """Record the decision, and make the new attempt it may ask for."""
    from continuity.cli.shapes import resolved
    from continuity.commands import CommandRejected
    from continuity.shell.online import Rewriting, decided
    from continuity.shell.settling import settlement

    how, sends = None, decision == "rewrite"
    command: Resolve | ResolveCall | None = None
    bodies: Mapping[Sha256, str] = {}
    if not (sends and standing.item.unsent):
        command, bodies = settlement(standing.item, decision, reason)
    if sends:
        settings, spec = our_server()
        how = Rewriting(spec, settings, _Stderr())
    try:
        sent = run(lambda: decided(standing, command, bodies, comes, how))
    except CommandRejected as refused:
        fail(
            f"{standing.item.short} was not settled: {refused.reason}",
            "look again with `continuity unproven`",
            FINDINGS,
        )
    view = resolved(standing, decision, sent)
    if as_json:
        print_json(view)
    else:
        out(f"{standing.item.short}: {DONE[decision]}")
    if sent is not None:
        raise click.exceptions.Exit(show_sent(standing, sent, as_json=as_json))


class _Stderr:
    """Says what the machine has to say. What concerns a session alone is not said, and what came of it is said once."""

    def say(self, topic: str, text: str, level: str = "info") -> None:
        del level
        if not topic.startswith(("save:", "destination:")):
            say(text)

    def at_once(self, topic: str, text: str, level: str = "info") -> None:
        self.say(topic, text, level)

    def answer(self, text: str, level: str = "info") -> None:
        del level
        say(text)
