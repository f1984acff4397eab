"""The least that a durable command can cost: a bare server of gRPC that appends the same bytes, each command once.

`python -m tests.bench.peers.floor <socket of the store> <bytes told to watchers>` prints its port. There is no
identity, no rules, no view, no metric: one function in the store compares the version, looks the command up, appends
its entries and notes both, called over one connection that carries all calls. `Append` is unary, `Play` the same as one
stream in both directions, and `Watch` tells what was appended to whoever watches a match.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import grpc
import hiredis
import uvloop
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

SERVICE = "bench.Floor"
LIBRARY = """#!lua name=bench_floor
redis.register_function('bench_append', function(keys, args)
  local known = redis.call('HGET', keys[2], args[2])
  if known then return {2, tonumber(known)} end
  local version = tonumber(redis.call('HGET', keys[2], 'v') or '0')
  if version ~= tonumber(args[1]) then return {0, version} end
  version = version + 1
  for number = 3, #args do
    redis.call('XADD', keys[1], version .. '-' .. (number - 2), 'e', args[number])
  end
  redis.call('HSET', keys[2], 'v', version, args[2], version)
  redis.call('PUBLISH', keys[1], version)
  return {1, version}
end)
"""

_Field = FieldDescriptorProto
_FIELDS = {
    "Append": {
        "match": (_Field.TYPE_STRING, _Field.LABEL_OPTIONAL),
        "expected": (_Field.TYPE_INT64, _Field.LABEL_OPTIONAL),
        "command_id": (_Field.TYPE_STRING, _Field.LABEL_OPTIONAL),
        "entries": (_Field.TYPE_BYTES, _Field.LABEL_REPEATED),
    },
    "Appended": {
        "match": (_Field.TYPE_STRING, _Field.LABEL_OPTIONAL),
        "version": (_Field.TYPE_INT64, _Field.LABEL_OPTIONAL),
        "told": (_Field.TYPE_BYTES, _Field.LABEL_OPTIONAL),
    },
}


def _messages() -> tuple[Any, ...]:
    file = FileDescriptorProto(name="bench/floor.proto", package="bench", syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for number, (field, (kind, label)) in enumerate(fields.items(), start=1):
            message.field.add(name=field, number=number, type=kind, label=label)
    pool = DescriptorPool()
    pool.Add(file)
    return tuple(GetMessageClass(pool.FindMessageTypeByName(f"bench.{name}")) for name in _FIELDS)


Append, Appended = _messages()


class Connection(asyncio.Protocol):
    """One connection for all calls: those of one turn of the loop go out in one write, answers come in their order."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._unsent: list[bytes] = []
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self._transport = transport

    def call(self, *arguments: Any) -> asyncio.Future[Any]:
        """Return what becomes the answer to one command."""
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(hiredis.pack_command(arguments))
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append(answer)
        return answer

    def _send(self) -> None:
        self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        """Give answers to whom they are for."""
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            answer = self._waiting.popleft()
            if isinstance(reply, Exception):
                answer.set_exception(reply)
            else:
                answer.set_result(reply)


class Floor:
    """Appends what it is told to, and tells watchers."""

    def __init__(self, store: Connection, told: bytes) -> None:
        self._store, self._told = store, told
        self._watchers: dict[str, list[asyncio.Queue[Any]]] = {}

    async def append(self, request: Any, _context: Any) -> Any:
        """Append, and return the version."""
        key = f"{{{request.match}}}"
        status, version = await self._store.call(
            *("FCALL", "bench_append", 2, f"{key}:log", f"{key}:state"),
            *(request.expected, request.command_id, *request.entries),
        )
        if status != 1:
            raise ValueError(f"match {request.match} is at {version}, not at {request.expected}")
        for queue in self._watchers.get(request.match, ()):
            queue.put_nowait(Appended(match=request.match, version=version, told=self._told))
        return Appended(match=request.match, version=version)

    async def play(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        """Append whatever comes, and yield each version as soon as it is there."""
        answers: asyncio.Queue[Any] = asyncio.Queue()

        async def answer(request: Any) -> None:
            answers.put_nowait(await self.append(request, context))

        async def read() -> None:
            async with asyncio.TaskGroup() as appending:
                async for request in requests:
                    appending.create_task(answer(request))
            answers.put_nowait(None)

        reading = asyncio.create_task(read())
        while (appended := await answers.get()) is not None:
            yield appended
        await reading

    async def watch(self, request: Any, _context: Any) -> AsyncIterator[Any]:
        """Yield a message at once, and one for every append to the match."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        self._watchers.setdefault(request.match, []).append(queue)
        yield Appended(match=request.match)
        while True:
            yield await queue.get()

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """Return the handler of all three methods."""
        how = {"request_deserializer": Append.FromString, "response_serializer": Appended.SerializeToString}
        methods = {
            "Append": grpc.unary_unary_rpc_method_handler(self.append, **how),
            "Play": grpc.stream_stream_rpc_method_handler(self.play, **how),
            "Watch": grpc.unary_stream_rpc_method_handler(self.watch, **how),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)


async def main(socket: str, told: int) -> None:
    """Serve until the input ends."""
    _, store = await asyncio.get_running_loop().create_unix_connection(Connection, socket)
    await store.call("FUNCTION", "LOAD", "REPLACE", LIBRARY)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([Floor(store, bytes(told)).handler()])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f'{{"port": {port}}}\n')
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2])))
