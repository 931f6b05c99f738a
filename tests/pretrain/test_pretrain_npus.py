"""A run on NPUs says at once what this machine lacks for it."""

import pytest

from danlu.pretrain import npus

CANN = {"ASCEND_TOOLKIT_HOME": "/usr/local/Ascend/latest"}


def test_npus_are_those_that_the_driver_shows(tmp_path):
    for name in ("davinci10", "davinci2", "davinci_manager", "null"):
        (tmp_path / name).touch()
    assert npus.present(tmp_path) == [2, 10]


def test_a_machine_with_all_of_it_lacks_nothing():
    assert npus.missing(8, list(range(8)), CANN) == []
    assert npus.missing(2, [0, 1, 2, 3], {**CANN, npus.VISIBLE: "2, 3"}) == []


def test_a_machine_without_npus_is_told_of_all_that_is_missing():
    faults = npus.missing(8, [], {})
    assert len(faults) == 2
    assert "found 0" in faults[0] and "expected 8" in faults[0]
    assert "set_env.sh" in faults[1]


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ("0,1", "ASCEND_RT_VISIBLE_DEVICES=0,1 grants 2 of the 4 NPUs asked for"),
        ("0,1,2,9", "ASCEND_RT_VISIBLE_DEVICES=0,1,2,9: this machine has no NPU 9"),
        ("all", "ASCEND_RT_VISIBLE_DEVICES: found 'all'; expected numbers of NPUs, like 0,1,2,3"),
    ],
)
def test_visible_devices_that_do_not_fit_are_refused(told, fault):
    assert npus.missing(4, [0, 1, 2, 3], {**CANN, npus.VISIBLE: told}) == [fault]


def test_the_workers_get_the_first_of_what_is_visible():
    assert npus.chosen(2, [0, 1, 2, 3], {npus.VISIBLE: "3, 1,0"}) == "3,1"
    assert npus.chosen(2, [0, 1, 2, 3], {}) == "0,1"
