"""The server's seeds at rest: AES-256-GCM, with the match id as associated data."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from promontory.rules.ports import SealBroken

KEY_BYTES = 32
NONCE_BYTES = 12


class SealKeyError(Exception):
    """The seal key file is missing or holds no key; the message names it and says what to do."""


class AesGcmSeals:
    """Implements `Seals` with one key; a sealed seed is nonce, ciphertext and tag."""

    def __init__(self, key: bytes) -> None:
        self._key, self._cipher = key, AESGCM(key)

    def seal(self, match_id: str, server_seed: bytes) -> bytes:
        """Return `server_seed` sealed for `match_id`."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, server_seed, match_id.encode())

    def open(self, match_id: str, sealed_seed: bytes) -> bytes:
        """Return the seed, or raise `SealBroken`."""
        nonce, ciphertext = sealed_seed[:NONCE_BYTES], sealed_seed[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, ciphertext, match_id.encode())
        except (InvalidTag, ValueError) as error:
            raise SealBroken(f"the seal key does not open the seed of match {match_id}") from error

    def derived_key(self, purpose: str) -> bytes:
        """Return a key of 32 bytes for another `purpose`, which tells nothing of this one."""
        return hmac.digest(self._key, purpose.encode(), "sha256")


def create_seal_key(file: Path) -> None:
    """Write a new key to `file` as hex, readable by its owner only.

    Never overwrites: raises `FileExistsError`.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as opened:
        opened.write(secrets.token_hex(KEY_BYTES) + "\n")


def load_seals(file: Path) -> AesGcmSeals:
    """Return the seals with the key in `file`; raise `SealKeyError` if it holds none."""
    try:
        key = bytes.fromhex(file.read_text())
    except FileNotFoundError as error:
        raise SealKeyError(f"there is no seal key at {file}: write {2 * KEY_BYTES} random hex digits there") from error
    except ValueError as error:
        raise SealKeyError(f"{file} is not a seal key: {2 * KEY_BYTES} hex digits are") from error
    if len(key) != KEY_BYTES:
        raise SealKeyError(f"{file} is not a seal key: {2 * KEY_BYTES} hex digits are")
    return AesGcmSeals(key)
