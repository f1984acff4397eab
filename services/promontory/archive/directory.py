"""The archive in a directory of this machine, or of a volume that all processes mount."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from promontory.archive.port import match_of, name_of
from promontory.eventlog.port import ArchiveUnavailable
from promontory.runtime import clock

MARK = "promontory-archive"
"""A file at the top. Without it a volume that is not mounted would look like an archive that holds nothing."""

PARTIAL = ".partial"
LEFT_SECONDS = 3600


class DirectoryArchive:
    """An `Archive` below the directory `root`, on a file system that has hard links.

    A file is written beside its place, forced to the disk, and then given its name, which fails if the name is taken:
    so it is whole or not there, and never overwritten. What a killed process leaves beside it is swept with the next.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def prepare(self) -> None:
        """Make the directory if it is not there. Raises `OSError` if it cannot be made."""
        if not self._is_there():
            self._root.mkdir(parents=True, exist_ok=True)
            (self._root / MARK).touch()
            _force(self._root)

    async def put(self, match_id: str, content: bytes) -> bool:
        """Keep the file of `match_id`; see `Archive.put`."""
        return await asyncio.to_thread(self._put, self._root / name_of(match_id), content)

    def _put(self, file: Path, content: bytes) -> bool:
        with _unavailable():
            self._require()
            if file.exists():
                return False
            self._make(file.parent)
            _sweep(file)
            return _write_new(file, content)

    def _make(self, folder: Path) -> None:
        """Make `folder` below the root, durably."""
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(exist_ok=True)
            _force(folder.parent)

    async def get(self, match_id: str) -> bytes | None:
        """Return the file of `match_id`, or None."""
        return await asyncio.to_thread(self._get, self._root / name_of(match_id))

    def _get(self, file: Path) -> bytes | None:
        with _unavailable():
            try:
                return file.read_bytes()
            except FileNotFoundError:
                self._require()
                return None

    async def scan(self, *, after: str = "") -> AsyncIterator[str]:
        """Yield the ids of all matches after `after`; see `Archive.scan`."""
        for folder in await asyncio.to_thread(self._folders):
            for match_id in await asyncio.to_thread(self._matches, folder):
                if match_id > after:
                    yield match_id

    def _folders(self) -> list[Path]:
        with _unavailable():
            self._require()
            return sorted(self._root.glob("*/*/"))

    def _matches(self, folder: Path) -> list[str]:
        with _unavailable():
            names = (file.relative_to(self._root).as_posix() for file in folder.iterdir())
            return sorted(match_id for name in names if (match_id := match_of(name)))

    def location(self, match_id: str) -> str:
        """Return the path of the file of `match_id`."""
        return str(self._root / name_of(match_id))

    def _require(self) -> None:
        if not self._is_there():
            raise ArchiveUnavailable(f"{self._root} is no archive: is the volume mounted? ({MARK} is missing there)")

    def _is_there(self) -> bool:
        return (self._root / MARK).exists()


def _sweep(file: Path) -> None:
    """Remove what processes that were killed left of `file`, but not what another one is just writing."""
    for partial in file.parent.glob(f".{file.name}.*{PARTIAL}"):
        with suppress(FileNotFoundError):
            if clock.now_ms() / 1000 - partial.stat().st_mtime > LEFT_SECONDS:
                partial.unlink()


def _write_new(file: Path, content: bytes) -> bool:
    partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}{PARTIAL}")
    try:
        with partial.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        file.hardlink_to(partial)
    except FileExistsError:
        return False
    finally:
        partial.unlink(missing_ok=True)
    _force(file.parent)
    return True


def _force(folder: Path) -> None:
    """Have the names in `folder` on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveUnavailable(f"the archive's directory: {error}") from error
