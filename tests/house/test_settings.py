"""Every setting there is has an effect."""

from __future__ import annotations

import re
from dataclasses import fields

from promontory.runtime.settings import ALL
from tests.house.source import MODULES, lines_of

SETTINGS = {field.name for kind in ALL for field in fields(kind)}


def test_every_setting_is_read_somewhere() -> None:
    read = {name for module in MODULES for name in re.findall(r"\bsettings\.([a-z_]+)", "\n".join(lines_of(module)))}
    assert SETTINGS - read == set()
