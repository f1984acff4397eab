"""Who is calling: JSON Web Tokens for players and services, their keys and scopes.

Players' tokens come from the issuer that the settings name, services' from `promontory-services`; each issuer has its
own keys, so that whoever signs for players can never speak for a service.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import secrets
from contextvars import ContextVar
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.forms import PLAYER_ID, Form
from promontory.runtime.recent import Recent
from promontory.runtime.settings import ADMINS_AUDIENCE, SERVICES_ISSUER

AUDIENCE = "promontory"
ADMIN_AUDIENCE = ADMINS_AUDIENCE
"""Whom admins' tokens are for: what players call takes none of them, and the admin service no others."""
PLAYERS = "promontory"
"""Who issues players' tokens unless the settings name somebody else, and always where the platform signs them."""
SERVICES = SERVICES_ISSUER
SERVICE_PREFIX = "service:"
"""What services' subjects begin with, and no player's id."""
MAX_TOKEN_CHARACTERS = 8192
MAX_TOLD_CHARACTERS = 120
"""How much of what stands in a refused token is logged."""
NOT_YET = "not good yet"
LEEWAY_SECONDS = 5
"""By how much the clock of who issues tokens may differ from this one."""
PROVEN_TOKENS = 10_000
"""Of how many tokens a process remembers that they verified."""
SERVICE_TOKEN_LIFE = timedelta(minutes=10)

_caller: ContextVar[Caller] = ContextVar("caller")


class Scope(StrEnum):
    """What a token may be used for: the first three are players', one is admins', the others only services'."""

    JOIN_POOL = "pool:join"
    PLAY = "match:play"
    READ_HISTORY = "history:read"
    ADMIN = "admin"
    CREATE_MATCH = "match:create"
    PLAY_AUTOMATICALLY = "match:automatic"
    TALLY_MATCH = "match:tally"
    LIST_MATCH = "match:list"
    ENTER_HOUSE_BOT = "pool:house"
    PLAY_FOR_THE_HOUSE = "house:play"
    CANCEL_MATCH = "match:cancel"
    SUSPEND_PLAYER = "player:suspend"
    FORGET_PLAYER = "player:forget"
    EXPORT_PLAYER = "player:export"
    DRAIN_REPLICA = "replica:drain"


PLAYER_SCOPES = frozenset[str]({Scope.JOIN_POOL, Scope.PLAY, Scope.READ_HISTORY})
ADMIN_SCOPES = frozenset[str]({Scope.ADMIN})
SERVICE_SCOPES = frozenset[str](Scope) - PLAYER_SCOPES - ADMIN_SCOPES


class Caller(msgspec.Struct, frozen=True):
    """Who makes a call, and what the token allows.

    `subject` is the player id or the service; `account` stands for the token's own subject, and is empty for services.
    """

    subject: str
    scopes: frozenset[str]
    service: bool = False
    account: str = ""

    def require(self, scope: Scope) -> None:
        """Raise the refusal `SCOPE_MISSING` unless the token has `scope`."""
        if scope not in self.scopes:
            text = f"the token lacks the scope {scope}"
            raise Refusal(Kind.NOT_ALLOWED, "SCOPE_MISSING", text, metadata={"scope": scope})


def caller() -> Caller:
    """Return who makes the call that is being served."""
    return _caller.get()


def serve_as(who: Caller) -> None:
    """Make `who` the caller of the call that is being served in this task."""
    _caller.set(who)


class SigningKey(msgspec.Struct, frozen=True):
    """A private Ed25519 key with its id, for one issuer."""

    kid: str
    issuer: str
    private: Any

    def mint(self, subject: str, scopes: frozenset[str], *, life: timedelta, audience: str = AUDIENCE) -> str:
        """Return a signed token for `subject` with `scopes`, good for `life` from now with `audience`."""
        now = clock.now()
        claims = {
            "sub": subject,
            "scope": " ".join(sorted(scopes)),
            "iss": self.issuer,
            "aud": audience,
            "iat": now,
            "nbf": now - timedelta(seconds=5),
            "exp": now + life,
        }
        return jwt.encode(claims, self.private, algorithm="EdDSA", headers={"kid": self.kid})


class KeyFileError(Exception):
    """A file holds no usable keys; the message names it and says what to do."""


