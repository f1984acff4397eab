"""What the instructions of a card do [Pacific 3.3]."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from promontory.games.kernel import Malformed, Rejected
from promontory.games.pacific.answers import answer_as, check_permutation, only_answer
from promontory.games.pacific.choices import check_choice, options_in, token_choice
from promontory.games.pacific.decisions import (
    Answer,
    AreaPick,
    ArrowPick,
    Moves,
    MoveSource,
    PartOrder,
    PickArea,
    PickArrow,
    PickMoves,
    PickOrder,
    PickRemovals,
    PickReplacements,
    PickRunAreas,
    Question,
    Removals,
    Replacements,
    RunAreas,
)
from promontory.games.pacific.executor import Executor
from promontory.games.pacific.expressions import Bound, Scene
from promontory.games.pacific.instructions import (
    Advance,
    AnyOrder,
    Choose,
    ChooseArea,
    Draw,
    Duplicate,
    Each,
    FreezeFish,
    Gain,
    If,
    Instruction,
    Limit,
    Move,
    NextTurn,
    Place,
    PlacePath,
    Remove,
    Replace,
    Run,
    SkipRun,
)
from promontory.games.pacific.running import Script, run_area
from promontory.games.pacific.tokens import Effect, TokenPick, Tokens
from promontory.games.pacific.vocabulary import (
    AREAS,
    Area,
    Arrow,
    GainCause,
    Kind,
    MoveCause,
    PlacingSource,
    RemovalCause,
)


class Text:
    """A card's text while it is executed: who does it, the names bound so far, and the cards reserved for it."""

    def __init__(self, executor: Executor, *, sole_pick: bool, reserved: Iterable[str]) -> None:
        self.executor, self.sole_pick = executor, sole_pick
        self.names: dict[str, Bound] = {}
        self.reserved = iter(reserved)

    def scene(self) -> Scene:
        """Return what an instruction that starts now looks at."""
        holdings = self.executor.holdings
        return Scene(holdings.mat, holdings.money, self.names, self.sole_pick)


def perform(instructions: Iterable[Instruction], text: Text) -> Script:
    """Execute instructions from top to bottom."""
    for instruction in instructions:
        deed = _DEEDS.get(type(instruction))
        if deed is not None:
            deed(instruction, text)
        else:
            yield from _SCRIPTS[type(instruction)](instruction, text)


def _gain(instruction: Gain, text: Text) -> None:
    text.executor.gain(text.scene().number(instruction.amount), GainCause.CARD)


def _duplicate(instruction: Duplicate, text: Text) -> None:
    scene = text.scene()
    if (area := scene.area(instruction.at)) is not None:
        batch = Tokens(**{kind: 1 for kind, _ in scene.at(area).present()})
        text.executor.place(area, batch, PlacingSource.DUPLICATE)


def _skip_run(instruction: SkipRun, text: Text) -> None:
    if (area := text.scene().area(instruction.area)) is not None:
        text.executor.skip.add(area)


def _freeze_fish(_: FreezeFish, text: Text) -> None:
    text.executor.frozen = True


def _draw(instruction: Draw, text: Text) -> None:
    for card_id in islice(text.reserved, instruction.n):
        text.executor.draw(card_id)


def _next_turn(instruction: NextTurn, text: Text) -> None:
    brought = None if instruction.tokens is None else Tokens(**instruction.tokens)
    amount = instruction.amount or instruction.n or 0
    text.executor.arm(Effect(text.executor.card_id, instruction.effect, amount, brought))


def _place_path(_: PlacePath, text: Text) -> Script:
    answer = answer_as(ArrowPick, (yield from _ask(PickArrow(tuple(Arrow)))))
    text.executor.place_path(answer.arrow)


def _if(instruction: If, text: Text) -> Script:
    if text.scene().holds(instruction.cond):
        yield from perform(instruction.then, text)


def _ask(question: Question) -> Generator[Question, Answer, Answer]:
    """Return the answer to a question; one that leaves nothing to decide is not asked."""
    answer = only_answer(question)
    if answer is None:
        answer = yield question
    return answer


def _choose_area(instruction: ChooseArea, text: Text) -> Script:
    areas = text.scene().passing(instruction.where)
    text.names[instruction.bind] = None
    if not areas:
        return
    answer = answer_as(AreaPick, (yield from _ask(PickArea(areas))))
    _check_area(answer.area, areas)
    text.names[instruction.bind] = answer.area


def _check_area(area: Area, allowed: Sequence[Area]) -> None:
    if area not in allowed:
        raise Rejected("AREA_NOT_ALLOWED", rule="Pacific 3.2", area=area.value)


