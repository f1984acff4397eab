"""The seeds at rest."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from promontory.rules.ports import SealBroken
from promontory.rules.seal import AesGcmSeals, SealKeyError, create_seal_key, load_seals
from tests.support.refereeing import SEALS, SEED


def test_what_was_sealed_is_opened_with_the_same_key() -> None:
    """[event_log 5.4] The seed is stored encrypted with a key the rules service holds."""
    assert SEALS.open("match-1", SEALS.seal("match-1", SEED)) == SEED


def test_sealing_twice_gives_different_bytes() -> None:
    """A nonce never comes twice."""
    assert SEALS.seal("match-1", SEED) != SEALS.seal("match-1", SEED)


def test_a_seal_of_another_match_is_broken() -> None:
    """The match id is associated data: a sealed seed cannot be moved to another match."""
    with pytest.raises(SealBroken):
        SEALS.open("match-2", SEALS.seal("match-1", SEED))


def test_a_seal_of_another_key_is_broken() -> None:
    """AES-256-GCM authenticates."""
    with pytest.raises(SealBroken):
        AesGcmSeals(b"x" * 32).open("match-1", SEALS.seal("match-1", SEED))


@pytest.mark.parametrize("sealed", [b"", b"short", bytes(60)])
def test_what_is_no_seal_is_broken(sealed: bytes) -> None:
    """Whatever stands there, it is one error."""
    with pytest.raises(SealBroken):
        SEALS.open("match-1", sealed)


def test_a_created_key_is_private_and_usable(tmp_path: Path) -> None:
    """The key file is readable by its owner only."""
    file = tmp_path / "keys" / "seal.key"
    create_seal_key(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    sealed = load_seals(file).seal("match-1", SEED)
    assert load_seals(file).open("match-1", sealed) == SEED


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    """Logs sealed with the old one could not be read any more."""
    file = tmp_path / "seal.key"
    create_seal_key(file)
    before = file.read_bytes()
    with pytest.raises(FileExistsError):
        create_seal_key(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [None, "", "no hex", "00" * 31])
def test_a_file_without_a_key_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    """The error names the file and says what to do."""
    file = tmp_path / "seal.key"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SealKeyError, match=r"seal\.key"):
        load_seals(file)
