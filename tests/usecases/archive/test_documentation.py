"""The example in the documentation runs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from promontory.archive.opening import open_archive
from tests.support.archiving import Depot

GUIDE = Path(__file__).parents[3] / "docs" / "archive.md"
PLACE = "file:///srv/promontory"


async def test_the_example_goes_through_all_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    depot, archive = Depot(), open_archive(tmp_path.as_uri())
    match = await depot.archived()
    await archive.put(match.match_id, depot.archive.files[match.match_id])
    code = GUIDE.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    assert PLACE in code
    names: dict[str, object] = {}
    body = textwrap.indent(code.replace(PLACE, tmp_path.as_uri()), "    ")
    exec(f"async def example():\n{body}", names)  # noqa: S102 - our own documentation
    await names["example"]()  # type: ignore[operator]
    assert capsys.readouterr().out == f"{match.match_id} tc ('ada', 'ben') {match.updated_at_ms}\n"
