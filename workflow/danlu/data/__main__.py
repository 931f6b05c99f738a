"""python -m danlu.data: the data in their place, checked against the .dvc file."""

from __future__ import annotations

import argparse
from pathlib import Path

from danlu import errors
from danlu.data import digests, dvcfile, verified
from danlu.data.check import check
from danlu.data.obtain import obtain
from danlu.errors import DanluError


def bring(lock: Path, dvc: Path, data: Path, out: Path) -> None:
    """Data that are there are used as they are; else they are brought. Then they are checked."""
    wanted = dvcfile.read(dvc)
    if wanted.out.resolve() != data.resolve():
        raise DanluError(f"{dvc}: versions {wanted.out}; expected {data}, as `data` is configured")
    if not digests.any_there(data):
        obtain(wanted, lock)
    verified.write(out, wanted.md5, data, check(wanted, lock))


def main() -> None:
    """Read the command line; the settings are explained in config/README.md."""
    parser = argparse.ArgumentParser(prog="python -m danlu.data", description=__doc__)
    parser.add_argument("--lock", type=Path, required=True, help="envs/corpora.json")
    parser.add_argument("--dvc", type=Path, required=True, help="the .dvc file beside the data")
    parser.add_argument("--data", type=Path, required=True, help="where the data stand")
    parser.add_argument("--out", type=Path, required=True, help="the note that they were checked")
    told = parser.parse_args()
    errors.run(lambda: bring(told.lock, told.dvc, told.data, told.out))


if __name__ == "__main__":
    main()