def _place(instruction: Place, text: Text) -> None:
    scene = text.scene()
    if isinstance(instruction.at, Each):
        areas = scene.passing(instruction.at.each)
    else:
        area = scene.area(instruction.at)
        areas = () if area is None else (area,)
    fixed = instruction.fixed
    batches = [_batch(instruction, replace(scene, here=area)) if fixed is None else fixed for area in areas]
    for area, batch in zip(areas, batches, strict=True):
        text.executor.place(area, batch, PlacingSource.CARD)
    if instruction.bind is not None:
        text.names[instruction.bind] = areas


def _batch(instruction: Place, scene: Scene) -> Tokens:
    return Tokens(
        **{
            kind: number if isinstance(number, int) else scene.number(number)
            for kind, number in instruction.tokens.items()
        }
    )


def _advance(instruction: Advance, text: Text) -> None:
    """Move all tokens of a kind one area on, those that arrive not again."""
    what, executor = instruction.what, text.executor
    if what is Kind.FISH and executor.frozen:
        return
    picks = options_in(executor.holdings.mat, AREAS, (what,))
    hqs = executor.holdings.hqs
    for pick in picks:
        moving = tuple(hq.hq_id for hq in hqs if hq.area is pick.area) if what is Kind.HQ else ()
        executor.move(pick, pick.area.following, MoveCause.ADVANCE, hq_ids=moving)


def _move(instruction: Move, text: Text) -> Script:
    question = _move_question(instruction, text.scene())
    if question is None:
        return
    answer = answer_as(Moves, (yield from _ask(question)))
    source, destination = _move_ends(question, answer)
    if source is None or destination is None:
        return
    areas = (source.area,) if source.area is not None else [area for area in AREAS if area is not destination]
    check_choice(source.choice, answer.moves, instruction.what.kinds, areas=areas)
    for pick in _in_order(answer.moves):
        text.executor.move(pick, destination, MoveCause.CARD)


def _move_question(instruction: Move, scene: Scene) -> PickMoves | None:
    """Return what is to be decided, or None if no token could be moved."""
    destinations = _ends(instruction.destination, scene)
    sources = [
        MoveSource(area, token_choice(options, instruction.count, instruction.per))
        for area, options in _move_options(instruction, scene, destinations)
    ]
    if not any(source.choice.maximum for source in sources):
        return None
    count = instruction.count
    return PickMoves(
        sources=tuple(sources),
        destinations=tuple(destinations),
        names_source=isinstance(instruction.source, Choose),
        names_destination=isinstance(instruction.destination, Choose),
        may_decline=count == "any" or (isinstance(count, Limit) and count.up_to is not None),
    )


def _move_options(
    instruction: Move, scene: Scene, destinations: Sequence[Area]
) -> Iterator[tuple[Area | None, tuple[TokenPick, ...]]]:
    """Yield the sources from which some destination can be reached, each with its tokens."""
    kinds = instruction.what.kinds
    if instruction.source == "elsewhere":
        if destinations:
            yield None, options_in(scene.mat, [area for area in AREAS if area not in destinations], kinds)
        return
    for area in _ends(instruction.source, scene):
        if any(destination is not area for destination in destinations):
            yield area, options_in(scene.mat, (area,), kinds)


def _ends(end: str | Choose, scene: Scene) -> Sequence[Area]:
    if isinstance(end, Choose):
        return scene.passing(end.choose)
    area = scene.area(end)
    return () if area is None else (area,)


def _move_ends(question: PickMoves, answer: Moves) -> tuple[MoveSource | None, Area | None]:
    """Return source and destination of an answer, None for what a declining one leaves out."""
    if (answer.source is not None and not question.names_source) or (
        answer.destination is not None and not question.names_destination
    ):
        raise Malformed("MALFORMED", rule="Pacific 3.7")
    source, destination = _source_of(question, answer), _destination_of(question, answer)
    if (source is None or destination is None) and (answer.moves or not question.may_decline):
        raise Malformed("MALFORMED", rule="Pacific 3.7")
    if source is not None and source.area is not None and source.area is destination:
        raise Rejected("SAME_AREA", rule="Pacific 3.5", area=source.area.value)
    return source, destination


def _source_of(question: PickMoves, answer: Moves) -> MoveSource | None:
    if not question.names_source:
        return question.sources[0]
    if answer.source is None:
        return None
    sources = {source.area: source for source in question.sources}
    if answer.source not in sources:
        raise Rejected("AREA_NOT_ALLOWED", rule="Pacific 3.5", area=answer.source.value)
    return sources[answer.source]


