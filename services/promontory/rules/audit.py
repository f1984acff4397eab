"""Checking an exported match with nothing but its audit file.

Form, hash chain, draws, every decision, clocks, what every seat and spectators were shown, and the outcome.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from msgspec.structs import replace

from promontory.codec.port import Undecodable
from promontory.eventlog.audit_file import FORMAT, CommitLine, Footer, Header, encode_line
from promontory.eventlog.port import GENESIS, Commit, chain
from promontory.games import registry
from promontory.games.kernel import Rejected, Seat
from promontory.games.registry import AnyGame
from promontory.games.text import counted
from promontory.rules import arbiter, records
from promontory.rules.arbitration import CANCEL
from promontory.rules.conduct import Act, Cancel, Enforce
from promontory.rules.domain import CommitMeta, Decision, Happening, Match, Moment, Origin, Setup, begin, happenings
from promontory.rules.draws import draws_of
from promontory.rules.ledger import CREATE, Intent, Ledger, Seed, new_match
from promontory.rules.ruleset import Ruleset, load_ruleset
from promontory.rules.secrecy import Secrecy
from promontory.rules.validation import check_setup
from promontory.runtime.errors import Refusal

Line = TypeVar("Line", Header, CommitLine, Footer)

_SENSELESS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What rules may raise in a state that they never lead to; only a forged past of a fork has such a one."""


class AuditReport(msgspec.Struct, frozen=True):
    """What an audit found.

    `version` is the first commit that is wrong (0: the file itself) and `cause` what is wrong with it; both are None
    if nothing is. `undecided` if the match may be right, but is played by rules or with data that the audit lacks:
    `cause` names them. What could not be read stays empty.

    `late` are commits by a player whose time was up, grace included, before anybody had recorded that: not wrong, for
    the clock counts once it is called, but for players to know.

    A fork names the match it was `forked_from`, and that one's version `forked_at`; `past_checked` tells whether the
    file of that match was there to compare the fork's past with.
    """

    ok: bool
    match_id: str = ""
    game: str = ""
    rules_version: str = ""
    pool: str = ""
    rated: bool = False
    commits: int = 0
    head: str = ""
    players: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    scores: tuple[int, ...] = ()
    reason: str = ""
    version: int | None = None
    cause: str | None = None
    undecided: bool = False
    late: tuple[int, ...] = ()
    forked_from: str = ""
    forked_at: int = 0
    past_checked: bool = False

    def sentence(self) -> str:
        """Return the finding in one sentence."""
        if self.ok:
            return f"match {self.match_id}: {self.commits} commits, all right ({self._end()}){self._past()}"
        where = f"commit {self.version}" if self.version else "the file"
        of_match = f"match {self.match_id}: " if self.match_id else ""
        if self.undecided:
            return f"{of_match}cannot be judged: {self.cause}"
        return f"{of_match}{where} is wrong: {self.cause}"

    def _past(self) -> str:
        if not self.forked_from:
            return ""
        origin = f"; forked from {self.forked_from} at version {self.forked_at}, "
        return origin + ("as that match has it" if self.past_checked else "which was not checked: add its file")

    def _end(self) -> str:
        places = zip(self.players, self.places, strict=bool(self.places))
        end = ", ".join(f"{player} {place}." for player, place in places) or f"no result: {self.reason}"
        return (
            f"{end}; late, but taken: {counted(len(self.late), 'commit')} from {self.late[0]} on" if self.late else end
        )


class _Wrong(Exception):
    """Something does not hold: the commit it is in (0: the file), and what it is."""

    def __init__(self, version: int, cause: str) -> None:
        super().__init__(cause)
        self.version, self.cause = version, cause


class _Undecided(_Wrong):
    """The match cannot be judged with the rules and the data at hand."""


class _File(msgspec.Struct, frozen=True):
    """An audit file whose form and hash chain are right."""

    match_id: str
    commits: tuple[Commit, ...]


def audit_file(path: Path, rulesets: Sequence[Ruleset] | None = None) -> AuditReport:
    """Check the audit file at `path`, by `shipped_rulesets` by default; raises `OSError` if it cannot be read."""
    return audit(path.read_bytes(), shipped_rulesets() if rulesets is None else rulesets)


def shipped_rulesets(data: Mapping[str, Sequence[bytes]] = MappingProxyType({})) -> tuple[Ruleset, ...]:
    """Return every game of this distribution with the data that comes with it, and with the files of `data` by game.

    Raises `ValueError` if a game cannot read one of its files.
    """
    return tuple(load_ruleset(entry.name, data.get(entry.name, ())) for entry in registry.GAMES)


