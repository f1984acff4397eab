"""Ask a gRPC server for its health, for clusters whose kubelet cannot: `python probe.py host:port [service]`."""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

SECONDS = 3
SERVING = health_pb2.HealthCheckResponse.SERVING


def is_serving(target: str, service: str = "") -> bool:
    """Return whether `service` at `target` says that it serves; raise `grpc.RpcError` if it does not answer."""
    with grpc.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=SECONDS, wait_for_ready=True)
    return bool(answer.status == SERVING)


if __name__ == "__main__":
    try:
        sys.exit(not is_serving(*sys.argv[1:]))
    except grpc.RpcError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