def create_key(issuer: str, private_file: Path, public_file: Path) -> SigningKey:
    """Create an Ed25519 key pair: the private JWK in `private_file` (mode 600), the JWKS in `public_file`.

    Never overwrites either: raises `FileExistsError`.
    """
    private = Ed25519PrivateKey.generate()
    kid = secrets.token_hex(8)
    public = {"kty": "OKP", "crv": "Ed25519", "kid": kid, "alg": "EdDSA", "use": "sig"}
    public["x"] = _base64url(private.public_key().public_bytes_raw())
    secret = {**public, "d": _base64url(private.private_bytes_raw()), "iss": issuer}
    private_file.parent.mkdir(parents=True, exist_ok=True)
    if private_file.exists():
        raise FileExistsError(f"{private_file} is there already and is not overwritten")
    _write_new(public_file, {"keys": [public]}, mode=0o644)
    _write_new(private_file, secret, mode=0o600)
    return load_key(private_file)


def _write_new(file: Path, content: object, *, mode: int) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as error:
        text = f"{file} is there already and is not overwritten: move it away to have new keys made"
        raise FileExistsError(text) from error
    with os.fdopen(descriptor, "w") as opened:
        opened.write(json.dumps(content, indent=1) + "\n")


def load_key(private_file: Path) -> SigningKey:
    """Return the signing key in `private_file`; raise `KeyFileError` if it holds none."""
    try:
        raw = json.loads(_read(private_file))
        key = SigningKey(kid=raw["kid"], issuer=raw["iss"], private=jwt.PyJWK(raw).key)
    except (ValueError, LookupError, TypeError, jwt.PyJWTError) as error:
        raise _unusable(private_file, "it holds no private key of ours") from error
    if not isinstance(key.private, Ed25519PrivateKey):
        raise _unusable(private_file, "its key is not a private Ed25519 key")
    return key


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise _unusable(file, error.strerror or type(error).__name__) from error


def _unusable(file: Path, problem: str) -> KeyFileError:
    remedy = "correct it, or the setting PROMONTORY_..._KEY(S)_FILE; `promontory up` makes keys where there are none"
    return KeyFileError(f"the key file {file} cannot be used: {problem}; {remedy}")


class Bearer(msgspec.Struct, frozen=True):
    """Whom a token speaks for by its own words, and when it was issued, in ms since the epoch.

    From `ends` on it is not accepted any more, in seconds since the epoch.
    """

    caller: Caller
    issued_ms: int
    ends: float = math.inf


class _Proven(msgspec.Struct, frozen=True):
    """What a token says whose signature, issuer and audience were verified; times are seconds since the epoch."""

    bearer: Bearer
    issued: float
    not_before: int
    expires: int

    def check(self, now: float, max_age: float) -> None:
        """Raise the refusal `TOKEN_INVALID` if the token is not good at `now`, or older than `max_age` seconds."""
        if self.expires <= now - LEEWAY_SECONDS:
            raise _invalid("expired")
        if max(self.not_before, int(self.issued)) > now + LEEWAY_SECONDS:
            raise _invalid(NOT_YET)
        if now - self.issued > max_age:
            raise _invalid("too old")


class Accepted(msgspec.Struct, frozen=True):
    """What tokens are accepted: with such a subject, until they are too old, whatever they say.

    Players' are by `issuer` and for `audience`, services' for `service_audience`, and by none but their own issuer.
    """

    subject: Form = PLAYER_ID
    max_age_seconds: float = 30 * 86_400
    issuer: str = PLAYERS
    audience: str = AUDIENCE
    service_audience: str = AUDIENCE


class _Trusted(msgspec.Struct, frozen=True):
    """The public keys by their ids, and what must stand in the tokens that they verify."""

    keys: dict[str, jwt.PyJWK]
    issuer: str
    audience: str
    subject: Form
    service: bool = False

    def claims(self, token: str, kid: str) -> dict[str, Any]:
        """Return what `token` says, or raise the refusal `TOKEN_INVALID`."""
        key = self.keys[kid]
        try:
            return jwt.decode(
                token,
                key=key.key,
                algorithms=[key.algorithm_name],
                audience=self.audience,
                issuer=self.issuer,
                options={"require": ["sub", "iss", "aud", "exp", "iat"]},
                leeway=LEEWAY_SECONDS,
            )
        except jwt.InvalidIssuerError as error:
            raise _of_another(token, "iss", self.issuer) from error
        except jwt.InvalidAudienceError as error:
            raise _of_another(token, "aud", self.audience) from error


