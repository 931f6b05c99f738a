"""Which MLflow run a run folder is, and what that has been sent."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from danlu import publish
from danlu.errors import DanluError

FILE = "mlflow.json"
USERINFO = re.compile(r"(?<=://)[^/\s]*@")


@dataclass(frozen=True)
class Receipt:
    """What a tracking server is known to hold of a run.

    tracking_uri: without user and password. key: of the training that was sent
    (record.Record). sent_steps: the last step of the curve that it holds.
    complete: it holds all that the run has, and how the run ended.
    """

    tracking_uri: str
    experiment_id: str | None = None
    run_id: str | None = None
    key: str | None = None
    sent_steps: int = 0
    complete: bool = False


def without_credentials(text: str) -> str:
    """Text in which no address holds a user or a password."""
    return USERINFO.sub("", text)


def read(run: Path) -> Receipt | None:
    """The receipt of a run folder; None where nothing was ever sent.

    Raises DanluError where it is damaged.
    """
    path = run / FILE
    try:
        return Receipt(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise DanluError(
            f"{path}: damaged ({error}); delete it, the run is found again by its key"
        ) from error


def write(run: Path, receipt: Receipt) -> None:
    """Keep the receipt in the run folder."""
    publish.json_file(run / FILE, asdict(receipt))
