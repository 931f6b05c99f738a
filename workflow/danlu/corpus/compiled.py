"""How the kernels are compiled: once a machine, and again where any of their code has changed."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba import njit
from numba.core.caching import InTreeCacheLocator

from danlu.corpus import kernels, wide


class UserCache(InTreeCacheLocator):  # type: ignore[misc]
    """Tells numba to keep the code in the user's cache instead of beside its source.

    The folder is that of the sources (kernels.folder), numba and processor; numba itself also
    asks for its version, the processor's features and the source's digest before it takes any.
    """

    def __init__(self, py_func: Any, py_file: str):
        super().__init__(py_func, py_file)
        made_for = f"numba-{numba.__version__}-{binding.get_host_cpu_name()}"
        beside = Path(py_file).parent.relative_to(kernels.STAGE)
        self._cache_path = str(Path(kernels.folder() or "", made_for, beside))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """The locator; None, for the next kind to be asked, where there is no such cache."""
        if kernels.folder() is None or not Path(py_file).is_relative_to(kernels.STAGE):
            return None
        return super().from_function(py_func, py_file)


# A folder that NUMBA_CACHE_DIR names has the first word, one beside the source the last but one.
if not numba.config.CACHE_LOCATOR_CLASSES:
    numba.config.CACHE_LOCATOR_CLASSES = (
        f"UserProvidedCacheLocator,{__name__}.UserCache,InTreeCacheLocator,UserWideCacheLocator"
    )


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
            (*(function.__closure__ or ()), types.CellType(kernels.sources())),
        )
        enclosing.__qualname__ = function.__qualname__
        enclosing.__module__ = function.__module__
        enclosing.__doc__ = function.__doc__
        kernel: Callable[..., Any] = njit(list(signatures), **wide.KERNEL)(enclosing)
        return kernel

    return compile_
