"""Which of this machine's NPUs a run on target ascend gets, and what is missing for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from danlu import preflight

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
_DEVICE = re.compile(r"davinci(\d+)")


def present(dev: Path = Path("/dev")) -> list[int]:
    """The numbers of the NPUs that the driver shows, ascending: /dev/davinci<n>."""
    matches = (_DEVICE.fullmatch(path.name) for path in dev.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def chosen(devices: int, npus: list[int], environment: Mapping[str, str]) -> str:
    """ASCEND_RT_VISIBLE_DEVICES for the workers: the first `devices` NPUs that may be used.

    Batch systems that only count NPUs set no such variable; then the first of the machine.
    """
    told = _numbers(environment.get(VISIBLE, ""))
    return ",".join((told or [str(number) for number in npus])[:devices])


def missing(devices: int, npus: list[int], environment: Mapping[str, str]) -> list[str]:
    """All that this machine lacks to train on so many NPUs, a line each; empty where nothing.

    npus: what `present` found.
    """
    names = [f"davinci{number}" for number in npus]
    faults = preflight.missing_for_ascend(devices, names, environment)
    told = environment.get(VISIBLE)
    if not told:
        return faults
    numbers = _numbers(told)
    if not all(number.isdigit() for number in numbers):
        return [*faults, f"{VISIBLE}: found {told!r}; expected numbers of NPUs, like 0,1,2,3"]
    if len(numbers) < devices:
        faults.append(f"{VISIBLE}={told} grants {len(numbers)} of the {devices} NPUs asked for")
    absent = [number for number in numbers if int(number) not in npus]
    if absent and npus:
        faults.append(f"{VISIBLE}={told}: this machine has no NPU {', '.join(absent)}")
    return faults


def _numbers(told: str) -> list[str]:
    return [part.strip() for part in told.split(",") if part.strip()]
