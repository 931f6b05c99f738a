"""How the kernels are compiled: once a machine, and again where any of their code has changed."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

from danlu.corpus import wide


def _digest() -> str:
    """Of the files of this stage that have to do with kernels."""
    texts = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    return hashlib.sha256(b"".join(text for text in texts if b"numba" in text)).hexdigest()


_SOURCES = _digest()


def compiled(*signatures: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function for these signatures, and keep the code on disk.

    numba takes kept code for current while the file of the function itself is unchanged, also
    where a function of another file that it calls is not. What a function encloses is part of
    the key that numba keeps it by, so the digest of these files is enclosed.
    """

    def compile_(function: Callable[..., Any]) -> Callable[..., Any]:
        code = function.__code__
        enclosing = types.FunctionType(
            code.replace(co_freevars=(*code.co_freevars, "sources")),
            function.__globals__,
            function.__name__,
            function.__defaults__,
            (*(function.__closure__ or ()), types.CellType(_SOURCES)),
        )
        enclosing.__qualname__ = function.__qualname__
        enclosing.__module__ = function.__module__
        enclosing.__doc__ = function.__doc__
        kernel: Callable[..., Any] = njit(list(signatures), **wide.KERNEL)(enclosing)
        return kernel

    return compile_
