"""Keys and development tokens of an installation."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from promontory.rules.seal import create_seal_key
from promontory.runtime import identity
from promontory.runtime.forms import PLAYER_ID

DEVELOPMENT_LIFE = timedelta(days=30)
SIGNING = ("admin", "matchmaking", "relay", "workers")
"""The processes that call others, and sign for themselves."""


class KeyRing:
    """The key files of one installation, in one directory of mode 700."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.player_key_file = directory / "players.key.json"
        self.player_keys_file = directory / "players.jwks.json"
        self.service_key_file = directory / "service.key.json"
        self.service_keys_file = directory / "services.jwks.json"
        self.seal_key_file = directory / "seal.key"

    def create_missing(self, *, with_players: bool = True) -> None:
        """Create the keys that are not there yet; existing ones stay, because logs and tokens need them."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if with_players and not self.player_key_file.exists():
            identity.create_key(identity.PLAYERS, self.player_key_file, self.player_keys_file)
        if not self.service_key_file.exists():
            identity.create_key(identity.SERVICES, self.service_key_file, self.service_keys_file)
        if not self.seal_key_file.exists():
            create_seal_key(self.seal_key_file)

    def require(self) -> None:
        """Raise `FileNotFoundError` unless the keys are there."""
        if not self.player_key_file.exists():
            raise FileNotFoundError(
                f"no platform keeps its keys in {self._directory}: run `promontory up` there first, or name its "
                "directory with --data-dir"
            )

    def environ(self) -> dict[str, str]:
        """Return the settings that point the processes to these keys, and say what stands in tokens by them."""
        return {
            "PROMONTORY_PLAYER_KEYS_FILE": str(self.player_keys_file),
            "PROMONTORY_TOKEN_ISSUER": identity.PLAYERS,
            "PROMONTORY_TOKEN_AUDIENCE": identity.AUDIENCE,
            "PROMONTORY_SERVICE_KEY_FILE": str(self.service_key_file),
            "PROMONTORY_SERVICE_KEYS_FILE": str(self.service_keys_file),
            "PROMONTORY_SEAL_KEY_FILE": str(self.seal_key_file),
        }

    def player_token(self, player: str, *, life: timedelta = DEVELOPMENT_LIFE) -> str:
        """Return a token that lets `player` queue, play and read.

        Raises `ValueError` for what no service would take: a name that is no player's id, or no life.
        """
        self._check(player, life)
        return identity.load_key(self.player_key_file).mint(player, identity.PLAYER_SCOPES, life=life)

    def admin_token(self, name: str, *, life: timedelta = DEVELOPMENT_LIFE) -> str:
        """Return a token with which `name` is an admin, and no player. Raises what `player_token` does."""
        self._check(name, life)
        key, scopes = identity.load_key(self.player_key_file), identity.ADMIN_SCOPES
        return key.mint(name, scopes, life=life, audience=identity.ADMIN_AUDIENCE)

    def _check(self, player: str, life: timedelta) -> None:
        if not PLAYER_ID.fits(player) or player.startswith(identity.SERVICE_PREFIX):
            raise ValueError(f"{player!r} is no player's id: it must be {PLAYER_ID.words}, and not begin with service:")
        if life <= timedelta(0):
            raise ValueError(f"a token must be good for some time, not for {life}")

    def service(self, name: str, scopes: frozenset[str]) -> identity.ServiceIdentity:
        """Return the identity of the service `name` with `scopes`."""
        return identity.ServiceIdentity(identity.load_key(self.service_key_file), name, scopes)


def create_installation(directory: Path, *, with_players: bool) -> list[Path]:
    """Create the keys that an installation of many machines lacks in `directory`, and return the files made or changed.

    Beside those of a `KeyRing`, of which `service.key.json` is left to operators' commands, these are
    `<process>/service.key.json` for each process in `SIGNING`; `services.jwks.json` holds the public keys of them all,
    and keeps those of private keys that were taken away. `with_players` makes a key to sign for players with, too.
    """
    before = _contents(directory)
    ring = KeyRing(directory)
    ring.create_missing(with_players=with_players)
    private = [directory / name / ring.service_key_file.name for name in SIGNING]
    for file in private:
        if not file.exists():
            public = file.with_name(ring.service_keys_file.name)
            identity.create_key(identity.SERVICES, file, public)
            public.unlink()
    _publish(private, ring.service_keys_file)
    return sorted(file for file, content in _contents(directory).items() if before.get(file) != content)


def retire(directory: Path) -> list[str]:
    """Take the public keys whose private ones are not in `directory` from `services.jwks.json`; return their ids.

    Raises `FileNotFoundError` unless the private keys of all processes are there: else a key in use would be taken.
    """
    ring = KeyRing(directory)
    private = [ring.service_key_file, *(directory / name / ring.service_key_file.name for name in SIGNING)]
    if lacking := [str(file) for file in private if not file.exists()]:
        text = (
            f"nothing is taken away: {', '.join(lacking)} would have to be there, to tell which public keys are in use"
        )
        raise FileNotFoundError(text)
    used = {json.loads(file.read_bytes())["kid"] for file in private}
    known = json.loads(ring.service_keys_file.read_bytes())["keys"]
    if retired := [key["kid"] for key in known if key["kid"] not in used]:
        _write_keys(ring.service_keys_file, [key for key in known if key["kid"] in used])
    return retired


def _publish(private: list[Path], public_file: Path) -> None:
    """Add the public parts of `private` keys that `public_file` lacks."""
    known = json.loads(public_file.read_bytes())["keys"]
    parts = [{name: key[name] for name in known[0]} for key in (json.loads(file.read_bytes()) for file in private)]
    missing = [part for part in parts if part not in known]
    if missing:
        _write_keys(public_file, [*known, *missing])


def _write_keys(public_file: Path, keys: list[dict[str, str]]) -> None:
    partial = public_file.with_name(public_file.name + ".partial")
    partial.write_text(json.dumps({"keys": keys}, indent=1) + "\n", "utf-8")
    partial.replace(public_file)


def _contents(directory: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()}
