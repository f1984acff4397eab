"""Key files: how they come to be, how keys are renewed, and what is said of unusable ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from promontory.runtime import clock
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import (
    PLAYER_SCOPES,
    PLAYERS,
    SERVICE_TOKEN_LIFE,
    SERVICES,
    KeyFileError,
    ServiceIdentity,
    Verifier,
    create_key,
    load_key,
)
from tests.support.forging import ABSENT, Signer, claims, signer, write_key_set


@pytest.fixture
def services(tmp_path: Path) -> Path:
    """A services' JWKS."""
    create_key(SERVICES, tmp_path / "service.key.json", tmp_path / "services.jwks.json")
    return tmp_path / "services.jwks.json"


def test_a_private_key_is_its_owners_alone(tmp_path: Path) -> None:
    create_key(PLAYERS, tmp_path / "new" / "players.key.json", tmp_path / "new" / "players.jwks.json")
    assert (tmp_path / "new" / "players.key.json").stat().st_mode & 0o777 == 0o600


def test_a_public_file_holds_nothing_private(tmp_path: Path) -> None:
    create_key(PLAYERS, tmp_path / "private", tmp_path / "public")
    (key,) = json.loads((tmp_path / "public").read_text())["keys"]
    assert key.keys() == {"kty", "crv", "kid", "alg", "use", "x"}


@pytest.mark.parametrize("there", [{"private"}, {"public"}, {"private", "public"}])
def test_no_key_file_is_ever_overwritten(tmp_path: Path, there: set[str]) -> None:
    """Also not the JWKS of an identity provider, beside which there is no private key."""
    [(tmp_path / name).write_text("mine") for name in there]
    with pytest.raises(FileExistsError, match="is there already and is not overwritten"):
        create_key(PLAYERS, tmp_path / "private", tmp_path / "public")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == dict.fromkeys(there, "mine")


def test_two_keys_differ(tmp_path: Path) -> None:
    one, two = (create_key(PLAYERS, tmp_path / f"{n}.key", tmp_path / f"{n}.jwks") for n in range(2))
    assert one.kid != two.kid


def test_a_key_is_read_back_as_it_was_created(tmp_path: Path, services: Path) -> None:
    created = create_key(PLAYERS, tmp_path / "private", tmp_path / "public")
    loaded = load_key(tmp_path / "private")
    token = loaded.mint("ada", PLAYER_SCOPES, life=timedelta(minutes=1))
    assert (loaded.kid, loaded.issuer) == (created.kid, PLAYERS)
    assert Verifier(tmp_path / "public", services).verify(token).scopes == PLAYER_SCOPES


def test_while_keys_are_renewed_both_are_good(tmp_path: Path, services: Path) -> None:
    """A rotation: the new key joins the set, tokens of both are accepted, then the old one leaves it."""
    old, new = (signer(create_key(PLAYERS, tmp_path / f"{n}.key", tmp_path / f"{n}.jwks")) for n in range(2))
    both = Verifier(write_key_set(tmp_path / "both.jwks", old.public(), new.public()), services)
    after = Verifier(write_key_set(tmp_path / "after.jwks", new.public()), services)
    tokens = [old.sign(claims()), new.sign(claims())]
    assert [both.verify(token).subject for token in tokens] == ["ada", "ada"]
    assert after.verify(tokens[1]).subject == "ada"
    with pytest.raises(Refusal, match="unknown key"):
        after.verify(tokens[0])


def test_keys_for_other_uses_are_passed_over(tmp_path: Path, services: Path) -> None:
    """Identity providers list keys to encrypt with, and kinds we do not know, beside those that sign."""
    ours = signer(create_key(PLAYERS, tmp_path / "private", tmp_path / "public"))
    provider = Signer("enc-1", "RS256", rsa.generate_private_key(65537, 2048))
    others = [provider.public(alg="RSA-OAEP", use="enc"), {"kty": "AKP", "alg": "ML-DSA-44", "kid": "new", "pub": "AA"}]
    verifier = Verifier(write_key_set(tmp_path / "players.jwks", *others, ours.public()), services)
    assert verifier.verify(ours.sign(claims())).subject == "ada"
    with pytest.raises(Refusal, match="unknown key"):
        verifier.verify(provider.sign(claims()))