def _destination_of(question: PickMoves, answer: Moves) -> Area | None:
    if not question.names_destination:
        return question.destinations[0]
    if answer.destination is not None:
        _check_area(answer.destination, question.destinations)
    return answer.destination


def _in_order(picks: Iterable[TokenPick]) -> list[TokenPick]:
    return sorted(picks, key=lambda pick: (pick.area.place, pick.kind.place))


def _taken_from(word: str, scene: Scene) -> Sequence[Area]:
    return AREAS if word == "anywhere" else _ends(word, scene)


def _remove(instruction: Remove, text: Text) -> Script:
    scene, kinds = text.scene(), instruction.what.kinds
    areas = _taken_from(instruction.source, scene)
    choice = token_choice(options_in(scene.mat, areas, kinds), instruction.count, instruction.per)
    removals: Sequence[TokenPick] = ()
    if choice.maximum:
        removals = answer_as(Removals, (yield from _ask(PickRemovals(choice)))).removals
        check_choice(choice, removals, kinds, areas=areas)
    for pick in _in_order(removals):
        text.executor.remove(pick, RemovalCause.CARD)
    if instruction.bind is not None:
        text.names[instruction.bind] = sum(pick.n for pick in removals)


def _replace(instruction: Replace, text: Text) -> Script:
    scene, kinds = text.scene(), instruction.what
    areas = _taken_from(instruction.at, scene)
    choice = token_choice(options_in(scene.mat, areas, kinds), instruction.count, None)
    replacement = Tokens(**instruction.replacement)
    replaced: Sequence[TokenPick] = choice.options
    if choice.maximum and instruction.count == "any":
        question = PickReplacements(choice, replacement)
        replaced = answer_as(Replacements, (yield from _ask(question))).replacements
        check_choice(choice, replaced, kinds, areas=areas)
    for area in AREAS:
        here = [pick for pick in _in_order(replaced) if pick.area is area]
        for pick in here:
            text.executor.remove(pick, RemovalCause.REPLACE)
        text.executor.place(area, replacement * sum(pick.n for pick in here), PlacingSource.REPLACE)


def _any_order(instruction: AnyOrder, text: Text) -> Script:
    parts = instruction.parts
    answer = answer_as(PartOrder, (yield from _ask(PickOrder(len(parts)))))
    check_permutation(answer.parts, range(len(parts)))
    for part in answer.parts:
        yield from perform(parts[part], text)


def _run(instruction: Run, text: Text) -> Script:
    if instruction.areas.pick is not None:
        yield from _run_picked(instruction.areas.pick, instruction, text)
        return
    for area in AREAS:
        if instruction.areas.each is not None and area in text.scene().passing(instruction.areas.each):
            yield from run_area(text.executor, area, fish_stay=instruction.fish_stay)


def _run_picked(number: int, instruction: Run, text: Text) -> Script:
    executor = text.executor
    areas = tuple(area for area in AREAS if area not in executor.skip and area not in executor.ran)
    if not areas:
        return
    question = PickRunAreas(areas, min(number, len(areas)))
    picked = answer_as(RunAreas, (yield from _ask(question))).areas
    _check_run_areas(picked, question)
    for area in picked:
        yield from run_area(executor, area, fish_stay=instruction.fish_stay)


def _check_run_areas(picked: Sequence[Area], question: PickRunAreas) -> None:
    for area in picked:
        _check_area(area, question.areas)
    if len(set(picked)) < len(picked):
        raise Rejected("SAME_AREA", rule="Pacific 3.3", area=next(a for a in picked if picked.count(a) > 1).value)
    if len(picked) != question.count:
        raise Rejected("WRONG_NUMBER", rule="Pacific 3.3", required=question.count)


_DEEDS: dict[type[Instruction], Callable[[Any, Text], None]] = {
    Place: _place,
    Advance: _advance,
    Gain: _gain,
    Duplicate: _duplicate,
    SkipRun: _skip_run,
    FreezeFish: _freeze_fish,
    Draw: _draw,
    NextTurn: _next_turn,
}
"""What instructions that ask nothing do."""

_SCRIPTS: dict[type[Instruction], Callable[[Any, Text], Script]] = {
    ChooseArea: _choose_area,
    PlacePath: _place_path,
    Move: _move,
    Remove: _remove,
    Replace: _replace,
    If: _if,
    AnyOrder: _any_order,
    Run: _run,
}
"""What instructions that may ask something do."""
