"""The scoring process: builds its objects and serves them."""

from __future__ import annotations

from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.eventlog import redis_server
from promontory.eventlog.port import EventLog
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime import clock, server
from promontory.runtime.settings import ScoringSettings
from promontory.scoring.ladders import Ladders
from promontory.scoring.servicer import ScoringServicer
from promontory.scoring.usecases import Ratings, TallyMatch


async def main(settings: ScoringSettings) -> None:
    """Serve scoring until SIGTERM.

    Raises `UnsafeServer` or `LibraryMissing` if the server at `redis_url` must not or cannot hold the logs.
    """
    connections = redis_server.connect(settings.redis_url)
    await redis_server.check_policy(connections.commands, require_aof=settings.require_aof)
    log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
    await log.start()
    servicers = [(pb.DESCRIPTOR.services_by_name["ScoringService"], servicer(log))]
    await server.serve(server.Service(servicers=servicers, close=[connections.aclose]), settings)


def servicer(log: EventLog) -> ScoringServicer:
    """Return the servicer of scoring on `log`."""
    ladders = Ladders(log)
    return ScoringServicer(TallyMatch(log, ladders), Ratings(ladders))
