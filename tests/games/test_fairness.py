"""The published test vectors of the randomness scheme `promontory/1`."""

from __future__ import annotations

import pytest

from promontory.games.fairness import BlindDraws, KeyedDraws, commitment, entropy_digest, match_key

SEED = bytes(range(32))
NONE = [b"", b""]
KEY = match_key("match-1", SEED, NONE)
THREE_SEATS = match_key("match-1", SEED, [b"", b"", b""])


def draws(game: str, key: bytes = KEY) -> KeyedDraws:
    """Return the vectors' draws of a game."""
    return KeyedDraws(key, game)


def test_the_commitment_binds_match_and_seed() -> None:
    """[fairness 2.2]."""
    assert commitment("match-1", SEED).hex() == "54771cc61edc808cc5b4bbc514a60aa877c296186f4c31fbb8da36feee9a2bed"


@pytest.mark.parametrize(
    ("entropies", "digest", "key"),
    [
        (
            NONE,
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "83d932adc8ef39fe77149c9520f6341c29e78d9e67a4f9ab1c1001f2078d5fc1",
        ),
        (
            [b"", b"", b""],
            "709e80c88487a2411e1ee4dfb9f22a861492d20c4765150c0c794abd70f8147c",
            "41bb65e1e509cdbfa48019b8f0e1f22f491af3db6c2c9f2b69bffcf54bc59ed5",
        ),
        (
            [b"\xaa", b"hello"],
            "8ef7c258c3f58784f746e9af711d8aa8f187c55fa278348232d0645f77260208",
            "67ffa99a20950bb11675ab1a94200860ad8720d2bfd013e348c463020e861e96",
        ),
    ],
)
def test_every_seats_entropy_goes_into_the_key(entropies: list[bytes], digest: str, key: str) -> None:
    """[fairness 2.4, 2.5] No entropy counts as empty."""
    assert (entropy_digest(entropies).hex(), match_key("match-1", SEED, entropies).hex()) == (digest, key)


@pytest.mark.parametrize("size", [33, 64])
def test_a_longer_entropy_is_refused_not_cut(size: int) -> None:
    """[fairness 2.3] At most 32 bytes."""
    with pytest.raises(ValueError, match="at most 32 bytes"):
        entropy_digest([bytes(size)])


def test_the_longest_entropy_is_accepted() -> None:
    """[fairness 2.3] 32 bytes."""
    assert len(entropy_digest([bytes(32), b""])) == 32


@pytest.mark.parametrize(("index", "result"), [(0, 5), (1, 1), (2, 3), (3, 3), (4, 3)])
def test_a_draw_is_a_function_of_purpose_number_and_index(index: int, result: int) -> None:
    """[fairness 3] The dice of the first roll."""
    assert draws("railroad_dice_2").integer(6, "roll", 1, index) == result


@pytest.mark.parametrize(
    ("game", "key", "n", "result"),
    [
        ("railroad_dice_2", KEY, 2, 0),
        ("transcontinental", KEY, 2, 1),
        ("railroad_dice_2", THREE_SEATS, 3, 1),
    ],
)
def test_the_start_is_drawn_for_each_game_on_its_own(game: str, key: bytes, n: int, result: int) -> None:
    """[fairness 4] The game's name is part of the message."""
    assert draws(game, key).integer(n, "start", 0, 0) == result


@pytest.mark.parametrize(("index", "result"), [(0, 686469119674208459), (3, 6698610927705063075)])
def test_a_value_that_would_bias_the_draw_is_drawn_again(index: int, result: int) -> None:
    """[fairness 3] With n = 2^63 + 1 index 0 takes the fourth attempt, index 3 the first."""
    assert draws("transcontinental").integer(2**63 + 1, "reject", 1, index) == result


def test_a_shuffle_swaps_down_from_the_last_position() -> None:
    """[fairness 3] Position 0 is the top."""
    assert draws("transcontinental").shuffle(range(10), "shuffle", 1) == (4, 0, 8, 2, 3, 9, 5, 1, 7, 6)


@pytest.mark.parametrize("items", [(), ("a",)])
def test_a_shuffle_of_at_most_one_draws_nothing(items: tuple[str, ...]) -> None:
    """[fairness 3] Nothing is drawn for position 0."""
    assert KeyedDraws(b"", "transcontinental").shuffle(items, "shuffle", 1) == items


@pytest.mark.parametrize("n", [0, -1, 2**64])
def test_a_range_that_cannot_be_drawn_from_is_an_error(n: int) -> None:
    """[fairness 3] 1 <= n < 2^64."""
    with pytest.raises(ValueError, match="n must be in"):
        draws("transcontinental").integer(n, "roll", 1, 0)


def test_blind_draws_decide_nothing() -> None:
    """[fairness 3] Previews never draw for a client."""
    blind = BlindDraws()
    assert (blind.integer(6, "roll", 1, 0), blind.shuffle("cab", "shuffle", 1)) == (0, ("c", "a", "b"))
