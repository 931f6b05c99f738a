"""Where training begins, from what stands in train/ and what would make it now."""

from dataclasses import replace

import pytest

from danlu.pretrain.begin import Found, Made, Refuse, Republish, Resume, Start, beginning

NOW = Made({"training.learning_rate": 0.002, "seed": 42}, records="r1", code="c1")
FINISHED = {"steps": 240, "attempts": 2}
OTHER_SETTINGS = replace(NOW, settings={"training.learning_rate": 0.001, "seed": 42})
OTHER_RECORDS = replace(NOW, records="r0")
OTHER_CODE = replace(NOW, code="c0")


@pytest.mark.parametrize("made", [None, NOW, OTHER_SETTINGS, OTHER_RECORDS, OTHER_CODE])
def test_without_a_checkpoint_it_begins_at_the_first_step(made):
    assert beginning(Found(made), NOW) == Start()


def test_unfinished_it_goes_on_from_its_checkpoint():
    assert beginning(Found(NOW, checkpoint=80), NOW) == Resume(80)


def test_unfinished_under_other_code_it_goes_on_with_a_warning():
    begin = beginning(Found(OTHER_CODE, checkpoint=80), NOW)
    assert isinstance(begin, Resume)
    assert begin.step == 80
    assert "the code of this stage changed (c0 -> c1)" in begin.warning


def test_unfinished_on_other_records_it_is_refused():
    begin = beginning(Found(OTHER_RECORDS, checkpoint=80), NOW)
    assert isinstance(begin, Refuse)
    assert "the records changed" in begin.reason


@pytest.mark.parametrize("finished", [None, FINISHED])
def test_under_other_settings_it_is_refused_and_they_are_named(finished):
    begin = beginning(Found(OTHER_SETTINGS, finished, whole=True, checkpoint=80), NOW)
    assert isinstance(begin, Refuse)
    assert "training.learning_rate was 0.001, is 0.002" in begin.reason
    assert "seed" not in begin.reason


def test_finished_under_the_same_code_it_is_only_published_again():
    begin = beginning(Found(NOW, FINISHED, whole=True, checkpoint=240), NOW)
    assert begin == Republish(FINISHED)


@pytest.mark.parametrize("made", [OTHER_CODE, OTHER_RECORDS])
def test_finished_under_other_code_or_records_it_is_moved_aside_and_begins_anew(made):
    begin = beginning(Found(made, FINISHED, whole=True, checkpoint=240), NOW)
    assert isinstance(begin, Start)
    assert begin.aside


def test_finished_but_damaged_since_it_goes_on_from_what_is_left():
    begin = beginning(Found(NOW, FINISHED, whole=False, checkpoint=160), NOW)
    assert isinstance(begin, Resume)
    assert begin.step == 160
    assert "gone or damaged" in begin.warning


def test_finished_with_no_checkpoint_left_it_is_moved_aside_and_begins_anew():
    begin = beginning(Found(NOW, FINISHED, whole=False), NOW)
    assert isinstance(begin, Start)
    assert begin.aside


def test_checkpoints_of_unknown_settings_are_refused():
    assert isinstance(beginning(Found(other=True), NOW), Refuse)


def test_checkpoints_that_are_all_damaged_are_said_to_be():
    assert beginning(Found(NOW, other=True), NOW) == Start(
        warning="no checkpoint is complete: begins at step 1"
    )
