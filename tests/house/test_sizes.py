"""The package keeps to the house's sizes: short functions, short modules, few parameters."""

from __future__ import annotations

from statistics import median, quantiles

import pytest

from tests.house.source import MODULES, functions_of, length, lines_of, parameters

LONGEST_FUNCTION = 60
LONGEST_MODULE = 500
MOST_PARAMETERS = 5


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_at_most_500_lines(module: str) -> None:
    assert len(lines_of(module)) <= LONGEST_MODULE


@pytest.mark.parametrize("module", MODULES)
def test_a_function_has_at_most_60_lines(module: str) -> None:
    lengths = {function.name: length(module, function) for function in functions_of(module)}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


@pytest.mark.parametrize("module", MODULES)
def test_a_function_has_at_most_5_parameters(module: str) -> None:
    counts = {function.name: parameters(function) for function in functions_of(module)}
    assert {name: count for name, count in counts.items() if count > MOST_PARAMETERS} == {}


def test_half_of_all_functions_have_at_most_10_lines_and_nine_in_ten_at_most_30() -> None:
    lengths = [length(module, function) for module in MODULES for function in functions_of(module)]
    assert median(lengths) <= 10
    assert quantiles(lengths, n=10)[-1] <= 30


def test_half_of_all_modules_have_at_most_200_lines() -> None:
    assert median(len(lines_of(module)) for module in MODULES) <= 200
