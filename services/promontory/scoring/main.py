"""The scoring process: builds its objects and serves them."""

from __future__ import annotations

from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.archive.opening import with_archive
from promontory.eventlog.port import EventLog
from promontory.eventlog.redis_streams import open_log
from promontory.runtime import clock
from promontory.runtime.server import Service, serve
from promontory.runtime.settings import ScoringSettings
from promontory.scoring.ladders import Ladders
from promontory.scoring.servicer import ScoringServicer
from promontory.scoring.usecases import ForgetPlayer, Ratings, TallyMatch


async def main(settings: ScoringSettings) -> None:
    """Serve scoring until SIGTERM.

    Raises `UnsafeServer` or `LibraryMissing` if the server at `redis_url` must not or cannot hold the logs, and
    `SettingsError` if the archive's address is malformed.
    """
    async with open_log(settings.redis_url, clock=clock.now_ms, require_aof=settings.require_aof) as log:
        archived = await with_archive(log, settings.archive_url)
        servicers = [(pb.DESCRIPTOR.services_by_name["ScoringService"], servicer(archived))]
        await serve(Service(servicers=servicers, replica="scoring"), settings)


def servicer(log: EventLog) -> ScoringServicer:
    """Return the servicer of scoring on `log`."""
    ladders = Ladders(log)
    return ScoringServicer(TallyMatch(log, ladders), Ratings(ladders), ForgetPlayer(ladders, clock.now_ms))
