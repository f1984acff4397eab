"""The archive that a setting names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from promontory.archive.directory import DirectoryArchive
from promontory.archive.port import Archive, ArchiveIndex
from promontory.archive.reading import ArchivedEventLog
from promontory.archive.redis_index import RedisArchiveIndex
from promontory.eventlog.port import EventLog
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime.settings import SettingsError

FORMS = "file:///directory, or s3://bucket/prefix?endpoint=http://host:port"
_S3_OPTIONS = {"endpoint", "region", "addressing"}


def open_archive(url: str, *, is_new: bool = True) -> Archive:
    """Return the archive at `url`; a directory that is not there is made, if the archive may be a new one.

    If it may not, it is unavailable until the directory is there.

    Raises:
        SettingsError: it is of another form, or needs a package that is not installed.
        OSError: the directory cannot be made.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        return _directory(url, parts, is_new=is_new)
    if parts.scheme == "s3":
        return _bucket(url, parts)
    raise _unusable(url)


async def open_indexed(url: str, index: ArchiveIndex) -> Archive:
    """Return the archive at `url` whose files `index` knows.

    Where that knows any, a directory that is not there is a volume that is not mounted: a new archive in its place
    would take matches that are out of sight once it is. Raises what `open_archive` does, and `EventLogUnavailable`.
    """
    return open_archive(url, is_new=await index.is_empty())


async def with_archive(log: RedisEventLog, url: str) -> EventLog:
    """Return `log` as it is read with the archive at `url`; an empty one stands for none.

    Raises what `open_indexed` raises.
    """
    if not url:
        return log
    index = RedisArchiveIndex(log.caller)
    return ArchivedEventLog(log, await open_indexed(url, index), index)


def _directory(url: str, parts: SplitResult, *, is_new: bool) -> Archive:
    path = Path(unquote(parts.path))
    if parts.netloc or parts.query or not path.is_absolute():
        raise _unusable(url)
    archive = DirectoryArchive(path)
    if is_new:
        archive.prepare()
    return archive


def _bucket(url: str, parts: SplitResult) -> Archive:
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if not parts.netloc or options.keys() - _S3_OPTIONS:
        raise _unusable(url)
    try:
        from promontory.archive.s3 import Place, S3Archive  # noqa: PLC0415 - large, and an extra of its own
    except ModuleNotFoundError as error:
        text = f"PROMONTORY_ARCHIVE_URL names a bucket, which needs {error.name}: pip install 'promontory[s3]'"
        raise SettingsError(text) from error
    prefix = parts.path.strip("/")
    return S3Archive(Place(parts.netloc, prefix=f"{prefix}/" if prefix else "", **options))


def _unusable(url: str) -> SettingsError:
    return SettingsError(f"PROMONTORY_ARCHIVE_URL is {url!r}; it must be {FORMS}")
