"""A view as text: the cards on the table, every mat with who still owes an answer, and the own hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promontory.games.kernel import Seat
from promontory.games.pacific.cards import Deck
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.state import TURNS
from promontory.games.pacific.tokens import Effect, Tokens
from promontory.games.pacific.view import GameView, PlayerView
from promontory.games.pacific.vocabulary import AREAS, KINDS, EffectKind, Phase
from promontory.games.pacific.wording import arrow_in_words, question_in_words, tokens_in_words
from promontory.games.text import counted, listed, seats_in_words, table, words


def draw(game: Pacific, view: GameView) -> str:
    """Return `view`, a seat's or a spectator's, as lines for people to read."""
    deck = game.deck
    lines = [_title(view), f"draw deck: {counted(view.deck_size, 'card')}", *_table(deck, view)]
    for seat in range(len(view.players)):
        lines += ["", *_player(deck, view, seat)]
    if view.seat is not None:
        lines += ["", *_own(deck, view)]
    return "\n".join(lines)


def _title(view: GameView) -> str:
    if view.result is not None:
        winners = seats_in_words(view.result.winners)
        return f"over in turn {view.turn} ({words(view.result.reason)}): won by {winners}"
    return f"turn {view.turn} of {TURNS}, phase {words(view.phase)}" if view.turn else "set-up, before turn 1"


def _table(deck: Deck, view: GameView) -> Iterator[str]:
    """Yield a line for each slot."""
    if not view.table:
        return
    yield "on the table"
    rows = [
        (f"  slot {slot}", f"seat {slot}" if slot < len(view.players) else "dummy", _card_there(deck, view, slot))
        for slot in range(len(view.table))
    ]
    yield from table("<<<", rows)


def _card_there(deck: Deck, view: GameView, slot: int) -> str:
    if not view.table[slot]:
        face_down = slot < len(view.players) and view.phase is not Phase.CHOOSE and view.players[slot].ready
        return "face down" if face_down else "-"
    choosers = [seat for seat, player in enumerate(view.players) if player.execution and slot in player.execution.slots]
    chosen = f", executed by {seats_in_words(choosers)}" if choosers else ""
    return _name(deck, view.table[slot]) + chosen


def _player(deck: Deck, view: GameView, seat: Seat) -> Iterator[str]:
    player = view.players[seat]
    you = " (you)" if seat == view.seat else ""
    yield f"seat {seat}{you}: ${player.money}, {counted(player.hand_size, 'card')} in hand{_owed(view, seat)}"
    decision = player.execution.decision if player.execution else None
    if decision is not None:
        asking = f" for {deck.by_id[decision.card_id].name}" if decision.card_id else ""
        yield listed(f"to decide{asking}", [question_in_words(deck, decision.question)], indent=2)
    yield from table("<" + ">" * len(KINDS), _mat(player.mat))
    if player.paths:
        yield listed("paths", map(arrow_in_words, player.paths), indent=2)
    copied = [f"{kind} in {words(hq.area)}" for hq in player.hqs for kind in hq.used]
    if copied:
        yield listed("copied by HQs this turn", copied, indent=2)
    for when, effects in (("this turn", player.active), ("next turn", player.pending)):
        if effects:
            yield listed(when, (_effect(deck, effect) for effect in effects), indent=2)


def _owed(view: GameView, seat: Seat) -> str:
    """Return what the game waits for from `seat`."""
    player = view.players[seat]
    if seat in view.resigned:
        return "; has resigned"
    if view.phase is Phase.EXECUTE:
        return "; has executed everything" if player.execution and player.execution.done else "; executes"
    if view.phase is Phase.OVER or not _is_asked(view.phase, player):
        return ""
    return f"; {_ANSWERED[view.phase]}" if player.ready else f"; is to {_OWED[view.phase]}"


_OWED = {
    Phase.SETUP_PLACE: "choose two areas",
    Phase.PUT_OUT_FIRST: "put a card out",
    Phase.PUT_OUT_LATE: "put a card out",
    Phase.CHOOSE: "choose what to execute",
}
_ANSWERED = {
    Phase.SETUP_PLACE: "has chosen two areas",
    Phase.PUT_OUT_FIRST: "has put a card out",
    Phase.PUT_OUT_LATE: "has put a card out",
    Phase.CHOOSE: "has chosen what to execute",
}


def _is_asked(phase: Phase, player: PlayerView) -> bool:
    """Tell whether a secret phase asks the player [Pacific 2.1]."""
    is_late = any(effect.kind is EffectKind.LATE_PUT_OUT for effect in player.active)
    return is_late == (phase is Phase.PUT_OUT_LATE) or phase in {Phase.SETUP_PLACE, Phase.CHOOSE}


def _mat(mat: Iterable[Tokens]) -> Iterator[tuple[str, ...]]:
    yield ("", *KINDS)
    for area, tokens in zip(AREAS, mat, strict=True):
        yield (f"  {words(area)}", *(str(tokens.of(kind) or ".") for kind in KINDS))


def _effect(deck: Deck, effect: Effect) -> str:
    amount = f" {effect.amount}" if effect.amount else ""
    tokens = "" if effect.tokens is None else f" {tokens_in_words(effect.tokens)}"
    return f"{words(effect.kind)}{amount}{tokens} ({deck.by_id[effect.card_id].name})"


def _own(deck: Deck, view: GameView) -> Iterator[str]:
    """Yield what only the seat sees."""
    yield listed(f"your hand ({len(view.hand_card_ids)})", (_name(deck, card_id) for card_id in view.hand_card_ids))
    if view.put_out_card_id:
        yield f"you have put out {_name(deck, view.put_out_card_id)}"
    if view.setup is not None:
        yield f"your first hotel goes to {words(view.setup.hotel)}, your first factory to {words(view.setup.factory)}"
    if view.chosen_slots:
        yield listed("you have chosen", (_name(deck, view.table[slot]) for slot in view.chosen_slots))


def _name(deck: Deck, card_id: str) -> str:
    card = deck.by_id[card_id]
    return f"{card.name} ({'/'.join(card.colours)})"
