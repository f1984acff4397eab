"""Stubs made from a service's descriptor: whatever the service, its methods as callables of one channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass


class Stub:
    """The methods of one service on one channel, under their own names.

    stub = Stub(channel, matchmaking_service_pb2.DESCRIPTOR.services_by_name["MatchmakingService"])
    response = await stub.GetTicket(GetTicketRequest(ticket_id=...), timeout=10)
    """

    def __init__(self, channel: grpc.aio.Channel, service: ServiceDescriptor) -> None:
        for method in service.methods:
            setattr(self, method.name, _callable(channel, method))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def _callable(channel: grpc.aio.Channel, method: MethodDescriptor) -> Any:
    makers = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, True): channel.stream_stream,
    }
    make: Any = makers[method.client_streaming, method.server_streaming]
    return make(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=_serialize,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
