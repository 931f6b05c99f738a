"""What must hold before the first job starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from danlu import preflight

DEVICES = [f"davinci{n}" for n in range(8)]
CLAIM = """
import sys, time
from pathlib import Path
from danlu import preflight
kept = preflight.claim(Path(sys.argv[1]))
print("claimed", flush=True)
time.sleep(60)
"""


def test_a_machine_with_its_npus_and_cann_lacks_nothing():
    environment = {"ASCEND_TOOLKIT_HOME": "/usr/local/Ascend"}
    assert preflight.missing_for_ascend(8, ["null", "davinci_manager", *DEVICES], environment) == []


def test_all_that_is_missing_is_told_at_once():
    npus, cann = preflight.missing_for_ascend(8, ["null", "davinci_manager", "davinci0"], {})
    assert npus.startswith("NPUs: found 1 (/dev/davinci0, ...); expected 8.")
    assert cann.startswith("CANN: neither ASCEND_TOOLKIT_HOME nor ASCEND_HOME_PATH is set;")


def test_a_machine_that_only_submits_jobs_needs_no_npus():
    preflight.check(npu=64, local=False)
    preflight.check(npu=0, local=True)


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout.readline() == "claimed\n"
        with pytest.raises(preflight.NotReady, match=f"running here .process {first.pid}."):
            preflight.claim(tmp_path)
        first.kill()
        first.wait()
    preflight.claim(tmp_path).close()
