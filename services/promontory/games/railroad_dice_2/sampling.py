"""Full states from what a seat knows, for bots that search ahead with the referee's own rules."""

from __future__ import annotations

from random import Random

from promontory.games.railroad_dice_2.board import Board, empty_board
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.components import LaidTile
from promontory.games.railroad_dice_2.layout import plan_of
from promontory.games.railroad_dice_2.network import network_of
from promontory.games.railroad_dice_2.state import Player, State, Turn
from promontory.games.railroad_dice_2.view import GameView, PlayerView, TurnView


def determinize(box: Box, view: GameView, rng: Random) -> State:  # noqa: ARG001 - the shape that all games share
    """Return the state that `view`, a seat's or a spectator's, shows.

    Nothing on the table is hidden [Railroad Dice 2 7.1], so there is only one; `rng` draws nothing. Only dice to come
    are unknown: search on with draws of your own. In a bot's `choose(view, rng)`:

        import promontory
        from promontory.games.fairness import KeyedDraws
        from promontory.games.kernel import fold
        from promontory.games.railroad_dice_2.legal import expand
        from promontory.games.railroad_dice_2.sampling import determinize

        rules = promontory.game("railroad_dice_2")
        state = determinize(rules.box, view, rng)
        draws = KeyedDraws(rng.randbytes(32), rules.name)
        for command in expand(view.legal, view.seat):
            after = fold(rules, state, rules.decide(state, command, draws))

    Raises `ValueError` if the view is of a game with another box.
    """
    if {*view.tile_ids, *(tile.tile_id for tile in view.tiles)} != {tile.id for tile in box.components.tiles}:
        raise ValueError("the view is of a game with another box")
    layout = tuple(LaidTile(tile.tile_id, tile.square, tile.rotation) for tile in view.tiles)
    board = _board(box, layout, view)
    return State(
        players=tuple(_player(board, player) for player in view.players),
        bank=view.bank,
        simple_dice=view.simple_dice,
        complex_dice=view.complex_dice,
        stack=view.stack,
        phase=view.phase,
        start_seat=view.start_seat,
        active=view.active,
        layout=layout,
        passengers=tuple(tile.passengers for tile in view.tiles),
        board=board,
        turn=_turn(view.turn),
        has_scrapped=view.has_scrapped,
        rolls=view.rolls,
        stalled=view.stalled,
        idle=view.idle,
        triggers=view.triggers,
        triggered_turn=view.triggered_turn,
        resigned=view.resigned,
        result=view.result,
    )


def _board(box: Box, layout: tuple[LaidTile, ...], view: GameView) -> Board | None:
    """Return the map, or None while not all tiles lie."""
    if view.tile_ids:
        return None
    board = empty_board(plan_of(box.components, layout))
    for station in view.stations:
        board = board.with_station(station.square, station.owner)
    for track in view.track:
        board = board.with_die(track.square, box.faces.die(track.face, track.rotation))
    return board


def _player(board: Board | None, player: PlayerView) -> Player:
    network = None if board is None or player.home is None else network_of(board, player.home)
    return Player(player.money, player.grays_left, player.locomotives, network)


def _turn(turn: TurnView) -> Turn:
    return Turn(
        number=turn.number,
        dice_action_used=turn.dice_action_used,
        hand=turn.hand,
        next_die=turn.next_die,
        stations_used=turn.stations_used,
        locomotives_used=turn.locomotives_used,
        had_effect=turn.had_effect,
    )
