"""Whose tokens are accepted, and for what; no other token gets anybody anything."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from promontory.admin import main as admin
from promontory.runtime import clock, server
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.forms import SUBJECT
from promontory.runtime.identity import (
    ADMIN_AUDIENCE,
    MAX_TOKEN_CHARACTERS,
    PLAYER_SCOPES,
    PLAYERS,
    SERVICE_SCOPES,
    SERVICES,
    Accepted,
    Caller,
    caller,
    serve_as,
)
from promontory.runtime.settings import AdminSettings, ServerSettings
from tests.support.forging import ABSENT, Ring, claims, encoded, in_seconds, ring, service_claims, with_secret

Forge = Callable[[Ring], str]
REQUIRED = ("sub", "iss", "aud", "exp", "iat")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Ring:
    """Everybody's keys."""
    return ring(tmp_path_factory.mktemp("keys"))


def changed(token: str, part: int, position: int) -> str:
    """Return `token` with one character of a part replaced by another."""
    parts = token.split(".")
    old = parts[part][position]
    parts[part] = parts[part][:position] + ("A" if old != "A" else "B") + parts[part][position + 1 :]
    return ".".join(parts)


def player(content: dict[str, Any] | bytes, **headers: Any) -> Forge:
    """Return the forging of a token with the players' key: what only `content` and `headers` can make wrong."""
    return lambda keys: keys.players.sign(content, **headers)


def service(content: dict[str, Any]) -> Forge:
    """Return the forging of a token with the services' key."""
    return lambda keys: keys.services.sign(content)


