"""train/events.jsonl: what happened to a run, a line an event, appended by whoever saw it."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import Any


def append(path: Path, event: str, **fields: Any) -> None:
    """Add {"time": ISO 8601 in UTC, "event": event, ...fields} as one line.

    A single write to a descriptor opened with O_APPEND, so that lines of the supervisor and
    of the workers never mix.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    line = json.dumps({"time": now, "event": event, **fields}, ensure_ascii=False) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
