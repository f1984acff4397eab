"""The mapping of structs to messages, on message types that exist anyway."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
import pytest
from google.protobuf.message import Message
from hypothesis import example, given, settings

from promontory.api.scoring.v1 import ratings_pb2
from promontory.api.transcontinental.v1 import cards_pb2, commands_pb2, events_pb2, view_pb2
from promontory.client.ratings import Rating, RatingChange
from promontory.codec.mapping import StructMapping
from promontory.codec.port import Undecodable
from promontory.codec.stored import canonical
from promontory.codec.writing import REMEMBERED
from promontory.games.transcontinental.events import TurnEnded
from promontory.games.transcontinental.vocabulary import Side
from tests.codec.strategies import values_of


class Origin(Enum):
    """The values of `Source`."""

    DECK = 1
    DISCARD = 2


class DrawCard(msgspec.Struct, frozen=True):
    """Matches the message of its name."""

    source: Origin


class MaybeDraw(msgspec.Struct, frozen=True):
    """Matches `DrawCard`, whose `SOURCE_UNSPECIFIED` means None."""

    source: Origin | None


class Trim(msgspec.Struct, frozen=True):
    """Matches `TrimHand`."""

    card_ids: frozenset[str]


class Numbered(msgspec.Struct, frozen=True):
    """Does not match `DrawCard`: a number is no enum."""

    source: int


class Named(msgspec.Struct, frozen=True):
    """Does not match `DrawCard`: another name."""

    pile: Origin


class Wider(msgspec.Struct, frozen=True):
    """Does not match `DrawCard`: a field more."""

    source: Origin
    count: int


class Repeated(msgspec.Struct, frozen=True):
    """Does not match `DrawCard`: many instead of one."""

    source: tuple[Origin, ...]


class Single(msgspec.Struct, frozen=True):
    """Does not match `TrimHand`: one instead of many."""

    card_ids: str


class Pair(msgspec.Struct, frozen=True):
    """Does not match `TrimHand`: tuples of a fixed length have no mapping."""

    card_ids: tuple[str, str]


class Bytes(msgspec.Struct, frozen=True):
    """Does not match `TrimHand`: bytes are no text."""

    card_ids: tuple[bytes, ...]


class MaybeNumber(msgspec.Struct, frozen=True):
    """Does not match `SidesAssigned`, whose number cannot be unset."""

    cp_seat: int | None


class Colour(Enum):
    """Has other values than `Source`."""

    DECK = 1
    RED = 2


class Sides(msgspec.Struct, frozen=True):
    """Matches `SidesAssigned`."""

    cp_seat: int


class Ended(msgspec.Struct, frozen=True):
    """Matches `TurnEnded`, as older rules knew it: without `idle`."""

    turn: int
    side: Side


class Coloured(msgspec.Struct, frozen=True):
    """Does not match `DrawCard`: other values."""

    source: Colour


def test_a_set_travels_in_ascending_order() -> None:
    """A set's order, which differs from process to process, never reaches the bytes."""
    message: Any = StructMapping(Trim, commands_pb2.TrimHand).encode(Trim(frozenset({"b", "c", "a"})))
    assert list(message.card_ids) == ["a", "b", "c"]


def test_a_set_comes_back_as_a_set() -> None:
    """Decoding an encoded frozenset gives an equal one."""
    mapping = StructMapping(Trim, commands_pb2.TrimHand)
    assert mapping.decode(mapping.encode(Trim(frozenset({"b", "a"})))) == Trim(frozenset({"a", "b"}))


@settings(max_examples=50)
@given(values_of(RatingChange))
@example(RatingChange("", 0, 0, -1, before=Rating("ada", 0.0, -0.0, 1.5, -(2**31)), after=Rating("", 0.0, 0.0, 0.0, 0)))
def test_a_struct_is_written_as_its_message_is_stored(change: RatingChange) -> None:
    """What is written without a message is byte for byte what the message itself says."""
    message = ratings_pb2.RatingChange(**msgspec.to_builtins(change))
    assert StructMapping(RatingChange, ratings_pb2.RatingChange).write(change) == canonical(message)


def test_a_struct_of_older_rules_leaves_what_it_lacks_unset() -> None:
    """Fields that came later stay unset; what the present type lacks is a mistake."""
    mapping = StructMapping(TurnEnded, events_pb2.TurnEnded)
    assert mapping.write(Ended(5, Side.UP)) == mapping.write(TurnEnded(5, Side.UP, 0))


