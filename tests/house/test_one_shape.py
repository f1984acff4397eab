"""The games have one shape: a game more is served, played, watched and checked like the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module, resources
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor, FileDescriptor

from promontory.api.match.v1.errors_pb2 import ErrorReason
from promontory.bots.registry import policy_names
from promontory.codec.registry import codec
from promontory.games.registry import GAMES, GameEntry

EVERY_GAME = pytest.mark.parametrize("entry", GAMES, ids=lambda entry: entry.name)
FIRST = GAMES[0]
STREAMS = {"WatchMatch": (False, True), "Play": (True, True), "ExportMatch": (False, True)}
METHODS = (
    "CreateMatch",
    "GetMatch",
    "GetGameData",
    "ListLegalCommands",
    "SubmitCommand",
    "PreviewCommand",
    "WatchMatch",
    "Play",
    "ListMatchEvents",
    "Resign",
    "AbortMatch",
    "ClaimAbandoned",
    "OfferEnding",
    "DeclineEnding",
    "ExportMatch",
    "ForkMatch",
    "PlayAutomatically",
    "EnforceClock",
    "CancelMatch",
)
SOURCES = {"rulebook", "public", "house"}


def file_of(entry: GameEntry) -> FileDescriptor:
    """Return the file that defines the game's service, its requests and its responses."""
    found: FileDescriptor = codec(entry.name).service.file
    return found


def message(entry: GameEntry, name: str) -> Any:
    """Return a message of the game's package, whichever file it is in."""
    file = file_of(entry)
    return file.pool.FindMessageTypeByName(f"{file.package}.{name}")


def own(entry: GameEntry, full_name: str) -> str:
    """Return a type's name, in which the game's own package is called `own`."""
    package = f"{file_of(entry).package}."
    return f"own.{full_name.removeprefix(package)}" if full_name.startswith(package) else full_name


def shape_of_field(entry: GameEntry, field: FieldDescriptor) -> dict[str, Any]:
    """Return what makes two fields the same on the wire and in code."""
    referred = field.message_type or field.enum_type
    return {
        "name": field.name,
        "number": field.number,
        "type": field.type,
        "refers": own(entry, referred.full_name) if referred else "",
        "repeated": field.is_repeated,
        "presence": field.has_presence,
        "oneof": field.containing_oneof.name if field.containing_oneof else "",
    }


def shape_of_messages(entry: GameEntry) -> dict[str, list[dict[str, Any]]]:
    """Return the fields of each message in the service's file, which are those that all games have."""
    messages = file_of(entry).message_types_by_name.values()
    return {each.name: [shape_of_field(entry, field) for field in each.fields] for each in messages}


def shape_of_methods(entry: GameEntry) -> list[tuple[str, str, str]]:
    """Return names, requests and responses of the service's methods, in order."""
    methods = codec(entry.name).service.methods
    return [
        (each.name, own(entry, each.input_type.full_name), own(entry, each.output_type.full_name)) for each in methods
    ]


@EVERY_GAME
def test_every_service_has_the_same_methods(entry: GameEntry) -> None:
    """[architecture 3] Each with a request and a response of its own, in the order of the first game's."""
    assert shape_of_methods(entry) == [(name, f"own.{name}Request", f"own.{name}Response") for name in METHODS]


@EVERY_GAME
def test_every_service_streams_the_same_methods(entry: GameEntry) -> None:
    streaming = {
        each.name: (each.client_streaming, each.server_streaming) for each in codec(entry.name).service.methods
    }
    assert streaming == {name: STREAMS.get(name, (False, False)) for name in METHODS}


@EVERY_GAME
def test_all_requests_and_responses_have_the_same_fields(entry: GameEntry) -> None:
    """[architecture 3] Name, number, type, label, presence; only what a command, an event or a view is, differs."""
    assert shape_of_messages(entry) == shape_of_messages(FIRST)


