"""Forged tokens, and scopes that are not the bearer's to have."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from promontory.runtime import clock
from promontory.runtime.identity import SigningKey
from tests.support.hostile import GAME_NAMES, METHODS, Attacker, bearer, failure

Forge = Callable[[SigningKey, SigningKey], str]


def claims(**changed: Any) -> dict[str, Any]:
    """Return the claims of a good token of ada's, but for those `changed`; None leaves one out."""
    now = clock.now_ms() // 1000
    good = {"sub": "ada", "scope": "match:play", "iss": "promontory", "aud": "promontory"}
    all_of = {**good, "iat": now, "nbf": now - 5, "exp": now + 300, **changed}
    return {name: value for name, value in all_of.items() if value is not None}


def encoded(part: object) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(key: SigningKey, header: object, body: object) -> str:
    """Return a token whose signature is right, whatever it says."""
    content = f"{encoded(header)}.{encoded(body)}"
    return f"{content}.{encoded(key.private.sign(content.encode()))}"


def good(key: SigningKey, **changed: Any) -> str:
    return signed(key, {"alg": "EdDSA", "kid": key.kid}, claims(**changed))


def with_another_body(token: str) -> str:
    header, _, signature = token.split(".")
    return f"{header}.{encoded(claims(sub='ben'))}.{signature}"


def with_public_key_as_secret(key: SigningKey, public: bytes) -> str:
    content = f"{encoded({'alg': 'HS256', 'kid': key.kid})}.{encoded(claims())}"
    return f"{content}.{encoded(hmac.new(public, content.encode(), hashlib.sha256).digest())}"


def of_another_key(kid: str) -> str:
    return jwt.encode(claims(), Ed25519PrivateKey.generate(), algorithm="EdDSA", headers={"kid": kid})


FORGED: dict[str, Forge] = {
    "no algorithm": lambda player, _: f"{encoded({'alg': 'none', 'kid': player.kid})}.{encoded(claims())}.",
    "public key as secret": lambda player, _: with_public_key_as_secret(
        player, player.private.public_key().public_bytes_raw()
    ),
    "public PEM as secret": lambda player, _: with_public_key_as_secret(
        player, player.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    ),
    "another key, known kid": lambda player, _: of_another_key(player.kid),
    "another key, unknown kid": lambda *_: of_another_key("unknown"),
    "kid of the services": lambda player, service: signed(player, {"alg": "EdDSA", "kid": service.kid}, claims()),
    "kid that is a list": lambda player, _: signed(player, {"alg": "EdDSA", "kid": [player.kid]}, claims()),
    "no kid": lambda player, _: signed(player, {"alg": "EdDSA"}, claims()),
    "algorithm that is a list": lambda player, _: signed(player, {"alg": ["EdDSA"], "kid": player.kid}, claims()),
    "critical extension": lambda player, _: signed(
        player, {"alg": "EdDSA", "kid": player.kid, "crit": ["x"]}, claims()
    ),
    "header that is a list": lambda player, _: signed(player, [], claims()),
    "header without end": lambda player, _: signed(player, b"[" * 3000, claims()),
    "header that is no text": lambda player, _: signed(player, b"\xff\xfe", claims()),
    "claims that are a list": lambda player, _: signed(player, {"alg": "EdDSA", "kid": player.kid}, [1]),
    "claims without end": lambda player, _: signed(player, {"alg": "EdDSA", "kid": player.kid}, b"[" * 2000),
    "wrong audience": lambda player, _: good(player, aud="others"),
    "wrong issuer": lambda player, _: good(player, iss="others"),
    "issuer of the services": lambda player, _: good(player, iss="promontory-services"),
    "expired": lambda player, _: good(player, exp=clock.now_ms() // 1000 - 60),
    "not yet good": lambda player, _: good(player, nbf=clock.now_ms() // 1000 + 600),
    "expiry that is no time": lambda player, _: good(player, exp="soon"),
    "no expiry": lambda player, _: good(player, exp=None),
    "no subject": lambda player, _: good(player, sub=None),
    "subject that is a number": lambda player, _: good(player, sub=5),
    "subject that is a service": lambda player, _: good(player, sub="service:matchmaking"),
    "service that is a player": lambda _, service: good(service, iss="promontory-services"),
    "scopes in a list": lambda player, _: good(player, scope=["match:play"]),
    "oversize": lambda *_: "a" * 7000,
    "no token": lambda *_: "",
    "other body under a signature": lambda player, _: with_another_body(good(player)),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
async def test_forged_tokens_are_nobodys(attacker: Attacker, match_id: str, forge: Forge) -> None:
    """[event_log 5.1] All UNAUTHENTICATED, and none of them an error of the server's."""
    who = bearer(forge(attacker.player_key, attacker.service_key))
    refused = await attacker.refused("transcontinental.GetMatch", who, match_id=match_id, seat=0)
    assert (refused.code, refused.reason) == ("UNAUTHENTICATED", "TOKEN_INVALID")


@pytest.mark.parametrize("method", METHODS)
async def test_no_method_is_served_without_a_token(attacker: Attacker, method: str) -> None:
    """[event_log 5.1] A call without identity is refused."""
    assert (await failure(attacker.send(method, b"", ()))).code == "UNAUTHENTICATED"


SERVICES_ONLY = {
    **{f"{game}.CreateMatch": {"request_id": "x"} for game in GAME_NAMES},
    **{f"{game}.PlayAutomatically": {"request_id": "x", "since_version": 1} for game in GAME_NAMES},
    **{f"{game}.CancelMatch": {"request_id": "x"} for game in GAME_NAMES},
    "scoring.TallyMatch": {},
    "matchmaking.CreateTicket": {"request_id": "x", "pool": "transcontinental.ranked", "house_bot": "house-greedy-1"},
}


@pytest.mark.parametrize(("method", "fields"), SERVICES_ONLY.items())
async def test_a_players_key_gives_nobody_a_services_scope(
    attacker: Attacker, matches: Mapping[str, str], method: str, fields: dict[str, Any]
) -> None:
    """Only a service's key can give service scopes, whatever a player's token says."""
    scopes = "match:create match:automatic match:cancel match:tally pool:house house:play pool:join"
    names = METHODS[method].input_type.fields_by_name
    match_id = matches.get(method.partition(".")[0], "tc-000-a")
    request = {**fields, "match_id": match_id} if "match_id" in names else fields
    refused = await attacker.refused(method, bearer(good(attacker.player_key, scope=scopes)), **request)
    assert (refused.code, refused.reason) == ("PERMISSION_DENIED", "SCOPE_MISSING")