@pytest.mark.parametrize("seat", [2**31, -(2**31) - 1])
def test_a_number_that_its_field_cannot_hold_is_refused(seat: int) -> None:
    """Nothing is cut off unseen."""
    with pytest.raises(ValueError, match="too small or too large"):
        StructMapping(Sides, events_pb2.SidesAssigned).write(Sides(seat))


def test_a_struct_that_lasts_is_written_alike_again() -> None:
    """What is remembered of a struct is what would be written of it anew."""
    change = RatingChange(
        "ada", 0, 1, 40, before=Rating("ada", 25.0, 8.0, 1500.0, 0), after=Rating("", 0.0, 0.0, 0.0, 1)
    )
    lasting = StructMapping(RatingChange, ratings_pb2.RatingChange, lasting=(Rating,))
    anew = StructMapping(RatingChange, ratings_pb2.RatingChange).write(change)
    assert [lasting.write(change), lasting.write(change)] == [anew, anew]


def test_more_values_than_are_remembered_are_written_all_the_same() -> None:
    """A table of written values that is full begins anew."""
    mapping = StructMapping(Sides, events_pb2.SidesAssigned)
    written = [mapping.write(Sides(seat)) for seat in range(3 * REMEMBERED)]
    assert [mapping.decode(events_pb2.SidesAssigned.FromString(each)).cp_seat for each in written] == [
        *range(3 * REMEMBERED)
    ]


def test_an_unspecified_enum_is_refused_where_a_value_is_needed() -> None:
    """A missing enum is named by its field."""
    with pytest.raises(Undecodable, match="source: is not set"):
        StructMapping(DrawCard, commands_pb2.DrawCard).decode(commands_pb2.DrawCard())


def test_an_unspecified_enum_is_none_where_it_may_be_missing() -> None:
    """`X | None` takes `..._UNSPECIFIED` as None."""
    assert StructMapping(MaybeDraw, commands_pb2.DrawCard).decode(commands_pb2.DrawCard()) == MaybeDraw(None)


@pytest.mark.parametrize("struct_type", [DrawCard, MaybeDraw])
def test_an_enum_value_from_the_future_is_refused(struct_type: type) -> None:
    """A value without a name is never guessed at."""
    message = commands_pb2.DrawCard.FromString(b"\x08\x63")
    with pytest.raises(Undecodable, match="source: has the unknown value 99"):
        StructMapping(struct_type, commands_pb2.DrawCard).decode(message)


def test_a_message_of_another_type_is_refused() -> None:
    """A mapping reads only messages of its own type."""
    with pytest.raises(Undecodable, match="is a EndWork"):
        StructMapping(DrawCard, commands_pb2.DrawCard).decode(commands_pb2.EndWork())


@pytest.mark.parametrize(
    ("hint", "message_type"),
    [
        pytest.param(Numbered, commands_pb2.DrawCard, id="a number for an enum"),
        pytest.param(Named, commands_pb2.DrawCard, id="another name"),
        pytest.param(Wider, commands_pb2.DrawCard, id="a field more"),
        pytest.param(Repeated, commands_pb2.DrawCard, id="many for one"),
        pytest.param(Single, commands_pb2.TrimHand, id="one for many"),
        pytest.param(Pair, commands_pb2.TrimHand, id="a fixed length"),
        pytest.param(Bytes, commands_pb2.TrimHand, id="bytes for text"),
        pytest.param(MaybeNumber, events_pb2.SidesAssigned, id="None without presence"),
        pytest.param(Coloured, commands_pb2.DrawCard, id="other values of an enum"),
        pytest.param(DrawCard | Trim, commands_pb2.Command, id="other kinds of a union"),
        pytest.param(DrawCard | Trim, commands_pb2.DrawCard, id="a union without a oneof"),
        pytest.param(int, commands_pb2.EndWork, id="no struct"),
    ],
)
def test_types_that_do_not_match_stop_the_import(hint: Any, message_type: type[Message]) -> None:
    """Drift between rules and protos fails when the mapping is built, not in the middle of a match."""
    with pytest.raises(TypeError):
        StructMapping(hint, message_type)


def test_the_protos_used_here_still_have_the_shape_the_tests_assume() -> None:
    """Keeps the refusals above from passing for another reason."""
    assert list(cards_pb2.Source.keys()) == ["SOURCE_UNSPECIFIED", "SOURCE_DECK", "SOURCE_DISCARD"]
    assert view_pb2.GameView.DESCRIPTOR.fields_by_name["seat"].has_presence
