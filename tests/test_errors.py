"""What a stage says at its end, and its exit status."""

from __future__ import annotations

import errno
import os

import pytest

from danlu import errors


def fail(error: Exception):
    def function():
        raise error

    return function


def test_an_expected_failure_is_its_lines_and_status_1(capsys):
    with pytest.raises(SystemExit) as ended:
        errors.run(fail(errors.DanluError("one\ntwo")))
    assert ended.value.code == 1
    assert capsys.readouterr().err == "danlu: one\ndanlu: two\n"


def test_a_full_disk_is_a_line_and_status_1(capsys):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "build/x")
    with pytest.raises(SystemExit) as ended:
        errors.run(fail(full))
    assert ended.value.code == 1
    expected = "danlu: build/x: cannot be written: No space left on device\n"
    assert capsys.readouterr().err == expected


def test_what_nobody_expected_keeps_its_traceback():
    with pytest.raises(FileNotFoundError):
        errors.run(fail(FileNotFoundError(errno.ENOENT, "no such file", "x")))
