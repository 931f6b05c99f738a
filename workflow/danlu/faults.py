"""Pydantic's faults in words for the person who writes YAML: what was found, what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

# Pydantic's kinds of faults whose own words speak of Python, in words that speak of YAML.
_WORDS = {
    "model_type": "a mapping of settings",
    "tuple_type": "a list",
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "invalid_key": "text as a key",
    "string_too_short": "text that is not empty",
}


def show(value: Any) -> str:
    """A value as it was found, with its kind where YAML leaves a doubt."""
    if isinstance(value, str):
        return f"{value!r} (text)"
    if isinstance(value, bool):
        return f"{str(value).lower()} (true or false)"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return str(value)


def own(error: ValidationError) -> list[Any]:
    """Pydantic's faults, without the one of a list that counts only the items that are right."""
    faults = error.errors()
    inside = {fault["loc"][:end] for fault in faults for end in range(1, len(fault["loc"]))}
    return [f for f in faults if not (f["type"] == "too_short" and f["loc"] in inside)]


def _hint(error: Mapping[str, Any]) -> str:
    if error["type"] not in ("float_type", "int_type") or not isinstance(error["input"], str):
        return ""
    try:
        float(error["input"])
    except ValueError:
        return ""
    if "e" in error["input"].lower():
        return " (YAML reads 1e-4 as text: write 1.0e-4)"
    return " (write it without quotes)"


def allowed(error: Mapping[str, Any]) -> str:
    """What one of pydantic's faults would have let through, and how to write it."""
    return _kind(error) + _hint(error)


def _kind(error: Mapping[str, Any]) -> str:
    kind = error["type"]
    if kind in _WORDS:
        return _WORDS[kind]
    if kind == "too_short":
        return f"a list of at least {error['ctx']['min_length']}"
    if kind == "string_pattern_mismatch":
        return f"text of the pattern {error['ctx']['pattern']}"
    message = error["msg"]
    for said in ("Input should be ", "Value should be ", "Value error, "):
        message = message.removeprefix(said)
    return message


def siblings(model: Any, path: tuple[str, ...]) -> str:
    """The keys that are known where `path` is not; model: the section that `path` starts in."""
    for part in path[:-1]:
        model = model.model_fields[part].annotation
    return ", ".join(model.model_fields)