@EVERY_GAME
def test_what_a_service_s_messages_refer_to_is_shared_or_the_game_s_own(entry: GameEntry) -> None:
    """No game leans on another's messages."""
    fields = [field for fields in shape_of_messages(entry).values() for field in fields]
    packages = {field["refers"].rpartition(".")[0] for field in fields}
    assert packages <= {"", "own", "promontory.api.match.v1", "google.protobuf"}


@EVERY_GAME
@pytest.mark.parametrize("name", ["Command", "Event"])
def test_a_command_or_an_event_is_one_of_several_kinds(entry: GameEntry, name: str) -> None:
    """Metrics, audit and stored events go by the kind; each is a message of the game's own."""
    found = message(entry, name)
    assert [(oneof.name, list(oneof.fields)) for oneof in found.oneofs] == [("kind", list(found.fields))]
    assert {own(entry, field.message_type.full_name).rpartition(".")[0] for field in found.fields} == {"own"}


@EVERY_GAME
def test_a_seat_is_named_by_the_request_and_not_by_the_command(entry: GameEntry) -> None:
    """[SubmitCommand] Nobody can send a command of another seat."""
    kinds = [field.message_type for field in message(entry, "Command").fields]
    assert [kind.name for kind in kinds if "seat" in kind.fields_by_name] == []


@EVERY_GAME
def test_every_game_can_be_given_up(entry: GameEntry) -> None:
    """[Resign] By a command without content, whose legality is told."""
    kinds = message(entry, "Command").fields_by_name
    assert kinds["resign"].message_type.full_name == message(entry, "Resign").full_name
    assert list(message(entry, "Resign").fields) == []
    assert message(entry, "LegalCommands").fields_by_name["resign"].type == FieldDescriptor.TYPE_BOOL


@EVERY_GAME
def test_a_view_tells_whose_it_is(entry: GameEntry) -> None:
    """Nobody's for a spectator; and it tells the seat what it may do."""
    seat, legal = (message(entry, "GameView").fields_by_name[name] for name in ("seat", "legal"))
    assert (seat.type, seat.number, seat.has_presence) == (FieldDescriptor.TYPE_INT32, 1, True)
    assert (legal.message_type.full_name, legal.has_presence) == (message(entry, "LegalCommands").full_name, True)


@EVERY_GAME
def test_every_game_lists_why_it_refuses(entry: GameEntry) -> None:
    """[style 7] In `errors.proto`, by the same name; nothing that all games share is listed again."""
    errors = import_module(f"{file_of(entry).package}.errors_pb2")
    reasons, shared = errors.RefusalReason.keys(), ErrorReason.keys()
    named = {name.removeprefix("REFUSAL_REASON_") for name in reasons} - {"UNSPECIFIED"}
    assert named & {name.removeprefix("ERROR_REASON_") for name in shared} == set()


@EVERY_GAME
def test_every_game_has_bots_to_play_against(entry: GameEntry) -> None:
    assert {"greedy", "random"} <= set(policy_names(entry.name))


@EVERY_GAME
def test_every_game_comes_with_its_rules_in_words(entry: GameEntry) -> None:
    """Where the numbers that refusals cite stand."""
    text = resources.files(f"promontory.games.{entry.name}").joinpath("RULES.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "The numbers in" in text


@EVERY_GAME
def test_shipped_data_says_where_it_comes_from(entry: GameEntry) -> None:
    """The rulebook, something public, or the house; in Transcontinental all is the rulebook's, without a word."""
    told = set(sources_in(json.loads(entry.shipped_data())))
    assert told <= SOURCES
    assert told or entry.name == "transcontinental"


def sources_in(node: Any) -> Iterator[str]:
    """Yield every source that is named in the data, wherever it stands."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if key.endswith(("source", "sources")):
            yield from named(value)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from sources_in(child)


def named(sources: Any) -> Iterator[str]:
    """Yield the sources that one entry names: itself, or those of its fields, or those that it explains."""
    if isinstance(sources, str):
        yield sources
    elif isinstance(sources, dict) and not set(sources) <= SOURCES:
        yield from sources.values()
    else:
        yield from sources