def audit(
    raw: bytes, rulesets: Sequence[Ruleset], *, originals: Sequence[bytes] = (), secrecy: bool = True
) -> AuditReport:
    """Check the audit file `raw` by the rules in `rulesets`, as one pure computation.

    Right is a file in its canonical form, whose hashes fit, and whose every commit is what the rules make of the
    recorded commands with the draws of the published seed, up to the outcome; and what the rules show of it to anybody
    tells nothing that they must not know. That last check is of the rules more than of the match, and takes long:
    without `secrecy` it is left out. The past that a fork begins with is compared with that of its original if the file
    of that match is among `originals`.
    """
    try:
        file = _read(raw)
    except _Wrong as wrong:
        return AuditReport(ok=False, version=wrong.version, cause=wrong.cause)
    try:
        match, late = _replayed(file, rulesets, secrecy=secrecy)
        past_checked = _is_past_of(file, match.forked_from, originals)
    except _Wrong as wrong:
        undecided = isinstance(wrong, _Undecided)
        return AuditReport(
            ok=False, match_id=file.match_id, version=wrong.version, cause=wrong.cause, undecided=undecided
        )
    return _report(match, late, past_checked=past_checked)


def _report(match: Match, late: tuple[int, ...], *, past_checked: bool) -> AuditReport:
    assert match.result is not None, "a match whose replay is right is over"  # noqa: S101 - for the checker
    origin = match.forked_from
    return AuditReport(
        ok=True,
        match_id=match.match_id,
        game=match.game,
        rules_version=match.rules_version,
        pool=match.setup.pool,
        rated=match.setup.rated,
        commits=match.version,
        head=match.position.head.hex(),
        players=tuple(seat.player_id for seat in match.setup.seats),
        places=match.result.places,
        scores=match.result.scores,
        reason=match.result.reason.value,
        late=late,
        forked_from=origin.match_id if origin else "",
        forked_at=origin.version if origin else 0,
        past_checked=past_checked,
    )


def _is_past_of(fork: _File, origin: Origin | None, files: Sequence[bytes]) -> bool:
    """Tell whether the past of `fork` is that of its original, or False if none of `files` is that match's.

    Raises what is wrong with it.
    """
    original = None if origin is None else _file_of(origin.match_id, files)
    if origin is None or original is None:
        return False
    past, first = original.commits[: origin.version], fork.commits[0]
    if len(past) < origin.version or past[-1].head != origin.head:
        raise _Wrong(1, f"match {origin.match_id} was not like that at version {origin.version}")
    if tuple(event for commit in past for event in records.of_game(commit)) != records.of_game(first):
        raise _Wrong(1, f"its past is not what happened in match {origin.match_id} up to version {origin.version}")
    if _terms(past[0]) != _terms(first):
        raise _Wrong(1, f"it is not played as match {origin.match_id} was")
    return True


def _file_of(match_id: str, files: Sequence[bytes]) -> _File | None:
    """Return the first of `files` that is the audit file of a match, and in order, or None."""
    for raw in files:
        with suppress(_Wrong):
            file = _read(raw)
            if file.match_id == match_id:
                return file
    return None


def _terms(first: Commit) -> tuple[str, bytes, str, int]:
    """Return what a fork keeps of its original's creation: rules, data, variant, and the number of seats."""
    created = records.restore_created(first.events[0])
    return created.rules_version, created.data_hash, created.setup.variant, len(created.setup.seats)


def _read(raw: bytes) -> _File:
    """Return the content of an audit file, or raise what is wrong with its form or its hashes."""
    lines = [line + b"\n" for line in raw.removesuffix(b"\n").split(b"\n")]
    if b"".join(lines) != raw or len(lines) < 3:
        raise _Wrong(0, "it is not an audit file, or cut off")
    header = _line(Header, lines[0], 0)
    if header.format != FORMAT:
        raise _Wrong(0, f"its format is {header.format!r}, not {FORMAT!r}")
    commits = tuple(_commit(line, number) for number, line in enumerate(lines[1:-1], start=1))
    _check_chain(header.match_id, commits)
    _check_footer(_footer(lines[-1]), commits, hashlib.sha256(b"".join(lines[:-1])).hexdigest())
    return _File(header.match_id, commits)


def _footer(raw: bytes) -> Footer:
    try:
        return _line(Footer, raw, 0)
    except _Wrong as wrong:
        raise _Wrong(0, "its closing line is malformed or missing: it may be cut off") from wrong


def _line(kind: type[Line], raw: bytes, version: int) -> Line:
    try:
        line = msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError as error:
        raise _Wrong(version, f"its line is malformed, or missing: {error}") from error
    if encode_line(line) != raw:
        raise _Wrong(version, "its line is not in the canonical form")
    return line


