"""The environment of a run: the lock, what is installed, the machine."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.errors import DanluError

LOCKS = {"cpu": Path("envs/cpu.txt"), "ascend": Path("envs/ascend.txt")}

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
# Kernels choose their code by these, and sum in another order with another width.
_VECTOR_FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "neon", "asimd", "sve")


def lock_file(target: str, project: Path) -> Path:
    """The lock of a target. Raises DanluError where it is missing."""
    path = project / LOCKS[target]
    if not path.is_file():
        raise DanluError(
            f"{LOCKS[target]}: not there; it locks the environment of target {target}: "
            "restore it from git"
        )
    return path


def pins(lock: Path) -> dict[str, str]:
    """Package to version, as the lock pins them; names normalised (PEP 503)."""
    found = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        match = _PIN.match(line)
        if match:
            found[_normal(match[1])] = match[2]
    return dict(sorted(found.items()))


def installed(packages: Iterable[str]) -> dict[str, str | None]:
    """The installed version of each package, None where it is not, and that of Python."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def environment_differences(
    then: Mapping[str, str | None], now: Mapping[str, str | None]
) -> list[str]:
    """One line a package whose version is not what it was."""
    return [
        f"{name}: {_version(then.get(name))} then, {_version(now.get(name))} now"
        for name in sorted(then.keys() | now.keys())
        if then.get(name) != now.get(name)
    ]


def lock_record(lock: Path, project: Path) -> dict[str, str]:
    """The lock's path inside the project and its sha256."""
    return {"file": lock.relative_to(project).as_posix(), "sha256": publish.sha256(lock)}


def machine() -> dict[str, Any]:
    """What the bits of a result may depend on. Sizes in bytes; no host or user names."""
    import psutil

    model, flags = _processor()
    return {
        "platform": platform.platform(),
        "cpu": model,
        "cpu_flags": flags,
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "threads": os.cpu_count(),
        "memory": psutil.virtual_memory().total,
        "npus": npus(),
    }


def npus(devices: Path = Path("/dev"), ascend: Path = Path("/usr/local/Ascend")) -> dict[str, Any]:
    """How many Ascend NPUs the kernel shows, and the versions of driver and CANN."""
    return {
        "count": sum(1 for path in devices.glob("davinci[0-9]*")),
        "driver": _ascend_version(ascend / "driver" / "version.info"),
        "cann": _ascend_version(
            *sorted(ascend.glob("ascend-toolkit/latest/*/ascend_toolkit_install.info"))
        ),
    }


def _processor() -> tuple[str, list[str]]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine(), []
    fields = dict(
        (part.strip() for part in line.split(":", 1))
        for line in text.split("\n\n")[0].splitlines()
        if ":" in line
    )
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    model = fields.get("model name") or platform.processor() or platform.machine()
    return model, [flag for flag in _VECTOR_FLAGS if flag in flags]


def _ascend_version(*candidates: Path) -> str | None:
    for path in candidates:
        try:
            match = re.search(r"(?im)^version\s*=\s*(\S+)", path.read_text())
        except OSError:
            continue
        if match:
            return match[1]
    return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _version(version: str | None) -> str:
    return version or "not installed"
