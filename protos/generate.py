"""Generate `services/promontory/api` from the protos; with `--check`, only tell whether it is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
PROTOS = ROOT / "protos"
API = ROOT / "services" / "promontory" / "api"
PLUGINS = [
    f"--plugin=protoc-gen-{name}={Path(sys.executable).parent}/protoc-gen-{name}" for name in ("mypy", "mypy_grpc")
]


def main() -> None:
    """Bring the generated code up to date, or exit with 1 and the list of files that are not."""
    with TemporaryDirectory() as folder:
        fresh = _contents(_generate(Path(folder)))
    present = _contents(API)
    drift = sorted(name for name in fresh.keys() | present.keys() if fresh.get(name) != present.get(name))
    if "--check" not in sys.argv[1:]:
        for name in drift:
            _write(API / name, fresh.get(name))
    elif drift:
        sys.exit("\n".join(["Generated code differs from the protos; run `make protos`:", *map(str, drift)]))
    sys.stdout.write(f"{len(fresh)} generated files, {len(drift)} changed\n")


def _generate(folder: Path) -> Path:
    """Return the package generated into `folder`: messages of every proto, stubs of those that define a service."""
    protos = sorted(PROTOS.rglob("*.proto"))
    _protoc("python", "mypy", folder=folder, protos=protos)
    _protoc("grpc_python", "mypy_grpc", folder=folder, protos=[p for p in protos if p.stem.endswith("_service")])
    package = folder / "promontory" / "api"
    for path in [package, *package.rglob("*/")]:
        (path / "__init__.py").touch()
    return package


def _protoc(code: str, types: str, *, folder: Path, protos: list[Path]) -> None:
    outputs = [f"--{code}_out={folder}", f"--{types}_out=quiet:{folder}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOS}", *PLUGINS, *outputs, *map(str, protos)]
    subprocess.run(command, check=True)


def _contents(package: Path) -> dict[Path, bytes]:
    files = [path for pattern in ("*.py", "*.pyi") for path in package.rglob(pattern)]
    return {path.relative_to(package): path.read_bytes() for path in files}


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
