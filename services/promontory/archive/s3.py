"""The archive in a bucket of an S3-compatible store."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import msgspec
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from promontory.archive.port import match_of, name_of
from promontory.eventlog.port import ArchiveUnavailable

CONNECT_SECONDS, ANSWER_SECONDS, ATTEMPTS = 2, 4, 2
_ABSENT = {"NoSuchKey", "404"}
_TAKEN = {"PreconditionFailed", "412"}
_CONDITIONS_UNKNOWN = {"NotImplemented", "501"}


class Place(msgspec.Struct, frozen=True):
    """A bucket, and what the names of all its archived files begin with: empty, or ending in `/`.

    `endpoint` is the store's URL, empty for Amazon's; `region` and `addressing` (`auto`, `path`, `virtual`) may be
    left to what the endpoint and the environment say.
    """

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    addressing: str = "auto"


class S3Archive:
    """An `Archive` in a bucket, which must exist.

    Credentials are found as Amazon's tools find them: environment, shared files, the machine's or pod's role. The store
    checks each upload by its SHA-256, and refuses a name that is taken; one that knows no such condition is asked
    before, which leaves a moment in which two that archive the same match both write the same.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = _client(place)

    async def put(self, match_id: str, content: bytes) -> bool:
        """Keep the file of `match_id`; see `Archive.put`."""
        return await asyncio.to_thread(self._put, self._key(match_id), content)

    def _put(self, key: str, content: bytes) -> bool:
        with _unavailable():
            if self._exists(key):
                return False
            try:
                self._upload(key, content, IfNoneMatch="*")
            except ClientError as error:
                if _code(error) in _TAKEN:
                    return False
                if _code(error) not in _CONDITIONS_UNKNOWN:
                    raise
                self._upload(key, content)
            return True

    def _upload(self, key: str, content: bytes, **conditions: str) -> None:
        checksum = base64.b64encode(hashlib.sha256(content).digest()).decode()
        where = {"Bucket": self._place.bucket, "Key": key}
        self._client.put_object(
            **where, Body=content, ContentType="application/zstd", ChecksumSHA256=checksum, **conditions
        )

    def _exists(self, key: str) -> bool:
        try:
            self._client.head_object(Bucket=self._place.bucket, Key=key)
        except ClientError as error:
            if _code(error) not in _ABSENT:
                raise
            return False
        return True

    async def get(self, match_id: str) -> bytes | None:
        """Return the file of `match_id`, or None."""
        return await asyncio.to_thread(self._get, self._key(match_id))

    def _get(self, key: str) -> bytes | None:
        with _unavailable():
            try:
                response = self._client.get_object(Bucket=self._place.bucket, Key=key)
            except ClientError as error:
                if _code(error) not in _ABSENT:
                    raise
                return None
            content: bytes = response["Body"].read()
            return content

    async def scan(self, *, after: str = "") -> AsyncIterator[str]:
        """Yield the ids of all matches after `after`; see `Archive.scan`."""
        start = self._key(after) if after else self._place.prefix
        while True:
            keys = await asyncio.to_thread(self._page, start)
            for key in keys:
                if match_id := match_of(key.removeprefix(self._place.prefix)):
                    yield match_id
            if not keys:
                return
            start = keys[-1]

    def _page(self, start: str) -> list[str]:
        with _unavailable():
            place = self._place
            page = self._client.list_objects_v2(Bucket=place.bucket, Prefix=place.prefix, StartAfter=start)
            return [each["Key"] for each in page.get("Contents", ())]

    def location(self, match_id: str) -> str:
        """Return the URL of the file of `match_id`."""
        return f"s3://{self._place.bucket}/{self._key(match_id)}"

    def _key(self, match_id: str) -> str:
        return self._place.prefix + name_of(match_id)


def _client(place: Place) -> Any:
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=ANSWER_SECONDS,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": place.addressing},
    )
    session = boto3.session.Session()
    region = place.region or session.region_name or "us-east-1"
    return session.client("s3", endpoint_url=place.endpoint or None, region_name=region, config=config)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError, OSError, RecursionError) as error:  # the last: it is redirected for ever
        raise ArchiveUnavailable(f"the archive's store: {error}") from error
