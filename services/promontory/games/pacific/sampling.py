"""Full states that fit what a seat knows, for bots that search ahead with the referee's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from random import Random

from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.pacific.cards import Deck
from promontory.games.pacific.events import Reservation
from promontory.games.pacific.execution import proceed
from promontory.games.pacific.holdings import Holdings
from promontory.games.pacific.phases import SlotChoice, slot_choice
from promontory.games.pacific.state import Execution, Player, Setup, State
from promontory.games.pacific.view import ExecutionView, GameView, PlayerView
from promontory.games.pacific.vocabulary import AREAS, Phase


def determinize(deck: Deck, view: GameView, rng: Random) -> State:
    """Return a state, drawn at random, that looks to the seat of `view` exactly as its game does.

    Every way to spread the unseen cards over other hands, reserved draws and the ordered draw deck is equally likely,
    and so is every secret answer that another seat may have given. Search on with the rules' own `decide`; it draws
    nothing, so any draws will do:

        rules = promontory.game("pacific")
        state = determinize(rules.deck, view, rng)
        for event in rules.decide(state, command, BlindDraws()):
            state = rules.evolve(state, event)

    Raises `ValueError` for a spectator's view, which knows no hand, or if the view and the deck do not fit.
    """
    if view.seat is None:
        raise ValueError("a spectator knows too little to search ahead")
    dealt = _Dealt(deck, view, rng)
    state = State(
        players=tuple(dealt.player(seat, public) for seat, public in enumerate(view.players)),
        turn=view.turn,
        phase=view.phase,
        deck=dealt.rest(),
        table=view.table,
        history=view.history,
        resigned=view.resigned,
        result=view.result,
    )
    return _with_answers(state, view, rng)


class _Dealt:
    """The unseen cards, shuffled, from which hands and reserved draws are dealt; the rest is the draw deck."""

    def __init__(self, deck: Deck, view: GameView, rng: Random) -> None:
        known = [
            *view.hand_card_ids,
            *filter(None, view.table),
            *(card for past in view.history for card in past.card_ids),
        ]
        if sorted([*filter(None, known), *view.unseen_card_ids]) != sorted(deck.by_id):
            raise ValueError("the view is of a game with another deck")
        self._deck, self._view = deck, view
        self._cards = list(view.unseen_card_ids)
        rng.shuffle(self._cards)

    def player(self, seat: Seat, public: PlayerView) -> Player:
        """Return the player in `seat` with a hand and reserved draws of its own, but no secret answer."""
        hand = self._view.hand_card_ids if seat == self._view.seat else self._take(public.hand_size)
        holdings = Holdings(public.money, hand, public.mat, public.hqs, public.hqs_placed, public.paths, public.pending)
        player = Player(holdings, public.active, public.explicit_runs, public.decisions)
        if public.execution is None:
            return player
        return replace(player, execution=self._execution(seat, player, public.execution))

    def rest(self) -> tuple[str, ...]:
        """Return the cards that are still to be dealt, as many as the draw deck has."""
        if len(self._cards) != self._view.deck_size:
            raise ValueError("the view is of a game with another deck")
        return tuple(self._cards)

    def _take(self, number: int) -> tuple[str, ...]:
        taken, self._cards = self._cards[:number], self._cards[number:]
        return tuple(taken)

    def _execution(self, seat: Seat, player: Player, public: ExecutionView) -> Execution:
        """Return an execution whose draws so far are the last cards of the player's hand."""
        blank = _shown(seat, public)
        held = player.holdings.hand
        drawn = _drawn(self._deck, seat, player, execution=blank)
        kept, known = held[: len(held) - len(drawn)], dict(zip(drawn, held[len(held) - len(drawn) :], strict=True))
        reservations = tuple(
            replace(one, drawn_card_ids=tuple(known.get(card) or self._take(1)[0] for card in one.drawn_card_ids))
            for one in blank.reservations
        )
        return replace(blank, reservations=reservations, start=replace(blank.start, hand=kept))


def _shown(seat: Seat, public: ExecutionView) -> Execution:
    """Return an execution as far as everybody knows it: with an empty hand, and placeholders for reserved cards."""
    numbers = count()
    reservations = tuple(
        Reservation(seat, card_id, reserved, tuple(f"?{next(numbers)}" for _ in range(reserved)))
        for card_id, reserved in zip(public.card_ids, public.reserved, strict=True)
        if reserved
    )
    start = public.start
    return Execution(
        slots=public.slots,
        card_ids=public.card_ids,
        sole_picks=public.sole_picks,
        reservations=reservations,
        start=Holdings(start.money, (), start.mat, start.hqs, start.hqs_placed, start.paths),
        explicit_runs=public.explicit_runs,
        given=public.given,
        decision=public.decision,
        done=public.done,
    )


def _drawn(deck: Deck, seat: Seat, player: Player, *, execution: Execution) -> Sequence[str]:
    """Return the placeholders of the cards that the execution has drawn so far."""
    return proceed(deck, seat, player, execution).holdings.hand


def _with_answers(state: State, view: GameView, rng: Random) -> State:
    """Return `state` with the seat's own secret answer, and random ones of the others that have answered."""
    players = list(state.players)
    for seat, public in enumerate(view.players):
        if seat == view.seat:
            players[seat] = replace(
                players[seat], setup=view.setup, put_out_card_id=view.put_out_card_id, slots=view.chosen_slots
            )
        elif public.ready:
            players[seat] = _answered(state, seat, rng)
    return replace(state, players=tuple(players))


def _answered(state: State, seat: Seat, rng: Random) -> Player:
    player = state.players[seat]
    match state.phase:
        case Phase.SETUP_PLACE:
            return replace(player, setup=Setup(*rng.sample(AREAS, 2)))
        case Phase.CHOOSE:
            return replace(player, slots=_some_slots(slot_choice(state, seat), rng))
        case _:
            return replace(player, put_out_card_id=rng.choice(player.holdings.hand))


def _some_slots(choice: SlotChoice, rng: Random) -> tuple[int, ...]:
    if choice.required is None:
        return tuple(sorted(rng.sample(choice.slots, choice.count)))
    others = [slot for slot in choice.slots if slot != choice.required]
    return tuple(sorted([choice.required, *rng.sample(others, choice.count - 1)]))
