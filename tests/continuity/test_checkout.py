"""A checkpoint is coding work only where git confirmed root, branch and commit; what is not so has one reason in our words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from continuity.checkout import (
    REASONS,
    Filed,
    Lookup,
    Remote,
    Said,
    Unconfirmed,
    around,
    explained,
    filed,
    lookup,
    remote,
)
from continuity.profile import GitFacts, Profile

PROFILE = Profile(
    kind="coding",
    project="main",
    read_projects=(),
    repository="ada/one",
    root="/w/one",
    scope="ada/one",
    cwd="/w/one/src",
    checkpoint_folder="tau/one",
)
SHA = "9f439ea1b2c3d4e5f60718293a4b5c6d7e8f9012"
SAID = Said(at_root=True, head="refs/heads/topic/peg", sha=SHA)
OURS = Remote("origin", "github.com", "ada/one")
FORK = Remote("origin", "github.com", "eve/one")


def test_root_branch_and_commit_make_a_coding_checkpoint() -> None:
    assert filed(PROFILE, SAID) == Filed(
        profile=PROFILE, git=GitFacts(root="/w/one", branch="topic/peg", sha=SHA), why=None, elsewhere=None
    )


def test_a_commit_may_be_named_by_the_longer_digest() -> None:
    assert filed(PROFILE, replace(SAID, sha="a" * 64)).git is not None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(trouble="no-folder"), "no-folder"),
        (Said(trouble="nested"), "nested"),
        (Said(trouble="no-git"), "no-git"),
        (Said(trouble="no-answer"), "no-answer"),
        (replace(SAID, at_root=None), "no-repository"),
        (replace(SAID, at_root=False), "other-root"),
        (replace(SAID, head=None), "no-branch"),
        (replace(SAID, head="refs/remotes/origin/peg"), "no-branch"),
        (replace(SAID, sha=None), "no-commit"),
        (replace(SAID, sha=SHA[:-1]), "no-commit"),
        (replace(SAID, sha="a" * 63), "no-commit"),
        (replace(SAID, sha=SHA.upper()), "no-commit"),
    ],
)
def test_what_is_not_confirmed_is_general_work_under_the_repositorys_name(said: Said, why: Unconfirmed) -> None:
    found = filed(PROFILE, said)
    assert found == Filed(profile=replace(PROFILE, kind="general"), why=why)
    assert (found.profile.project, found.profile.scope, found.profile.checkpoint_folder) == (
        "main",
        "ada/one",
        "tau/one",
    )
    assert explained(found) == (f"filed as general work of ada/one: {REASONS[why]}",)


@pytest.mark.parametrize(
    ("url", "host", "repository"),
    [
        ("https://github.com/ada/one.git", "github.com", "ada/one"),
        ("https://ada:secret@GitHub.com:443/ada/one/", "github.com", "ada/one"),
        ("https://github.com/ada/one?token=secret", "github.com", "ada/one"),
        ("git@github.com:ada/one.git", "github.com", "ada/one"),
        ("ssh://git@ssh.github.com:443/ada/one.git", "github.com", "ada/one"),
        ("work:ada/one", "work", "ada/one"),
        ("https://gitlab.example/group/sub/one.git", "gitlab.example", "sub/one"),
        ("https://example.org/one.git", "example.org", None),
        ("https://secret@example.org", "example.org", None),
        ("git:secret@example.org:ada/one", "git", None),
        ("/srv/ada/one.git", "", "ada/one"),
        ("../other/one", "", "other/one"),
        ("file:///srv/ada/one", "", "ada/one"),
        ("./a:b/c", "", None),
        ("", "", None),
    ],
)
def test_of_a_remotes_url_host_and_last_two_names_are_kept(url: str, host: str, repository: str | None) -> None:
    assert remote("origin", url) == Remote("origin", host, repository)


@pytest.mark.parametrize(
    ("remotes", "elsewhere"),
    [
        ((), None),
        ((OURS,), None),
        ((Remote("origin", "github.com", "Ada/One"),), None),
        ((FORK,), "eve/one"),
        ((FORK, Remote("upstream", "github.com", "ada/one")), None),
        ((Remote("a", "github.com", "bob/one"), FORK), "eve/one"),
        ((Remote("a", "github.com", "bob/one"),), "bob/one"),
        ((Remote("origin", "", "work/one"),), None),
        ((Remote("origin", "example.org", None),), None),
    ],
)
def test_a_remote_of_another_name_is_noticed_where_none_has_ours(
    remotes: tuple[Remote, ...], elsewhere: str | None
) -> None:
    found = filed(PROFILE, replace(SAID, remotes=remotes))
    assert (found.elsewhere, found.profile) == (elsewhere, PROFILE)


def test_a_name_of_the_users_own_is_compared_with_no_remote() -> None:
    assert filed(replace(PROFILE, repository="thesis"), replace(SAID, remotes=(FORK,))).elsewhere is None
    assert filed(replace(PROFILE, repository=None, root=None), replace(SAID, remotes=(FORK,))).elsewhere is None


def test_a_changed_remote_is_explained_beside_why_the_work_is_general_and_a_credential_in_it_is_masked() -> None:
    told = explained(filed(PROFILE, replace(SAID, head=None, remotes=(FORK,))))
    assert told[0].startswith("filed as general work of ada/one: ")
    assert told[1] == "git's remote names eve/one; work is filed as ada/one, as the settings say"
    token = "ghp_" + "R7x2Lq9Zt4Wm1Vb8Kc3Nd6Pf5Hj0Gs2Ya1Eu"
    masked = explained(Filed(profile=PROFILE, elsewhere=f"eve/{token}"))
    assert token not in masked[0]


def test_what_is_as_approved_needs_no_explanation() -> None:
    assert explained(filed(PROFILE, replace(SAID, remotes=(OURS,)))) == ()
    assert around(PROFILE) is None


def test_a_checkout_that_is_not_approved_is_named_with_what_helps() -> None:
    inner = replace(PROFILE, unapproved="/w/one/inner")
    assert around(inner) == (
        "/w/one/inner is a repository of its own inside the approved checkout of ada/one: "
        "general work of that one, until `continuity setup` approves it"
    )
    assert around(replace(inner, unapproved="/w")) == (
        "what is approved as ada/one is a folder inside the checkout /w: general work of that name, until "
        "`continuity setup` approves the checkout"
    )
    assert around(replace(inner, kind="general", root=None, unapproved="/w/tree")) == (
        "the checkout /w/tree is not approved, so its work is general; `continuity setup` approves it"
    )


@pytest.mark.parametrize(
    ("repository", "branch", "remotes", "hosts", "found"),
    [
        ("ada/one", "peg", (OURS,), (), Lookup("github.com/ada/one", "peg")),
        ("https://github.com/ada/one.git", "peg", (OURS,), (), Lookup("github.com/ada/one", "peg")),
        ("ada/one", "peg", (FORK, OURS._replace(name="up")), (), Lookup("github.com/ada/one", "eve:peg")),
        ("ada/one", "peg", (Remote("origin", "b.org", "eve/one"), OURS), (), Lookup("github.com/ada/one", "peg")),
        ("ada/one", "peg", (OURS._replace(host="ghe.org"),), ("ghe.org",), Lookup("ghe.org/ada/one", "peg")),
        ("ghe.org/ada/one", "peg", (OURS._replace(host="ghe.org"),), (), Lookup("ghe.org/ada/one", "peg")),
        ("https://Ghe.org/ada/one", "peg", (OURS._replace(host="ghe.org"),), (), Lookup("ghe.org/ada/one", "peg")),
        ("ada/one", "peg", (OURS._replace(host="ghe.org"),), (), None),
        ("group/sub/one", "peg", (Remote("origin", "group", "sub/one"),), (), None),
        ("ada/one", "peg", (FORK,), (), None),
        ("ada/one", "peg", (), (), None),
        ("one", "peg", (OURS,), (), None),
        ("ada/one", "12", (OURS,), (), None),
        ("ada/one", "#12", (OURS,), (), None),
        ("ada/one", "12a", (OURS,), (), Lookup("github.com/ada/one", "12a")),
        ("ada/one", "peg", (OURS, OURS._replace(repository=None)), (), Lookup("github.com/ada/one", "peg")),
    ],
)
def test_a_pull_request_is_looked_for_only_where_settings_and_remote_agree_and_the_user_trusts_the_host(
    repository: str, branch: str, remotes: tuple[Remote, ...], hosts: tuple[str, ...], found: Lookup | None
) -> None:
    assert lookup(repository, branch, remotes, hosts) == found
