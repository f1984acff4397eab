"""What the relay and the workers talk to the broker with."""

from __future__ import annotations

from kombu import Connection

from promontory.runtime.broker import broker_url, celery_settings
from promontory.runtime.embedded import EmbeddedServer


def test_a_channel_keeps_its_client_until_its_connections_are_lost(valkey: EmbeddedServer) -> None:
    """Kombu would make one for each message, at the price of half a task."""
    settings = celery_settings(broker_url("", valkey.url))
    with Connection(settings["broker_url"], transport_options=settings["broker_transport_options"]) as connection:
        channel = connection.channel()
        clients = [channel._create_client() for _ in range(2)]
        channel._disconnect_pools()
        clients.append(channel._create_client())
    assert [client is clients[0] for client in clients] == [True, True, False]
