"""Tokens of every make: keys of players, services, an identity provider and a stranger, and what can be signed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from promontory.runtime import clock
from promontory.runtime.identity import AUDIENCE, PLAYERS, SERVICES, Accepted, SigningKey, Verifier, create_key

ABSENT = object()
"""The value of a claim or header that a token does not have."""

ALGORITHMS = {
    "EdDSA": jwt.algorithms.OKPAlgorithm,
    "RS256": jwt.algorithms.RSAAlgorithm,
    "ES256": jwt.algorithms.ECAlgorithm,
}


class Signer(msgspec.Struct, frozen=True):
    """A private key and how it signs, under the name `kid`."""

    kid: str
    algorithm: str
    private: Any

    def public(self, **members: Any) -> dict[str, Any]:
        """Return the public JWK, with `members` set in it, or left out where they are `ABSENT`."""
        plain = ALGORITHMS[self.algorithm].to_jwk(self.private.public_key(), as_dict=True)  # type: ignore[attr-defined]
        named = {**plain, "kid": self.kid, "alg": self.algorithm, "use": "sig"}
        return present({**named, **members})

    def sign(self, claims: Mapping[str, Any] | bytes, **headers: Any) -> str:
        """Return a token with `claims`; `headers` replace those it would have."""
        payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        header = present({"typ": "JWT", "alg": self.algorithm, "kid": self.kid, **headers})
        signed = f"{encoded(header)}.{_base64url(payload)}"
        algorithm: Any = jwt.get_algorithm_by_name(self.algorithm)
        return f"{signed}.{_base64url(algorithm.sign(signed.encode(), self.private))}"


class Ring(msgspec.Struct, frozen=True):
    """The keys of an installation whose players come from two issuers of keys, and a stranger's."""

    players: Signer
    services: Signer
    rsa: Signer
    elliptic: Signer
    stranger: Signer
    verifier: Verifier
    service_public: bytes
    key_files: tuple[Path, Path]

    def accepting(self, accepted: Accepted) -> Verifier:
        """Return a verifier with the same keys that accepts other tokens."""
        return Verifier(*self.key_files, accepted)

    @property
    def rsa_public(self) -> bytes:
        """The identity provider's public key, as anybody can read it."""
        return json.dumps(self.rsa.public()).encode()


def ring(directory: Path) -> Ring:
    """Return a new ring with its files in `directory`."""
    ours = signer(create_key(PLAYERS, directory / "players.key.json", directory / "ours.jwks.json"))
    services = signer(create_key(SERVICES, directory / "service.key.json", directory / "services.jwks.json"))
    provider = Signer("rsa-1", "RS256", rsa.generate_private_key(65537, 2048))
    elliptic = Signer("ec-1", "ES256", ec.generate_private_key(ec.SECP256R1()))
    players = write_key_set(directory / "players.jwks.json", *(each.public() for each in (ours, provider, elliptic)))
    files = players, directory / "services.jwks.json"
    public = (directory / "services.jwks.json").read_bytes()
    stranger = Signer("stranger", "EdDSA", Ed25519PrivateKey.generate())
    return Ring(ours, services, provider, elliptic, stranger, Verifier(*files), public, files)


def signer(key: SigningKey) -> Signer:
    """Return what signs with `key`."""
    return Signer(key.kid, "EdDSA", key.private)


def write_key_set(file: Path, *keys: Mapping[str, Any]) -> Path:
    """Write a JWKS and return its file."""
    file.write_text(json.dumps({"keys": keys}))
    return file


def claims(**changed: Any) -> dict[str, Any]:
    """Return the claims of a good token of the player ada for the next hours, except for those `changed`."""
    now = clock.now().timestamp()
    good = {"sub": "ada", "scope": "match:play", "iss": PLAYERS, "aud": AUDIENCE, "iat": now, "nbf": now}
    return present({**good, "exp": now + 20_000, **changed})


def service_claims(**changed: Any) -> dict[str, Any]:
    """Return the claims of a good token of the service matchmaking, except for those `changed`."""
    return claims(**{"sub": "service:matchmaking", "iss": SERVICES, "scope": "match:create", **changed})


def in_seconds(seconds: float) -> float:
    """Return the time that lies so far ahead, as claims tell it."""
    return (clock.now() + timedelta(seconds=seconds)).timestamp()


def with_secret(secret: bytes, content: Mapping[str, Any], **headers: Any) -> str:
    """Return a token signed with a shared secret, HS256."""
    signed = f"{encoded({'typ': 'JWT', 'alg': 'HS256', **headers})}.{encoded(content)}"
    algorithm: Any = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    return f"{signed}.{_base64url(algorithm.sign(signed.encode(), secret))}"


def encoded(value: object) -> str:
    """Return a part of a token."""
    return _base64url(json.dumps(value).encode())


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return `members` without those that are `ABSENT`."""
    return {name: value for name, value in members.items() if value is not ABSENT}


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
