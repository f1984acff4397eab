"""Stand-ins for public images, where there is no registry of images to have them from.

They are made of Debian's packages, the Python that runs this and the server that the tests run, in a store of their own
outside the tree, once for each change of this file.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from promontory.runtime.embedded import find_binary

STORE = Path.home() / ".cache" / "promontory" / "containers"
STORAGE = ["--root", f"{STORE}/root", "--runroot", f"{STORE}/run", "--storage-driver", "overlay"]
BUILDAH = ["nice", "buildah", *STORAGE]

PYTHON, VALKEY, PROMETHEUS = "library/python:3.11-slim", "valkey/valkey:9.1", "prom/prometheus:v3.5.0"
RECIPE = "promontory.recipe"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
LIBRARIES = (
    "ca-certificates,libbz2-1.0,libexpat1,libffi8,liblzma5,libncursesw6,libreadline8,libsqlite3-0,libssl3,libuuid1,"
    "netbase,tzdata,zlib1g"
)
UNWANTED = ("doc", "locale", "man")
NOT_IN_SLIM = ("test", "tests", "idle_test", "tkinter", "config-*", "site-packages", "*.pyc", "__pycache__")


def run(*command: str | Path) -> str:
    """Run a command and return what it printed; raise `CalledProcessError`, its words on standard error."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def stand_in(name: str) -> str:
    """Make the stand-in for the public image `name`, unless there is one by today's recipe; return its full name."""
    image = f"docker.io/{name}"
    digest = hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode()).hexdigest()[:16]
    known = ["--filter", f"label={RECIPE}={digest}", "--filter", f"reference={image}"]
    if not run(*BUILDAH, "images", "--quiet", *known):
        container = run(*BUILDAH, "from", "scratch")
        with tempfile.TemporaryDirectory() as directory:
            MADE[name](container, Path(directory))
        run(*BUILDAH, "config", "--label", f"{RECIPE}={digest}", container)
        run(*BUILDAH, "commit", "--quiet", "--rm", "--format", "docker", container, image)
    return image


def _debian(container: str, directory: Path, packages: str) -> None:
    """Fill `container` with a small Debian that has `packages`."""
    leave = [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in UNWANTED]
    archive = directory / "debian.tar"
    run("nice", "mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", *leave, "bookworm", archive)
    run(*BUILDAH, "add", "--quiet", container, archive, "/")


def _python(container: str, directory: Path) -> None:
    """Fill `container` with this Python, less what the public image leaves out, and this machine's certificates."""
    _debian(container, directory, LIBRARIES)
    home, copy = Path(sys.base_prefix), directory / "local"
    lib = f"python3.{sys.version_info.minor}"
    shutil.copytree(home / "lib" / lib, copy / "lib" / lib, symlinks=True, ignore=shutil.ignore_patterns(*NOT_IN_SLIM))
    (copy / "lib" / lib / "site-packages").mkdir()
    for library in (home / "lib").glob("libpython*"):
        shutil.copy2(library, copy / "lib", follow_symlinks=False)
    (copy / "bin").mkdir()
    shutil.copy2(home / "bin" / lib, copy / "bin" / lib)
    for other in ("python3", "python"):
        (copy / "bin" / other).symlink_to(lib)
    for binary in (copy / "bin" / lib, *copy.rglob("*.so*")):
        run("strip", "--strip-unneeded", binary)
    run(*BUILDAH, "add", "--quiet", container, copy, "/usr/local")
    run(*BUILDAH, "add", "--quiet", container, CERTIFICATES, CERTIFICATES)
    for variable in ("SSL_CERT_FILE", "PIP_CERT"):
        run(*BUILDAH, "config", "--env", f"{variable}={CERTIFICATES}", container)
    run(*BUILDAH, "run", "--isolation", "chroot", container, "--", "ldconfig")
    run(*BUILDAH, "config", "--cmd", "python3", container)


def _valkey(container: str, directory: Path) -> None:
    """Fill `container` with the server that the tests run, and Debian's client by its name."""
    _debian(container, directory, "redis-tools,libssl3")
    run(*BUILDAH, "add", "--quiet", container, find_binary(), "/usr/local/bin/valkey-server")
    run(*BUILDAH, "run", "--isolation", "chroot", container, "--", "sh", "-c", VALKEY_SETUP)
    run(*BUILDAH, "config", "--volume", "/data", "--workingdir", "/data", "--cmd", "valkey-server", container)


VALKEY_SETUP = (
    "ln -s /usr/bin/redis-cli /usr/local/bin/valkey-cli && groupadd -r -g 999 valkey && "
    "useradd -r -g valkey -u 999 valkey && install -d -o valkey -g valkey /data"
)


def _prometheus(container: str, directory: Path) -> None:
    """Fill `container` with Debian's Prometheus, an older one, where the public image has it."""
    _debian(container, directory, "prometheus,busybox")
    run(*BUILDAH, "run", "--isolation", "chroot", container, "--", "sh", "-c", PROMETHEUS_SETUP)
    run(*BUILDAH, "config", "--entrypoint", '["/bin/prometheus"]', "--user", "65534", container)


PROMETHEUS_SETUP = "ln -sf busybox /bin/wget && install -d -o 65534 -g 65534 /prometheus"

MADE: dict[str, Callable[[str, Path], None]] = {PYTHON: _python, VALKEY: _valkey, PROMETHEUS: _prometheus}