def test_a_key_need_not_say_its_algorithm(tmp_path: Path, services: Path) -> None:
    """[RFC 7517 4.4] `alg` is optional: the kind of key says it."""
    signers = [
        Signer("rsa", "RS256", rsa.generate_private_key(65537, 2048)),
        Signer("ec", "ES256", ec.generate_private_key(ec.SECP256R1())),
        Signer("okp", "EdDSA", Ed25519PrivateKey.generate()),
    ]
    keys = [each.public(alg=ABSENT, use=ABSENT) for each in signers]
    verifier = Verifier(write_key_set(tmp_path / "players.jwks", *keys), services)
    assert [verifier.verify(each.sign(claims())).subject for each in signers] == ["ada"] * 3


GOOD = Signer("good", "EdDSA", Ed25519PrivateKey.generate())
SECRET = {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA", "kid": "shared", "alg": "HS256"}

UNUSABLE_SETS = {
    "empty": ("", "no JWKS"),
    "no JSON": ("{", "no JWKS"),
    "a list": ("[]", "no JWKS"),
    "no keys": ('{"keys": []}', "no JWKS"),
    "keys that are none": ('{"keys": [1, "x"]}', "no JWKS"),
    "a single key": (json.dumps(GOOD.public()), "no JWKS"),
    "keys without names": (json.dumps({"keys": [GOOD.public(kid=ABSENT)]}), "kid"),
    "a shared secret": (json.dumps({"keys": [GOOD.public(), SECRET]}), "shared secret"),
    "not text": ("\udcff", "no JWKS"),
}


@pytest.mark.parametrize(("text", "problem"), UNUSABLE_SETS.values(), ids=UNUSABLE_SETS.keys())
def test_an_unusable_key_set_is_named_with_its_problem(tmp_path: Path, services: Path, text: str, problem: str) -> None:
    """The process does not start: it would refuse everybody, or worse, accept anybody."""
    (tmp_path / "players.jwks.json").write_text(text, errors="surrogateescape")
    with pytest.raises(KeyFileError, match=rf"players\.jwks\.json cannot be used: .*{problem}"):
        Verifier(tmp_path / "players.jwks.json", services)


UNUSABLE_KEYS = {
    "empty": lambda key: "",
    "no JSON": lambda key: "{",
    "a number": lambda key: "7",
    "a list": lambda key: "[]",
    "no issuer": lambda key: json.dumps({name: key[name] for name in key if name != "iss"}),
    "no name": lambda key: json.dumps({name: key[name] for name in key if name != "kid"}),
    "the public half": lambda key: json.dumps({name: key[name] for name in key if name != "d"}),
    "a broken key": lambda key: json.dumps({**key, "d": "AAAA"}),
    "another kind of key": lambda key: json.dumps({**SECRET, "iss": PLAYERS}),
}


@pytest.mark.parametrize("spoil", UNUSABLE_KEYS.values(), ids=UNUSABLE_KEYS.keys())
def test_an_unusable_private_key_is_named_with_its_file(tmp_path: Path, spoil: Callable[[dict[str, Any]], str]) -> None:
    create_key(PLAYERS, tmp_path / "players.key.json", tmp_path / "public")
    file = tmp_path / "players.key.json"
    file.write_text(spoil(json.loads(file.read_text())))
    with pytest.raises(KeyFileError, match=r"players\.key\.json cannot be used"):
        load_key(file)


@pytest.mark.parametrize("use", [load_key, lambda file: Verifier(file, file)])
@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_key_file_that_cannot_be_read_is_named_with_what_makes_one(
    tmp_path: Path, use: Callable[[Path], object], name: str
) -> None:
    with pytest.raises(KeyFileError, match=r"cannot be used: (No such file|Is a directory).*`promontory up`"):
        use(tmp_path / name)


class Hours:
    """A clock that a test winds."""

    def __init__(self) -> None:
        self.seconds = clock.monotonic()

    def __call__(self) -> float:
        return self.seconds


def test_a_service_renews_its_token_when_half_its_life_is_over(
    tmp_path: Path, services: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token it has is good for minutes whenever it is used, and not minted for each call."""
    hours, life = Hours(), SERVICE_TOKEN_LIFE.total_seconds()
    monkeypatch.setattr(clock, "monotonic", hours)
    own = ServiceIdentity(load_key(tmp_path / "service.key.json"), "relay", frozenset({"match:automatic"}))
    first = own.token()
    hours.seconds += life / 2 - 1
    assert own.token() == first
    hours.seconds += 2
    monkeypatch.setattr(clock, "now", lambda before=clock.now: before() + timedelta(seconds=life / 2 + 1))
    renewed = own.token()
    assert renewed != first
    content = jwt.decode(renewed, options={"verify_signature": False})
    assert (content["sub"], content["scope"], content["exp"] - content["iat"]) == (
        "service:relay",
        "match:automatic",
        life,
    )