FORGED: dict[str, Forge] = {
    # no token at all
    "empty": lambda keys: "",
    "one word": lambda keys: "password",
    "two parts": lambda keys: keys.players.sign(claims()).rpartition(".")[0],
    "four parts": lambda keys: keys.players.sign(claims()) + ".x",
    "only dots": lambda keys: "..",
    "no base64": lambda keys: "$.$.$",
    "not ASCII": lambda keys: "ädä.ädä.ädä",
    "a half of a surrogate": lambda keys: "\ud800.x.y",
    "a header that is no object": lambda keys: f"{encoded([])}.{encoded(claims())}.x",
    "a header of brackets": lambda keys: base64.b64encode(b"[" * 5000).decode().rstrip("=") + ".e30.x",
    "too long": lambda keys: keys.players.sign(claims(padding="x" * MAX_TOKEN_CHARACTERS)),
    # not signed, or not with the key it names
    "no algorithm": lambda keys: f"{encoded({'alg': 'none', 'kid': keys.players.kid})}.{encoded(claims())}.",
    "no ALGORITHM": lambda keys: f"{encoded({'alg': 'None', 'kid': keys.players.kid})}.{encoded(claims())}.",
    "no algorithm in the header": player(claims(), alg=ABSENT),
    "a list of algorithms": player(claims(), alg=["EdDSA"]),
    "no signature": lambda keys: keys.players.sign(claims()).rpartition(".")[0] + ".",
    "another token's signature": lambda keys: ".".join(
        [*keys.players.sign(claims(sub="eve")).split(".")[:2], keys.players.sign(claims()).split(".")[2]]
    ),
    "a changed header": lambda keys: changed(keys.players.sign(claims()), 0, 8),
    "a changed payload": lambda keys: changed(keys.players.sign(claims()), 1, 12),
    "a changed signature": lambda keys: changed(keys.players.sign(claims()), 2, 20),
    "a stranger's key": lambda keys: keys.stranger.sign(claims()),
    "a stranger's key under our name": lambda keys: keys.stranger.sign(claims(), kid=keys.players.kid),
    "a stranger's key in the header": lambda keys: keys.stranger.sign(claims(), jwk=keys.stranger.public()),
    "no key id": player(claims(), kid=ABSENT),
    "an empty key id": player(claims(), kid=""),
    "a number for a key id": player(claims(), kid=7),
    "a path for a key id": player(claims(), kid="../../dev/null"),
    "a critical extension": player(claims(), crit=["b64"], b64=False),
    # one algorithm's key as another's
    "HS256 with the services' public key": lambda keys: with_secret(
        keys.service_public, service_claims(), kid=keys.services.kid
    ),
    "HS256 with the provider's public key": lambda keys: with_secret(keys.rsa_public, claims(), kid=keys.rsa.kid),
    "HS256 with nothing": lambda keys: with_secret(b"", claims(), kid=keys.players.kid),
    "EdDSA where RS256 is due": lambda keys: keys.players.sign(claims(), kid=keys.rsa.kid),
    "RS256 where EdDSA is due": lambda keys: keys.rsa.sign(claims(), kid=keys.players.kid),
    "ES256 where RS256 is due": lambda keys: keys.elliptic.sign(claims(), kid=keys.rsa.kid),
    "RS256 that says PS256": lambda keys: keys.rsa.sign(claims(), alg="PS256"),
    # another issuer's word
    "services' issuer from players' key": player(service_claims()),
    "players' issuer from services' key": service(claims()),
    "a service by players' key and issuer": player(service_claims(iss=PLAYERS)),
    "a player by services' key and issuer": service(service_claims(sub="ada")),
    "a service by the provider's key": lambda keys: keys.rsa.sign(claims(sub="service:matchmaking")),
    "another issuer": player(claims(iss="https://elsewhere.example")),
    "a list of issuers": player(claims(iss=[PLAYERS, SERVICES])),
    "no issuer": player(claims(iss=ABSENT)),
    "another audience": player(claims(aud="elsewhere")),
    "no audience": player(claims(aud=ABSENT)),
    "an empty audience": player(claims(aud=[])),
    # not now
    "expired": player(claims(exp=in_seconds(-60))),
    "no end": player(claims(exp=ABSENT)),
    "an end that is nothing": player(claims(exp=None)),
    "an end that is a word": player(claims(exp="never")),
    "an end that is infinite": player(claims(exp=float("inf"))),
    "an end that is a list": player(claims(exp=[1])),
    "not yet": player(claims(nbf=in_seconds(36_000))),
    "a beginning that is a word": player(claims(nbf="now")),
    "a beginning that is a list": player(claims(nbf=[1])),
    "a beginning that is infinite": player(claims(nbf=float("inf"))),
    "a beginning that is nothing": player(claims(nbf=None)),
    "issued in the future": player(claims(iat=in_seconds(36_000))),
    "never issued": player(claims(iat=ABSENT)),
    "issued at a word": player(claims(iat="now")),
    "issued infinitely late": player(claims(iat=float("inf"))),
    "issued infinitely early": player(claims(iat=float("-inf"))),
    "issued at no number": player(claims(iat=float("nan"))),
    # nobody
    "no subject": player(claims(sub=ABSENT)),
    "an empty subject": player(claims(sub="")),
    "a number for a subject": player(claims(sub=7)),
    "a list of subjects": player(claims(sub=["ada"])),
    "nothing for a subject": player(claims(sub=None)),
    "a subject with a space": player(claims(sub="ada ")),
    "a subject with a line break": player(claims(sub="ada\n")),
    "a subject with a null byte": player(claims(sub="ada\x00")),
    "a subject in capitals": player(claims(sub="Ada")),
    "a subject of another script": player(claims(sub="\u0430da")),
    "a subject with a slash": player(claims(sub="ada/ben")),
    "a subject with a bar": player(claims(sub="bot|ada")),
    "half a surrogate for a subject": player(claims(sub="\ud800")),
    "a subject of 65 characters": player(claims(sub="a" * 65)),
    "a service without a name": service(service_claims(sub="service")),
    # unreadable content
    "a list of scopes": player(claims(scope=["match:play"])),
    "nothing for a scope": player(claims(scope=None)),
    "a payload that is no object": player(b"[]"),
    "a payload that is no JSON": player(b"sub=ada"),
    "a payload of brackets": player(b"[" * 5000),
    "an empty payload": player(b""),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_a_forged_or_faulty_token_is_refused(keys: Ring, forge: Forge) -> None:
    """[errors TOKEN_INVALID] As unauthenticated and with a cause, whatever is wrong; the token itself is not told."""
    token = forge(keys)
    with pytest.raises(Refusal) as refused:
        keys.verifier.verify(token)
    assert (refused.value.kind, refused.value.reason) == (Kind.UNAUTHENTICATED, "TOKEN_INVALID")
    assert refused.value.metadata["cause"]
    assert len(token) < 10 or token not in refused.value.message


@pytest.mark.parametrize(
    ("forge", "cause"),
    [
        (FORGED["expired"], "expired"),
        (FORGED["too long"], "too long"),
        (FORGED["a stranger's key"], "unknown key"),
        (FORGED["an empty subject"], "its subject must be 1 to 64 of a-z, 0-9, _, -, ., :"),
        (FORGED["a list of scopes"], "its scope must be one text, the scopes parted by spaces"),
        (FORGED["a service by players' key and issuer"], "subject of another issuer"),
        (FORGED["another issuer"], "another issuer"),
        (FORGED["another audience"], "another audience"),
        (FORGED["not yet"], "not good yet"),
        (FORGED["issued in the future"], "not good yet"),
        (FORGED["a changed signature"], "does not verify"),
        *((player(claims(**{claim: ABSENT})), f"it lacks the claim {claim}") for claim in REQUIRED),
    ],
)
def test_the_cause_says_what_to_do_about_it(keys: Ring, forge: Forge, cause: str) -> None:
    """[errors TOKEN_INVALID] `cause` says why."""
    with pytest.raises(Refusal) as refused:
        keys.verifier.verify(forge(keys))
    assert refused.value.metadata == {"cause": cause}


@pytest.mark.parametrize(
    ("forge", "detail"),
    [
        (FORGED["another issuer"], "its iss is 'https://elsewhere.example', and is to be 'promontory'"),
        (FORGED["another audience"], "its aud is 'elsewhere', and is to be 'promontory'"),
        (FORGED["a stranger's key"], "its kid is 'stranger'"),
    ],
)
def test_the_log_is_told_more_than_the_caller(keys: Ring, forge: Forge, detail: str) -> None:
    """[errors TOKEN_INVALID] So that who sets a provider up sees what is amiss."""
    with pytest.raises(Refusal) as refused:
        keys.verifier.verify(forge(keys))
    assert refused.value.logged == {"detail": detail}
    assert detail not in refused.value.message


def test_what_a_token_says_is_logged_in_part_only(keys: Ring) -> None:
    with pytest.raises(Refusal) as refused:
        keys.verifier.verify(keys.players.sign(claims(iss="x" * 5000)))
    assert len(refused.value.logged["detail"]) < 200


def test_a_token_need_not_say_since_when_it_is_good(keys: Ring) -> None:
    """[RFC 9068 2.2] Many providers send no `nbf`; it is good from when it was issued."""
    assert keys.verifier.verify(keys.players.sign(claims(nbf=ABSENT))).subject == "ada"


PROVIDER, API = "https://id.example.org/realms/games/", "https://games.example.org"
ELSEWHERE = server.accepted(ServerSettings(token_issuer=PROVIDER, token_audience=API))
FOR_ADMINS = admin.accepted(AdminSettings(token_issuer=PROVIDER, token_audience=API))


def test_players_may_have_a_provider_and_an_audience_of_other_names(keys: Ring) -> None:
    """[TOKEN_ISSUER, TOKEN_AUDIENCE] As they are registered with the provider."""
    token = keys.rsa.sign(claims(iss=PROVIDER, aud=API, nbf=ABSENT))
    assert keys.accepting(ELSEWHERE).verify(token) == Caller("ada", frozenset({"match:play"}))


@pytest.mark.parametrize(
    "forge",
    [
        player(claims()),
        player(claims(iss=PROVIDER)),
        player(claims(aud=API)),
        player(claims(iss=PROVIDER.rstrip("/"), aud=API)),
        player(service_claims(aud=API)),
        service(claims(iss=PROVIDER, aud=API)),
        service(service_claims(iss=PROVIDER)),
        service(service_claims(aud=API)),
        player(claims(sub="service:relay", iss=PROVIDER, aud=API)),
    ],
)
def test_under_other_names_no_other_tokens_are_taken(keys: Ring, forge: Forge) -> None:
    """[TOKEN_ISSUER, TOKEN_AUDIENCE] Neither with the usual names, nor one key's under the names of the other."""
    with pytest.raises(Refusal):
        keys.accepting(ELSEWHERE).verify(forge(keys))


def test_admins_have_players_issuer_and_an_audience_of_their_own(keys: Ring) -> None:
    """[docs/admin.md] One provider gives both kinds of tokens; neither is of use for the other."""
    player_token, admin_token = (keys.rsa.sign(claims(iss=PROVIDER, aud=aud)) for aud in (API, ADMIN_AUDIENCE))
    assert keys.accepting(FOR_ADMINS).verify(admin_token).subject == "ada"
    with pytest.raises(Refusal):
        keys.accepting(FOR_ADMINS).verify(player_token)
    with pytest.raises(Refusal):
        keys.accepting(ELSEWHERE).verify(admin_token)


def test_services_keep_their_names_whatever_players_tokens_say(keys: Ring) -> None:
    assert keys.accepting(ELSEWHERE).verify(keys.services.sign(service_claims())).service


@pytest.mark.parametrize("kind", ["players", "rsa", "elliptic"])
def test_a_players_token_is_accepted_from_every_key_of_the_set(keys: Ring, kind: str) -> None:
    """[README, keys] The players' JWKS may hold the public keys of an identity provider: EdDSA, RS256, ES256."""
    signer = getattr(keys, kind)
    found = keys.verifier.verify(signer.sign(claims(scope="match:play history:read")))
    assert found == Caller("ada", frozenset({"match:play", "history:read"}))


def test_a_services_token_speaks_for_the_service(keys: Ring) -> None:
    found = keys.verifier.verify(keys.services.sign(service_claims()))
    assert found == Caller("service:matchmaking", frozenset({"match:create"}), service=True)


@pytest.mark.parametrize("subject", ["a", "a" * 64, "0b3e2f0c-6f5e-4c1c-9a9e-9d6f2a1b7c55", "bot:greedy-1", "a_b.c"])
def test_a_subject_may_be_any_player_id(keys: Ring, subject: str) -> None:
    """[match.proto player_id] 1 to 64 of a-z, 0-9, `_`, `-`, `.`, `:`."""
    assert keys.verifier.verify(keys.players.sign(claims(sub=subject))).subject == subject


@pytest.mark.parametrize("kind", ["players", "rsa"])
def test_no_players_key_gives_a_service_scope(keys: Ring, kind: str) -> None:
    """Only a service key can give them: whoever signs for players may write what he likes."""
    wanted = " ".join(sorted(SERVICE_SCOPES | PLAYER_SCOPES))
    found = keys.verifier.verify(getattr(keys, kind).sign(claims(scope=wanted)))
    assert (found.scopes, found.service) == (PLAYER_SCOPES, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": ABSENT},
        {"scope": ""},
        {"scope": "  "},
    ],
)
def test_a_token_without_scopes_allows_nothing(keys: Ring, changes: dict[str, Any]) -> None:
    """[errors SCOPE_MISSING] Everything else is refused with the scope that is missing."""
    found = keys.verifier.verify(keys.players.sign(claims(**changes)))
    with pytest.raises(Refusal) as refused:
        found.require("match:play")
    assert (refused.value.kind, refused.value.reason) == (Kind.NOT_ALLOWED, "SCOPE_MISSING")
    assert refused.value.metadata == {"scope": "match:play"}


