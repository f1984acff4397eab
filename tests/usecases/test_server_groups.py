"""The addresses of servers that stand in for one another."""

from __future__ import annotations

import pytest
from redis.asyncio import SSLConnection

from promontory.eventlog.redis_cluster import cluster_map, slot_of
from promontory.eventlog.redis_sentinel import PrimaryTlsConnection
from promontory.eventlog.redis_server import connect
from promontory.eventlog.server_groups import Account, Kind, ServerGroup, ServerUrlError, is_group, server_group


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "sentinel://a:26379,b:26380/main",
            ServerGroup(Kind.SENTINEL, (("a", 26379), ("b", 26380)), Account(), "main"),
        ),
        (
            "sentinel://ada:p%40s%2Cs@a,[::1]/main%2F1?db=3&sentinel_username=eve&sentinel_password=x%26y",
            ServerGroup(
                Kind.SENTINEL,
                (("a", 26379), ("::1", 26379)),
                Account("ada", "p@s,s"),
                "main/1",
                3,
                sentinel_account=Account("eve", "x&y"),
            ),
        ),
        ("cluster://:secret@a:7000,b", ServerGroup(Kind.CLUSTER, (("a", 7000), ("b", 6379)), Account("", "secret"))),
        ("clusters://a/0", ServerGroup(Kind.CLUSTER, (("a", 6379),), Account(), tls={})),
        (
            "sentinels://a/main?ssl_ca_certs=/ca.crt&ssl_check_hostname=false",
            ServerGroup(
                Kind.SENTINEL,
                (("a", 26379),),
                Account(),
                "main",
                tls={"ssl_ca_certs": "/ca.crt", "ssl_check_hostname": False},
            ),
        ),
    ],
)
def test_a_url_says_all_there_is_to_say(url: str, expected: ServerGroup) -> None:
    assert server_group(url) == expected


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("sentinel://a:26379", "calls the primary"),
        ("sentinel:///main", "no host"),
        ("cluster://a:6379,,b", "no host"),
        ("cluster://a:port", "for a port"),
        ("cluster://a:70000", "for a port"),
        ("cluster://a/3", "none but 0"),
        ("cluster://a?db=0", "the option db"),
        ("sentinel://a/main?ssl_ca_certs=/ca.crt", "the option ssl_ca_certs"),
        ("sentinels://a/main?ssl_check_hostname=perhaps", "ssl_check_hostname"),
        ("sentinel://a/main?db=first", "the database"),
        ("redis://a", "begins with redis"),
    ],
)
def test_a_malformed_url_is_refused_with_what_is_wrong(url: str, problem: str) -> None:
    with pytest.raises(ServerUrlError, match=problem):
        server_group(url)


def test_a_refusal_does_not_show_a_password() -> None:
    with pytest.raises(ServerUrlError) as refused:
        server_group("cluster://ada:secret@a:port")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["redis://a", "rediss://a", "unix:///a.sock"])
def test_one_server_is_no_group(url: str) -> None:
    assert not is_group(url)


async def test_who_to_be_and_tls_reach_every_connection() -> None:
    by_sentinel = connect("sentinels://ada:secret@a/main?ssl_ca_certs=/ca.crt&sentinel_password=other").commands
    pool = by_sentinel.connection_pool
    assert pool.connection_class is PrimaryTlsConnection
    assert (
        pool.connection_kwargs.items() >= {"username": "ada", "password": "secret", "ssl_ca_certs": "/ca.crt"}.items()
    )
    by_cluster = connect("clusters://:secret@a?ssl_ca_certs=/ca.crt").commands
    assert by_cluster.connection_pool.connection_class is SSLConnection
    assert by_cluster.connection_pool.connection_kwargs.items() >= {"host": "a", "password": "secret"}.items()


# Slots


@pytest.mark.parametrize(
    "command",
    [
        ("GET", "{tc:0a7}:fence"),
        ("FCALL", "append_1", 7, "{tc:0a7}:m:x:log", "{tc:0a7}:m:x:head"),
        ("XREAD", "COUNT", 500, "BLOCK", 10, "STREAMS", "{tc:0a7}:feed", "0"),
        ("HGETALL", b"{tc:0a7}:m:x:seen"),
    ],
)
def test_a_command_goes_where_its_key_is(command: tuple[object, ...]) -> None:
    """[event_log 2.2] All of a bucket shares a slot."""
    assert slot_of(command) == slot_of(("GET", "{tc:0a7}"))


@pytest.mark.parametrize("command", [("TIME",), ("FCALL", "present_1", 0), ("CONFIG GET", "maxmemory")])
def test_what_has_no_key_goes_to_one_node(command: tuple[object, ...]) -> None:
    """So that a time that is read is always the same clock's."""
    assert slot_of(command) == 0


def test_a_map_names_the_owner_of_every_slot_and_every_node() -> None:
    """A node that does not know its own name is the one that was asked."""
    rows = [[0, 99, [b"a", 1, b"id"], [b"b", 2, b"id"]], [100, 16383, [b"", 3, b"id"]]]
    found = cluster_map(rows, ("asked", 9))
    assert (found.owners[0], found.owners[99], found.owners[100]) == (("a", 1), ("a", 1), ("asked", 3))
    assert found.primaries == (("a", 1), ("asked", 3))
    assert found.nodes == (("a", 1), ("b", 2), ("asked", 3))
