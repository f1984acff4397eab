"""A Prometheus and an Alertmanager of this machine's own packages, on loopback, and somebody whom they call."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.monitored import RULE_FILES, rules_of
from tests.deploy.running import fetch, free_ports, until

PROGRAMS = {name: shutil.which(name) for name in ("prometheus", "promtool", "prometheus-alertmanager", "amtool")}
MISSING = [name for name, path in PROGRAMS.items() if path is None]
STOP_SECONDS = 10


class Webhook:
    """Takes the notifications of an Alertmanager, as a context manager; `seen` holds alerts by name and status."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], dict[str, Any]] = {}

    def __enter__(self) -> Webhook:
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                seen.update({(each["labels"]["alertname"], each["status"]): each for each in body["alerts"]})
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(STOP_SECONDS)

    @property
    def url(self) -> str:
        """Where notifications are sent."""
        return f"http://127.0.0.1:{self._server.server_port}/"


class Prometheus:
    """A running Prometheus."""

    def __init__(self, address: str) -> None:
        self.address = address

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that an expression gives now."""
        answer = fetch(f"http://{self.address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
        assert answer, f"Prometheus does not take {expression}"
        found: list[dict[str, Any]] = json.loads(answer)["data"]["result"]
        return found

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire."""
        return {each["metric"]["alertname"] for each in self.query('ALERTS{alertstate="firing"}')}


@contextmanager
def alertmanager(directory: Path, webhook: Webhook) -> Iterator[str]:
    """Run an Alertmanager that tells `webhook` of everything after a second; yield its address."""
    config = {
        "route": {"receiver": "us", "group_by": ["alertname"], "group_wait": "1s", "group_interval": "1s"},
        "receivers": [{"name": "us", "webhook_configs": [{"url": webhook.url, "send_resolved": True}]}],
    }
    file = _write(directory / "alertmanager.yml", config)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    options = [f"--config.file={file}", f"--storage.path={directory / 'alertmanager'}", "--cluster.listen-address="]
    with _running("prometheus-alertmanager", [*options, f"--web.listen-address={address}"], address, directory):
        yield address


@contextmanager
def prometheus(directory: Path, targets: Sequence[str], *, tells: str = "", patience: str = "") -> Iterator[Prometheus]:
    """Run a Prometheus that reads `targets` and judges our rules every second, and tells the Alertmanager `tells`.

    Alerts wait for `patience` before they fire, if it is given, instead of what their rules say.
    """
    config: dict[str, Any] = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(each) for each in _rules(directory, patience)],
        "scrape_configs": [{"job_name": "promontory", "static_configs": [{"targets": list(targets)}]}],
    }
    if tells:
        config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [tells]}]}]}
    file = _write(directory / "prometheus.yml", config)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    options = [f"--config.file={file}", f"--storage.tsdb.path={directory / 'tsdb'}", f"--web.listen-address={address}"]
    with _running("prometheus", options, address, directory):
        yield Prometheus(address)


def _rules(directory: Path, patience: str) -> Iterator[Path]:
    folder = directory / "rules"
    folder.mkdir()
    for file in RULE_FILES:
        rules = [{**rule, "for": patience} if patience and "for" in rule else rule for rule in rules_of(file)]
        yield _write(folder / file.name, {"groups": [{"name": file.stem, "rules": rules}]})


def _write(file: Path, content: Mapping[str, Any]) -> Path:
    file.write_text(yaml.safe_dump(content), "utf-8")
    return file


@contextmanager
def _running(program: str, options: Sequence[str], address: str, directory: Path) -> Iterator[None]:
    with ExitStack() as stack:
        log = stack.enter_context((directory / f"{program}.log").open("wb"))
        process = subprocess.Popen([str(PROGRAMS[program]), *options], stdout=log, stderr=log, cwd=directory)
        stack.callback(process.wait, STOP_SECONDS)
        stack.callback(process.terminate)
        until(lambda: process.poll() is not None or bool(fetch(f"http://{address}/-/ready")))
        assert process.poll() is None, (directory / f"{program}.log").read_text("utf-8")
        yield