@pytest.mark.parametrize("audience", ["promontory", ["elsewhere", "promontory"]])
def test_a_token_may_be_for_others_as_well(keys: Ring, audience: str | list[str]) -> None:
    """[RFC 7519 4.1.3] The audience is one name or a list of them."""
    assert keys.verifier.verify(keys.players.sign(claims(aud=audience))).subject == "ada"


@pytest.mark.parametrize(("claim", "seconds"), [("exp", -3), ("nbf", 3), ("iat", 3)])
def test_clocks_may_differ_by_a_few_seconds(keys: Ring, claim: str, seconds: int) -> None:
    """Machines' clocks are never quite equal."""
    assert keys.verifier.verify(keys.players.sign(claims(**{claim: in_seconds(seconds)}))).subject == "ada"


def test_a_token_tells_when_it_was_issued(keys: Ring) -> None:
    """[TOKEN_REVOKED] So that those from before a revocation can be told from later ones."""
    issued = in_seconds(-30)
    assert keys.verifier.read(keys.players.sign(claims(iat=issued))).issued_ms == int(1000 * issued)


def test_a_token_is_accepted_for_so_long_whatever_it_says(keys: Ring) -> None:
    """[MAX_TOKEN_AGE_SECONDS] So that revocations need not be kept for ever."""
    verifier = keys.accepting(Accepted(max_age_seconds=60))
    young, old = (keys.players.sign(claims(iat=in_seconds(-age), exp=in_seconds(1000))) for age in (50, 70))
    assert verifier.verify(young).subject == "ada"
    with pytest.raises(Refusal) as refused:
        verifier.verify(old)
    assert refused.value.metadata == {"cause": "too old"}


