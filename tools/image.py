"""Build the image: for users from the public base image, with docker, podman or buildah, whichever there is.

`build-for-tests` takes a stand-in of that, where there is no registry of images, and makes those of the servers beside
it; see `tools/stand_ins.py`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from promontory import __version__
from tools.stand_ins import BUILDAH, PROMETHEUS, PYTHON, STORAGE, VALKEY, run, stand_in

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
NEEDED = {"buildah": "buildah", "podman": "podman", "runc": "runc", "mmdebstrap": "mmdebstrap", "strip": "binutils"}
"""Programs that stand-ins are made and run with, and Debian's packages that have them."""
COMPOSE_NEEDED = {"dockerd": "docker.io", "docker": "docker.io", "ip": "iproute2"}
"""The same for a Docker of the tests' own."""
IMAGE = f"promontory:{__version__}"
MIRROR = "Where docker.io is out of reach, name a mirror of its base: make image ARGS='--base HOST/python:3.11-slim'"


def missing(action: str) -> list[str]:
    """Return what is not here that `action` needs: Debian's packages, and the rights of root."""
    programs = {**NEEDED, **(COMPOSE_NEEDED if action == "compose-needs" else {})}
    packages = {f"the package {package}" for program, package in programs.items() if shutil.which(program) is None}
    return [*sorted(packages), *([] if os.geteuid() == 0 else ["the rights of root"])]


def build_for_tests() -> str:
    """Build the image from the stand-in of its base, and return its name; make the other stand-ins."""
    for name in (PYTHON, VALKEY, PROMETHEUS):
        stand_in(name)
    isolation = ["--isolation", "chroot", "--pull-never", "--layers", "--format", "docker"]
    run(*BUILDAH, "build", "--quiet", *isolation, *_described(), "--tag", IMAGE, ROOT)
    run("podman", *STORAGE, "image", "prune", "--force", "--filter", "until=24h")  # keeps what builds take up again
    return IMAGE


class BuildFailed(Exception):
    """The image could not be built; what the builder said stands above."""


def build(base: str = "") -> str:
    """Build the image from the public base image, or `base`, with what is here, and return its name.

    Raises `LookupError` if nothing is here that builds images, `BuildFailed`.
    """
    engine = next((name for name in ("docker", "podman", "buildah") if _works(name)), None)
    if engine is None:
        raise LookupError("found none of docker (with its daemon), podman and buildah, which images are built with")
    form = [] if engine == "docker" else ["--format", "docker"]
    based = ["--build-arg", f"PYTHON_IMAGE={base}"] if base else []
    try:
        subprocess.run([engine, "build", *form, *_described(), *based, "--tag", IMAGE, str(ROOT)], check=True)
    except subprocess.CalledProcessError as error:
        text = f"{engine} could not build the image (exit code {error.returncode}): what it said stands above"
        raise BuildFailed(f"{text}. {MIRROR}") from error
    return IMAGE


def _works(engine: str) -> bool:
    if shutil.which(engine) is None:
        return False
    return subprocess.run([engine, "info"], capture_output=True, check=False).returncode == 0


def _described() -> list[str]:
    """Return the arguments of a build that say what is built, and from which commit."""
    git = shutil.which("git")
    found = [run(git, "-C", ROOT, "rev-parse", "HEAD")] if git and (ROOT / ".git").exists() else ["unknown"]
    named = {"VERSION": __version__, "REVISION": found[0]}
    arguments = [part for name, value in named.items() for part in ("--build-arg", f"{name}={value}")]
    return [*arguments, "--file", str(DOCKERFILE)]


def main(argv: Sequence[str] | None = None) -> int:
    """Build, or tell what is missing for it; the exit code is 3 if something is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("action", choices=("build", "build-for-tests", "needs", "compose-needs"))
    parser.add_argument("--base", default="", metavar="IMAGE", help="build from this instead of the public base image")
    arguments = parser.parse_args(argv)
    action = arguments.action
    if action != "build" and (lacking := missing(action)):
        sys.stderr.write(f"to run containers here, there lacks {', '.join(lacking)}\n")
        return 3
    try:
        if action.startswith("build"):
            built = build(arguments.base) if action == "build" else build_for_tests()
            sys.stdout.write(f"built {built}\n")
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except BuildFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