def _commit(raw: bytes, number: int) -> Commit:
    line = _line(CommitLine, raw, number)
    if line.version != number:
        raise _Wrong(number, f"commit {line.version} stands in its place")
    try:
        commit = line.commit()
    except ValueError as error:
        raise _Wrong(number, "its head is not hex") from error
    if commit.head.hex() != line.head or not commit.events:
        raise _Wrong(number, "its head is not in the canonical form, or it has no events")
    return commit


def _check_chain(match_id: str, commits: Sequence[Commit]) -> None:
    head = GENESIS
    for commit in commits:
        if chain(match_id, head, commit.version, commit) != commit.head:
            raise _Wrong(commit.version, "its hash does not continue the chain")
        head = commit.head


def _check_footer(footer: Footer, commits: Sequence[Commit], sha256: str) -> None:
    if footer != Footer(len(commits), commits[-1].head.hex(), sha256):
        raise _Wrong(0, "its last line does not fit what stands before")


def _replayed(file: _File, rulesets: Sequence[Ruleset], *, secrecy: bool) -> tuple[Match, tuple[int, ...]]:
    """Return the match at its end and its late commits, or raise the first commit that the rules make otherwise."""
    ruleset = next((each for each in rulesets if each.owns(file.match_id)), None)
    if ruleset is None:
        raise _Wrong(0, f"no game has match ids like {file.match_id!r}")
    seed = _published_seed(file.commits[-1])
    match = _before_all(file, ruleset, seed)
    referee = _Referee(ruleset, match, seed, secrecy=secrecy)
    for commit in file.commits:
        if match.is_closed:
            raise _Wrong(commit.version, "it comes after the match was closed")
        match = referee.after(match, commit)
    if not match.is_closed:
        raise _Wrong(match.version, "it is the last one, but the game is not over")
    return match, tuple(referee.late)


def _published_seed(last: Commit) -> bytes:
    try:
        return records.restore_closed(last.events[-1]).server_seed
    except Undecodable as error:
        raise _Wrong(last.version, f"it is the last one, but does not close the match: {error}") from error


def _before_all(file: _File, ruleset: Ruleset, seed: bytes) -> Match:
    first = file.commits[0]
    try:
        created = records.restore_created(first.events[0])
        if (created.match_id, created.game) != (file.match_id, ruleset.game.name):
            raise _Wrong(1, "it creates another match")
        game = _pinned(ruleset, created)
        if created.forked_from is None:  # one player may hold several seats of a fork
            _check_setup(created.setup, game)
        now_ms = records.decode_meta(first.meta).recorded_at_ms
        sealed = Seed(seed, created.sealed_seed)
        match = new_match(game, file.match_id, created.setup, seed=sealed, now_ms=now_ms)
        match = replace(match, forked_from=created.forked_from)
    except (Undecodable, ValueError) as error:
        raise _Wrong(1, str(error)) from error
    if created.commitment != match.commitment:
        raise _Wrong(1, "its commitment is not that of the published seed")
    return match


def _check_setup(setup: Setup, game: AnyGame) -> None:
    """Raise `ValueError` unless a match can be created so; house bots may have had policies that are gone by now."""
    named = {setup.stand_in_policy, setup.time_control.default_policy if setup.time_control else ""}
    try:
        check_setup(setup, game, {*named, *(seat.bot_policy for seat in setup.seats)} - {""})
    except Refusal as refusal:
        raise ValueError(str(refusal)) from refusal


def _pinned(ruleset: Ruleset, created: records.Created) -> AnyGame:
    try:
        return ruleset.pinned(created.rules_version, created.data_hash)
    except Refusal as refusal:
        name, data_hash = ruleset.game.name, created.data_hash.hex()
        lacking = f"it is played by the rules {created.rules_version}, which this version does not have"
        if created.data_hash not in ruleset.files:
            lacking = f"it is played with data whose SHA-256 is {data_hash}; name that file: --game-data {name}=FILE"
        raise _Undecided(1, lacking) from refusal


