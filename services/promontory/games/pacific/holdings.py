"""What belongs to a player and changes while cards are executed, and how events change it [Pacific 1.3]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from promontory.games.pacific.events import (
    CardDrawn,
    EffectArmed,
    MoneyGained,
    PathPlaced,
    SetupPlaced,
    TokensMoved,
    TokensPlaced,
    TokensRemoved,
)
from promontory.games.pacific.tokens import EMPTY_MAT, Effect, Hq, Mat, Paths, Tokens
from promontory.games.pacific.vocabulary import KINDS, Kind, PlacingSource

HoldingsEvent = (
    SetupPlaced | TokensPlaced | TokensMoved | TokensRemoved | MoneyGained | PathPlaced | CardDrawn | EffectArmed
)
HOLDINGS_EVENTS: tuple[type[HoldingsEvent], ...] = get_args(HoldingsEvent)


class Holdings(msgspec.Struct, frozen=True):
    """What belongs to a player and changes while cards are executed.

    `hand` is in the order dealt and drawn, `paths` in the order laid, `pending` the effects of next turn in the order
    armed. `hqs_placed` numbers the HQs.
    """

    money: int = 0
    hand: tuple[str, ...] = ()
    mat: Mat = EMPTY_MAT
    hqs: tuple[Hq, ...] = ()
    hqs_placed: int = 0
    paths: Paths = ()
    pending: tuple[Effect, ...] = ()


def changed(holdings: Holdings, event: HoldingsEvent) -> Holdings:
    """Return `holdings` after one of the events that change them."""
    return _CHANGES[type(event)](holdings, event)


def unused(holdings: Holdings) -> Holdings:
    """Return `holdings` with HQs that have copied nothing yet, as at the start of an execution."""
    if not holdings.hqs:
        return holdings
    return replace(holdings, hqs=tuple(replace(hq, used=()) for hq in holdings.hqs))


def _gained(holdings: Holdings, event: MoneyGained) -> Holdings:
    return replace(holdings, money=holdings.money + event.amount)


def _placed(holdings: Holdings, event: TokensPlaced) -> Holdings:
    """Add a batch; HQs of the area that were there before note its kinds, unless HQs placed it [P-21]."""
    mat = list(holdings.mat)
    mat[event.area.place] += event.tokens
    if not (holdings.hqs or event.tokens.hq):
        return replace(holdings, mat=tuple(mat))
    hqs, placed = _hqs_after(holdings, event), holdings.hqs_placed + event.tokens.hq
    return replace(holdings, mat=tuple(mat), hqs=hqs, hqs_placed=placed)


def _hqs_after(holdings: Holdings, event: TokensPlaced) -> tuple[Hq, ...]:
    area, batch, hqs, first = event.area, event.tokens, holdings.hqs, holdings.hqs_placed + 1
    if event.source is not PlacingSource.HQ:
        hqs = tuple([_noting(hq, batch) if hq.area is area else hq for hq in hqs])
    return (*hqs, *(Hq(hq_id, area) for hq_id in range(first, first + batch.hq)))


def _noting(hq: Hq, batch: Tokens) -> Hq:
    kinds = tuple(kind for kind in KINDS if kind in hq.used or batch.of(kind))
    return replace(hq, used=kinds) if kinds != hq.used else hq


def _moved(holdings: Holdings, event: TokensMoved) -> Holdings:
    mat, hqs, kind, n = list(holdings.mat), holdings.hqs, event.kind, event.n
    source, destination = event.source.place, event.destination.place
    mat[source] = mat[source].plus(kind, -n)
    mat[destination] = mat[destination].plus(kind, n)
    if event.hq_ids:
        hqs = tuple(replace(hq, area=event.destination) if hq.hq_id in event.hq_ids else hq for hq in hqs)
    return replace(holdings, mat=tuple(mat), hqs=hqs)


def _removed(holdings: Holdings, event: TokensRemoved) -> Holdings:
    mat, place = list(holdings.mat), event.area.place
    mat[place] = mat[place].plus(event.kind, -event.n)
    hqs = tuple(hq for hq in holdings.hqs if hq.hq_id not in event.hq_ids) if event.hq_ids else holdings.hqs
    return replace(holdings, mat=tuple(mat), hqs=hqs)


def _path_laid(holdings: Holdings, event: PathPlaced) -> Holdings:
    return replace(holdings, paths=(*holdings.paths, event.arrow))


def _drawn(holdings: Holdings, event: CardDrawn) -> Holdings:
    return replace(holdings, hand=(*holdings.hand, event.card_id))


def _armed(holdings: Holdings, event: EffectArmed) -> Holdings:
    return replace(holdings, pending=(*holdings.pending, event.effect))


def _set_up(holdings: Holdings, event: SetupPlaced) -> Holdings:
    mat = list(holdings.mat)
    for area, kind in ((event.hotel, Kind.HOTEL), (event.factory, Kind.FACTORY)):
        mat[area.place] = mat[area.place].plus(kind, 1)
    return replace(holdings, mat=tuple(mat))


_CHANGES: dict[type[HoldingsEvent], Callable[[Holdings, Any], Holdings]] = {
    MoneyGained: _gained,
    TokensPlaced: _placed,
    TokensMoved: _moved,
    TokensRemoved: _removed,
    PathPlaced: _path_laid,
    CardDrawn: _drawn,
    EffectArmed: _armed,
    SetupPlaced: _set_up,
}
