"""What the README and the docs show runs as it stands, against a platform that is up."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from promontory.client.places import DATA_DIRECTORY
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from tests.support.pools import POOLS_FILE

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PROGRAM = re.compile(r"```python\n(?P<code>(?:(?!```).)*?asyncio\.run\(.*?)```", re.DOTALL)
SECONDS = 120


def programs() -> dict[str, str]:
    """Return the whole programs of the pages by where they stand; other snippets are parts of one."""
    found = [(page, match["code"]) for page in PAGES for match in PROGRAM.finditer(page.read_text(encoding="utf-8"))]
    return {f"{page.name} {number}": code for number, (page, code) in enumerate(found)}


@pytest.mark.timeout(SECONDS + 60)
async def test_the_programs_of_the_docs_run(tmp_path: Path) -> None:
    """Each pasted into a file and run, as a newcomer does; all of them at the same time."""
    settings = {"PROMONTORY_POOLS_FILE": str(POOLS_FILE)}
    with Platform(tmp_path / DATA_DIRECTORY, settings=settings) as platform:
        write_connection(platform)
        results = await asyncio.gather(*(_run(code, tmp_path) for code in programs().values()))
    assert dict(zip(programs(), results, strict=True)) == dict.fromkeys(programs(), "")


async def _run(code: str, directory: Path) -> str:
    """Return what went wrong with a program that runs in `directory`, nothing if it ended as it should."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=directory, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(SECONDS):
            printed, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        return "does not end"
    return "" if process.returncode == 0 and printed else errors.decode()