class Verifier:
    """Verifies tokens against the players' and the services' public keys (JWKS files).

    Raises `KeyFileError` if a file holds no usable public key.
    """

    def __init__(self, player_keys_file: Path, service_keys_file: Path, accepted: Accepted | None = None) -> None:
        self._accepted = told = accepted or Accepted()
        services = _Trusted(_key_set(service_keys_file), SERVICES, told.service_audience, told.subject, service=True)
        self._trusted = _Trusted(_key_set(player_keys_file), told.issuer, told.audience, told.subject), services
        self._proven = Recent[bytes, _Proven](PROVEN_TOKENS)

    def verify(self, token: str) -> Caller:
        """Return who `token` speaks for, or raise the refusal `TOKEN_INVALID` with its `cause`."""
        return self.read(token).caller

    def read(self, token: str) -> Bearer:
        """Return whom `token` speaks for and since when, or raise the refusal `TOKEN_INVALID` with its `cause`.

        What a signature proves stays proven, so that a token is taken apart once and its times are checked every time.
        """
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise _invalid("too long")
        name = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        proven = self._proven.get(name)
        if proven is None:
            proven = self._prove(token)
            self._proven.keep(name, proven)
        proven.check(clock.now().timestamp(), self._accepted.max_age_seconds)
        return proven.bearer

    def _prove(self, token: str) -> _Proven:
        try:
            kid = jwt.get_unverified_header(token).get("kid", "")
            trusted = self._by(kid)
            claims = trusted.claims(token, kid)
        except jwt.ExpiredSignatureError as error:
            raise _invalid("expired") from error
        except jwt.ImmatureSignatureError as error:
            raise _invalid(NOT_YET) from error
        except jwt.MissingRequiredClaimError as error:
            raise _invalid(f"it lacks the claim {error.claim}") from error
        except (jwt.InvalidTokenError, ValueError) as error:
            raise _invalid("does not verify") from error
        issued_seconds = float(claims["iat"])
        ends = min(int(claims["exp"]) + LEEWAY_SECONDS, issued_seconds + self._accepted.max_age_seconds)
        bearer = Bearer(_caller_of(claims, trusted), int(1000 * issued_seconds), ends)
        return _Proven(bearer, issued_seconds, int(claims.get("nbf", issued_seconds)), int(claims["exp"]))

    def _by(self, kid: str) -> _Trusted:
        for trusted in self._trusted:
            if kid in trusted.keys:
                return trusted
        raise _invalid("unknown key", detail=f"its kid is {kid[:MAX_TOLD_CHARACTERS]!r}")


def _caller_of(claims: dict[str, Any], trusted: _Trusted) -> Caller:
    subject, scope = claims["sub"], claims.get("scope", "")
    if not isinstance(scope, str):
        raise _invalid("its scope must be one text, the scopes parted by spaces")
    if subject.startswith(SERVICE_PREFIX) is not trusted.service:
        raise _invalid("subject of another issuer")
    if not trusted.subject.fits(subject):
        raise _invalid(f"its subject must be {trusted.subject.words}")
    scopes = frozenset(scope.split())
    return Caller(subject, scopes if trusted.service else scopes - SERVICE_SCOPES, trusted.service)


def _of_another(token: str, claim: str, wanted: str) -> Refusal:
    """Return the refusal of a token that verifies, but by its `claim` is for others; the log is told what it says."""
    says = jwt.decode(token, options={"verify_signature": False})[claim]
    named = {"iss": "another issuer", "aud": "another audience"}[claim]
    return _invalid(named, detail=f"its {claim} is {says!r:.{MAX_TOLD_CHARACTERS}}, and is to be {wanted!r}")


def _invalid(cause: str, *, detail: str = "") -> Refusal:
    """Return the refusal `TOKEN_INVALID`; `detail` is for the log alone."""
    text = f"the token is not accepted: {cause}"
    refusal = Refusal(Kind.UNAUTHENTICATED, "TOKEN_INVALID", text, metadata={"cause": cause})
    refusal.logged = {"detail": detail} if detail else {}
    return refusal


def _key_set(file: Path) -> dict[str, jwt.PyJWK]:
    try:
        keys = jwt.PyJWKSet.from_json(_read(file)).keys
    except (ValueError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise _unusable(file, "it is no JWKS with a public key that tokens can be checked with") from error
    if any(key.key_type == "oct" for key in keys):
        raise _unusable(file, "it holds a shared secret, with which whoever checks tokens could also make them")
    named = {key.key_id: key for key in keys if key.key_id}
    if not named:
        raise _unusable(file, "none of its keys has a `kid`, by which tokens name their key")
    return named


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class ServiceIdentity:
    """A service's own identity: mints its short-lived tokens as they are needed."""

    def __init__(self, key: SigningKey, name: str, scopes: frozenset[str]) -> None:
        self._key, self._subject, self._scopes = key, f"{SERVICE_PREFIX}{name}", scopes
        self._token, self._renew_at = "", 0.0

    def token(self) -> str:
        """Return a token that is good for several minutes at least."""
        if clock.monotonic() >= self._renew_at:
            self._token = self._key.mint(self._subject, self._scopes, life=SERVICE_TOKEN_LIFE)
            self._renew_at = clock.monotonic() + SERVICE_TOKEN_LIFE.total_seconds() / 2
        return self._token