@pytest.mark.parametrize(
    ("seconds", "max_age", "cause"),
    [(90, 1000, "expired"), (40, 30, "too old"), (-60, 1000, "not good yet")],
)
def test_a_token_that_was_accepted_before_is_judged_by_the_time_again(
    keys: Ring, monkeypatch: pytest.MonkeyPatch, seconds: int, max_age: int, cause: str
) -> None:
    """[errors TOKEN_INVALID] Only what a signature proves is remembered."""
    verifier, token = keys.accepting(Accepted(max_age_seconds=max_age)), keys.players.sign(claims(exp=in_seconds(60)))
    then = clock.now() + timedelta(seconds=seconds)
    assert verifier.verify(token).subject == "ada"
    monkeypatch.setattr(clock, "now", lambda: then)
    with pytest.raises(Refusal) as refused:
        verifier.verify(token)
    assert refused.value.metadata == {"cause": cause}


@pytest.mark.parametrize(("part", "position"), [(0, 8), (1, 12), (2, 20)])
def test_a_token_like_one_that_was_accepted_before_is_another_token(keys: Ring, part: int, position: int) -> None:
    """[errors TOKEN_INVALID] Whatever differs was not proven."""
    token = keys.players.sign(claims())
    assert keys.verifier.verify(token).subject == "ada"
    with pytest.raises(Refusal):
        keys.verifier.verify(changed(token, part, position))


