"""What belongs to a player and changes while cards are executed, and how events change it [Pacific 1.3]."""

from __future__ import annotations

from itertools import count
from typing import get_args

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
from promontory.games.pacific.vocabulary import KINDS, Area, Kind, PlacingSource

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
    match event:
        case MoneyGained(_, amount):
            return replace(holdings, money=holdings.money + amount)
        case TokensPlaced():
            return _placed(holdings, event)
        case TokensMoved(_, kind, source, destination, n, _, hq_ids):
            mat = _with(_with(holdings.mat, source, kind, -n), destination, kind, n)
            hqs = tuple(replace(hq, area=destination) if hq.hq_id in hq_ids else hq for hq in holdings.hqs)
            return replace(holdings, mat=mat, hqs=hqs)
        case TokensRemoved(_, kind, area, n, _, hq_ids):
            mat = _with(holdings.mat, area, kind, -n)
            return replace(holdings, mat=mat, hqs=tuple(hq for hq in holdings.hqs if hq.hq_id not in hq_ids))
        case PathPlaced(_, arrow):
            return replace(holdings, paths=(*holdings.paths, arrow))
        case CardDrawn(_, card_id):
            return replace(holdings, hand=(*holdings.hand, card_id))
        case EffectArmed(_, effect):
            return replace(holdings, pending=(*holdings.pending, effect))
        case SetupPlaced(_, hotel, factory):
            return replace(holdings, mat=_with(_with(holdings.mat, hotel, Kind.HOTEL, 1), factory, Kind.FACTORY, 1))


def unused(holdings: Holdings) -> Holdings:
    """Return `holdings` with HQs that have copied nothing yet, as at the start of an execution."""
    return replace(holdings, hqs=tuple(replace(hq, used=()) for hq in holdings.hqs))


def _placed(holdings: Holdings, event: TokensPlaced) -> Holdings:
    """Add a batch; HQs of the area that were there before note its kinds, unless HQs placed it [P-21]."""
    area, batch = event.area, event.tokens
    mat, place, hqs = holdings.mat, event.area.place, holdings.hqs
    if event.source is not PlacingSource.HQ:
        hqs = tuple(_noting(hq, batch) if hq.area is area else hq for hq in hqs)
    ids = count(holdings.hqs_placed + 1)
    return replace(
        holdings,
        mat=(*mat[:place], mat[place] + batch, *mat[place + 1 :]),
        hqs=hqs + tuple(Hq(next(ids), area) for _ in range(batch.hq)),
        hqs_placed=holdings.hqs_placed + batch.hq,
    )


def _noting(hq: Hq, batch: Tokens) -> Hq:
    kinds = tuple(kind for kind in KINDS if kind in hq.used or batch.of(kind))
    return replace(hq, used=kinds) if kinds != hq.used else hq


def _with(mat: Mat, area: Area, kind: Kind, number: int) -> Mat:
    """Return `mat` with `number` more tokens of a kind in `area`, or fewer if it is negative."""
    place = area.place
    return (*mat[:place], mat[place].plus(kind, number), *mat[place + 1 :])