class _Referee:
    """Judges the recorded commands of a closed match again: the seed is known, so are all draws."""

    def __init__(self, ruleset: Ruleset, match: Match, seed: bytes, *, secrecy: bool) -> None:
        self._codec, self._ledger, self._seed = ruleset.codec, Ledger(ruleset), seed
        self._game = self._ledger.game_of(match)
        self._draws = draws_of(match.match_id, match.game, match.setup, seed)
        self._secrecy = Secrecy(self._game, len(match.setup.seats), self._draws) if secrecy else None
        package = ruleset.codec.messages.DESCRIPTOR
        self._command_type = GetMessageClass(package.pool.FindMessageTypeByName(f"{package.package}.Command"))
        self.late: list[int] = []

    def after(self, match: Match, commit: Commit) -> Match:
        """Return `match` after `commit`, or raise what the commit should have been."""
        try:
            return self._judged(match, commit)
        except _SENSELESS as error:
            if match.forked_from is None:
                raise
            raise _Wrong(commit.version, "the past of the fork makes no sense") from error

    def _judged(self, match: Match, commit: Commit) -> Match:
        try:
            meta = records.decode_meta(commit.meta)
            commands = self._commands(meta)
            decision = self._decision(match, commit, meta, commands)
        except Rejected as rejected:
            raise _Wrong(commit.version, f"the rules refuse its command: {rejected}") from rejected
        except (Undecodable, DecodeError, ValueError) as error:
            raise _Wrong(commit.version, str(error)) from error
        after = self._recorded(match, commit, meta, decision)
        is_open_book = after.is_closed or (match.version == 0 and match.forked_from is not None)
        if self._secrecy is not None and not is_open_book:
            leak = self._secrecy.leak(match.state, decision.happened, commands)
            if leak is not None:
                raise _Wrong(commit.version, leak)
        return after

    def _recorded(self, match: Match, commit: Commit, meta: CommitMeta, decision: Decision) -> Match:
        intent = Intent(commit.command_id, "", actor=meta.actor, commands=meta.commands, act=meta.act)
        draft = self._ledger.draft(match, decision, intent, reveal=lambda: self._seed, now_ms=meta.recorded_at_ms)
        if draft.proposed.events != commit.events:
            raise _Wrong(commit.version, "its events are not what the rules make of its commands")
        if draft.proposed.meta != commit.meta:
            raise _Wrong(commit.version, "its meta does not fit the state after it, or is not in the canonical form")
        return draft.committed(commit.head).match

    def _commands(self, meta: CommitMeta) -> tuple[Any, ...]:
        seat = -1 if meta.actor is None else meta.actor
        return tuple(self._codec.decode_command(self._command_type.FromString(raw), seat) for raw in meta.commands)

    def _decision(self, match: Match, commit: Commit, meta: CommitMeta, commands: tuple[Any, ...]) -> Decision:
        if match.version == 0:
            is_creation = commit.command_id == CREATE and meta.actor is None and meta.act is None and not commands
            _require(is_creation, "it is no creation")
            if match.forked_from is not None:
                return Decision(self._past(match, commit))
            return Decision(begin(self._game, match.setup, self._draws))
        _require(meta.recorded_at_ms >= match.updated_at_ms, "it is recorded before the commit that it follows")
        moment = Moment(self._game, match, self._draws, meta.recorded_at_ms)
        if meta.act is not None:
            return self._acted(moment, commit, meta, meta.act)
        seat = -1 if meta.actor is None else meta.actor
        _require(0 <= seat < len(match.setup.seats) and bool(commands), "it names no seat, or no command")
        self._check_origin(match, commit, commands, seat=seat)
        if seat in arbiter.due(match, moment.now_ms):
            self.late.append(commit.version)
        return arbiter.submitted(moment, seat, commands)

    def _past(self, match: Match, commit: Commit) -> tuple[Happening, ...]:
        """Return what a fork begins with, which is recorded and not judged again."""
        events = records.restore_events(self._codec, commit.events[1:])
        _require(bool(events), "it is a fork without a past")
        return happenings(self._game, match.state, events)

    def _acted(self, moment: Moment, commit: Commit, meta: CommitMeta, act: Act) -> Decision:
        _require(not meta.commands, "it holds commands beside an act")
        if isinstance(act, Enforce):
            _require(meta.actor is None and commit.command_id.startswith("clock:"), "its command id is not the clock's")
            _require(bool(arbiter.due(moment.match, moment.now_ms)), "no time had run out")
            return arbiter.acted(moment, None, act)
        if isinstance(act, Cancel):
            _require(
                meta.actor is None and commit.command_id.startswith(CANCEL), "its command id is not the platform's"
            )
            return arbiter.acted(moment, None, act)
        seat = -1 if meta.actor is None else meta.actor
        _require(0 <= seat < len(moment.match.setup.seats), "it names no seat")
        _require(commit.command_id.startswith(f"{seat}:"), "its command id is not one of its seat")
        _require(not moment.match.setup.seats[seat].is_house_bot, "a house bot does what only players may")
        return arbiter.acted(moment, seat, act)

    def _check_origin(self, match: Match, commit: Commit, commands: tuple[Any, ...], *, seat: Seat) -> None:
        if commit.command_id.startswith(f"auto:{seat}:"):
            _require(bool(match.house_policy(seat)), "it plays automatically for a player")
            _require(seat in match.to_act, "it plays automatically for a seat that is not to act")
            _require(commands == (self._game.automatic(match.state, seat),), "its command is not the automatic one")
        else:
            _require(commit.command_id.startswith(f"{seat}:"), "its command id is not one of its seat")


def _require(holds: bool, cause: str) -> None:
    if not holds:
        raise ValueError(cause)
