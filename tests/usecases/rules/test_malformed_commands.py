"""Where a malformed command stands in its request, if only the rules can tell that it is malformed."""

from __future__ import annotations

import pytest
from google.protobuf.message_factory import GetMessageClass

from promontory.codec.registry import codec
from promontory.games.kernel import Malformed, Rejected
from promontory.games.railroad_dice_2.commands import Build, BuyLocomotive, Command, PlaceDie, Placement, ReturnDice
from promontory.games.registry import GAMES, GameEntry
from promontory.rules.domain import judge, kind_of
from promontory.runtime.errors import as_refusal
from tests.support.railroad_dice_2 import BLIND, GAME, at, position
from tests.support.railroad_maps import A

MAP = """
    ........
    .A......
    ......B.
    ........
    """
TURNED = Placement(1, at(2, 1), 4)
MALFORMED = [
    (PlaceDie(A, 1, at(2, 1), -1), "place_die.rotation"),
    (Build(A, ()), "build.steps"),
    (Build(A, (TURNED,) * 5), "build.steps"),
    (Build(A, (Placement(1, at(2, 1), 1), TURNED)), "build.steps[1].rotation"),
    (ReturnDice(A, ()), "return_dice.dice"),
]


@pytest.mark.parametrize(("command", "field"), MALFORMED)
def test_a_field_that_makes_no_sense_to_the_rules_is_named_by_its_path(command: Command, field: str) -> None:
    """[errors BAD_REQUEST] The `BadRequest` says which, as it does for what the codec refuses."""
    with pytest.raises(Malformed) as refused:
        judge(GAME, position(MAP), (command,), BLIND)
    refusal = as_refusal(refused.value)
    assert (list(refusal.fields), refusal.metadata["field"]) == ([f"commands[0].{field}"], f"commands[0].{field}")


def test_a_malformed_field_of_a_later_command_is_named_with_its_number() -> None:
    """[errors] `command` says which of several was refused."""
    with pytest.raises(Malformed) as refused:
        judge(GAME, position(MAP), (BuyLocomotive(A, 2), ReturnDice(A, ())), BLIND)
    assert refused.value.details == {"field": "commands[1].return_dice.dice", "command": 1}


def test_a_refusal_of_one_command_does_not_number_it() -> None:
    """There is no other that it could be."""
    with pytest.raises(Rejected) as refused:
        judge(GAME, position(MAP), (PlaceDie(A, 9, at(2, 1), 0),), BLIND)
    assert refused.value.details == {"die": 9}


@pytest.mark.parametrize("entry", GAMES, ids=lambda entry: entry.name)
def test_a_path_calls_the_kinds_of_commands_as_the_message_does(entry: GameEntry) -> None:
    """A client finds the field that a refusal names."""
    file = codec(entry.name).messages.DESCRIPTOR
    kinds = file.pool.FindMessageTypeByName(f"{file.package}.Command").oneofs_by_name["kind"].fields
    assert [kind_of(GetMessageClass(kind.message_type)()) for kind in kinds] == [kind.name for kind in kinds]
