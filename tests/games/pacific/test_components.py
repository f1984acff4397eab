"""Areas, tokens, players and what belongs to them [Pacific 1.1 to 1.3]."""

from __future__ import annotations

import msgspec
import pytest

from promontory.games.pacific.state import Player, State
from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.vocabulary import AREAS, BASIC_KINDS, KINDS, Area, Arrow, Colour, Kind
from tests.support.pacific import begun, choose, choosing, holdings, outcome, played, player, state_after


def test_areas_stand_in_ring_order() -> None:
    """[Pacific 1.1] Japan, California, Peru, Polynesia, Coral Sea, and Japan again."""
    assert " ".join(AREAS) == "japan california peru polynesia coral_sea"
    assert [area.following for area in AREAS] == [*AREAS[1:], Area.JAPAN]


def test_every_colour_but_orange_is_that_of_an_area() -> None:
    """[Pacific 1.1] In ring order; orange belongs to none."""
    assert [colour.area for colour in Colour] == [*AREAS, None]


def test_an_arrow_joins_an_area_to_the_following_one() -> None:
    """[Pacific 1.1] Its name says which."""
    assert [f"{arrow.ends.source}_{arrow.ends.destination}" for arrow in Arrow] == list(Arrow)
    assert all(arrow.ends.source.following is arrow.ends.destination for arrow in Arrow)


def test_the_kind_order_is_the_one_of_the_sheet() -> None:
    """[Pacific 1.2] Four basic kinds, four special ones."""
    assert " ".join(KINDS) == "fish hotel factory boat hatchery port balloon hq"
    assert KINDS[:4] == BASIC_KINDS


def test_counts_have_no_limit() -> None:
    """[Pacific 1.2] Chits and markers are bookkeeping."""
    _, end = played("whale_watching", player("japan 1000 fish"))
    assert outcome(end) == "$1000 japan 1000 fish"


def test_tokens_of_a_kind_are_only_counted() -> None:
    """[Pacific 1.3] They add up and have no identity."""
    assert Tokens(fish=2, boat=1) + Tokens(fish=1) - Tokens(boat=1) == Tokens(fish=3)
    assert (Tokens(fish=1, hq=2) * 3, Tokens(fish=1, hq=2).total) == (Tokens(fish=3, hq=6), 3)
    assert Tokens(hotel=4).of(Kind.HOTEL) == 4


def test_hqs_have_ids_and_remember_what_they_copied() -> None:
    """[Pacific 1.3] `mat[a].hq` equals the number of HQs there; ids are counted up and never given again."""
    _, end = played("headquarters", player("peru 2 hq"), "area peru")
    assert [(hq.hq_id, hq.area) for hq in end.holdings.hqs] == [(number, Area.PERU) for number in range(1, 6)]
    assert end.holdings.mat[Area.PERU.place].hq == 5
    assert [hq.used for hq in end.holdings.hqs] == [(Kind.HQ,)] * 2 + [()] * 3


def test_money_starts_at_0() -> None:
    """[Pacific 1.4] And mats are empty, without effects."""
    assert [(one.holdings.money, outcome(one), one.active) for one in begun(3).players] == [(0, "$0", ())] * 3


def test_what_hqs_copied_is_forgotten_when_a_player_begins_to_execute() -> None:
    """[Pacific 1.3] Transient values are reset then."""
    used = msgspec.structs.replace(holdings("peru 1 hq").hqs[0], used=(Kind.FISH,))
    seat = Player(msgspec.structs.replace(holdings("peru 1 hq"), hqs=(used,)))
    state = choosing(seat, Player(), Player(), table="sea_turtles diversify direct_flight")
    end = state_after(state, *choose(0, 1, 2)).players[0]
    assert outcome(end) == "$0 peru 4 fish 1 hq"


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_a_state_survives_being_written_down(seats: int) -> None:
    """[Pacific 1.3] For snapshots: all of it is plain values."""
    state = begun(seats)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=State) == state


def test_a_state_with_an_open_decision_survives_being_written_down() -> None:
    """[Pacific 1.3] With the questions and answers that it holds."""
    state = choosing(player("japan 2 fish"), Player(), Player(), table="migration disperse direct_flight")
    opened = state_after(state, *choose(0, 1, 2))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(opened), type=State) == opened
