"""Choices of tokens: how many there are to choose, whether a choice is allowed, and all that are [Pacific 3.1, 3.5]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from promontory.games.kernel import Malformed, Rejected
from promontory.games.pacific.decisions import TokenChoice
from promontory.games.pacific.instructions import Count, Limit
from promontory.games.pacific.tokens import Mat, TokenPick
from promontory.games.pacific.vocabulary import AREAS, Area, Kind, Per


def options_in(mat: Mat, areas: Collection[Area], kinds: Collection[Kind]) -> tuple[TokenPick, ...]:
    """Return the tokens of `kinds` in `areas`, in the order of areas, then kinds."""
    return tuple(
        [
            TokenPick(kind, area, number)
            for area, tokens in zip(AREAS, mat, strict=True)
            if area in areas
            for kind, number in tokens.present()
            if kind in kinds
        ]
    )


def token_choice(options: tuple[TokenPick, ...], count: Count, per: Per | None) -> TokenChoice:
    """Return the choice of `count` tokens out of `options`, as many as there are at most."""
    available = sum([option.n for option in options]) if per is None else len(_counts(options, per))
    match count:
        case Limit(exactly=int() as exactly):
            minimum = maximum = min(exactly, available)
        case Limit(up_to=int() as most):
            minimum, maximum = 0, min(most, available)
        case "all":
            minimum = maximum = available
        case _:
            minimum, maximum = 0, available
    return TokenChoice(options, minimum, maximum, per)


def only_choice(choice: TokenChoice) -> tuple[TokenPick, ...] | None:
    """Return the tokens to choose if there is but one way, else None."""
    if not choice.maximum:
        return ()
    if choice.minimum < choice.maximum:
        return None
    caps = _caps(choice.options, choice.per)
    all_must = choice.minimum == sum(caps.values()) or len(caps) == 1
    if not all_must or len(caps) < len(choice.options):
        return None
    return first_choice(choice)


def first_choice(choice: TokenChoice) -> tuple[TokenPick, ...]:
    """Return the default: as few tokens as allowed, the first ones of the options."""
    caps = _caps(choice.options, choice.per)
    missing = choice.minimum
    picks: list[TokenPick] = []
    for option in choice.options:
        group = _group(option, choice.per)
        number = min(option.n, caps[group], missing)
        if number:
            picks.append(replace(option, n=number))
        caps[group] -= number
        missing -= number
    return tuple(picks)


def all_choices(choice: TokenChoice) -> Iterator[tuple[TokenPick, ...]]:
    """Yield every allowed choice once, those with fewer of the first option first."""
    yield from _chosen(choice.options, _caps(choice.options, choice.per), choice)


def check_choice(
    choice: TokenChoice, picks: Sequence[TokenPick], kinds: Collection[Kind], *, areas: Collection[Area]
) -> None:
    """Refuse `picks`, which may name `kinds` in `areas`, unless `choice` allows them."""
    if len({(pick.kind, pick.area) for pick in picks}) < len(picks) or any(pick.n < 1 for pick in picks):
        raise Malformed("MALFORMED", rule="Pacific 3.7")
    numbers = {(option.kind, option.area): option.n for option in choice.options}
    for pick in picks:
        if pick.kind not in kinds:
            raise Rejected("KIND_NOT_ALLOWED", rule="Pacific 3.5", kind=pick.kind.value)
        if pick.area not in areas:
            raise Rejected("AREA_NOT_ALLOWED", rule="Pacific 3.5", area=pick.area.value)
        if pick.n > numbers.get((pick.kind, pick.area), 0):
            raise Rejected("NOT_ENOUGH_TOKENS", rule="Pacific 3.5", kind=pick.kind.value, area=pick.area.value)
    _check_number(choice, picks)


def _check_number(choice: TokenChoice, picks: Sequence[TokenPick]) -> None:
    number = sum(pick.n for pick in picks)
    if choice.per is not None and max(_counts(picks, choice.per).values(), default=0) > 1:
        raise Rejected("TOO_MANY", rule="Pacific 3.5", most=1)
    if number > choice.maximum:
        raise Rejected("TOO_MANY", rule="Pacific 3.1", most=choice.maximum)
    if number < choice.minimum:
        raise Rejected("TOO_FEW", rule="Pacific 3.1", fewest=choice.minimum)


_Group = tuple[Area | None, Kind | None]


def _group(option: TokenPick, per: Per | None) -> _Group:
    return (None if per is Per.KIND else option.area, None if per is Per.AREA else option.kind)


def _counts(picks: Iterable[TokenPick], per: Per | None) -> Counter[_Group]:
    counts: Counter[_Group] = Counter()
    for pick in picks:
        counts[_group(pick, per)] += pick.n
    return counts


def _caps(options: Iterable[TokenPick], per: Per | None) -> Counter[_Group]:
    """Return how many tokens may be chosen of each group of options that share a limit."""
    counts = _counts(options, per)
    return counts if per is None else Counter(dict.fromkeys(counts, 1))


def _chosen(
    options: Sequence[TokenPick], caps: Counter[_Group], choice: TokenChoice
) -> Iterator[tuple[TokenPick, ...]]:
    """Yield the choices out of the rest of the options; the limits of `choice` are what is left of them."""
    if not options:
        if choice.minimum <= 0:
            yield ()
        return
    option, rest = options[0], options[1:]
    group = _group(option, choice.per)
    for number in range(min(option.n, caps[group], choice.maximum) + 1):
        left = replace(choice, minimum=choice.minimum - number, maximum=choice.maximum - number)
        picked = (replace(option, n=number),) if number else ()
        for others in _chosen(rest, caps - Counter({group: number}), left):
            yield (*picked, *others)