def test_with_opaque_player_ids_a_subject_may_be_whatever_a_provider_calls_people(keys: Ring) -> None:
    """[PLAYER_IDS] It goes no further than the directory of players."""
    token = keys.players.sign(claims(sub="Ada.Lovelace+games@example.org"))
    assert keys.accepting(Accepted(SUBJECT)).verify(token).subject == "Ada.Lovelace+games@example.org"
    with pytest.raises(Refusal):
        keys.verifier.verify(token)


def test_the_longest_token_is_still_read(keys: Ring) -> None:
    """Identity providers write much into them."""
    content = claims(padding="")
    room = MAX_TOKEN_CHARACTERS - len(keys.players.sign(content))
    token = keys.players.sign({**content, "padding": "x" * (room * 3 // 4 - 4)})
    assert MAX_TOKEN_CHARACTERS - 16 < len(token) <= MAX_TOKEN_CHARACTERS
    assert keys.verifier.verify(token).subject == "ada"


def test_a_duplicated_claim_counts_as_its_last(keys: Ring) -> None:
    """What is signed and what is read are one: there is no second reader that could take the first."""
    twice = json.dumps(claims()).replace('"sub": "ada"', '"sub": "service:relay", "sub": "ada"').encode()
    assert keys.verifier.verify(keys.players.sign(twice)).subject == "ada"


async def test_a_call_is_served_as_its_bearer() -> None:
    serve_as(Caller("ben", frozenset()))
    assert caller() == Caller("ben", frozenset())
