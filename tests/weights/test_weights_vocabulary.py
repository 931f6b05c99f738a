"""Token ids agree everywhere, or the stage stops."""

import json
import shutil

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.weights import vocabulary


@pytest.fixture
def folder(tokenizer_folder, tmp_path):
    return shutil.copytree(tokenizer_folder, tmp_path / "tokenizer")


def change_ids(folder, change):
    path = folder / "ids.json"
    ids = json.loads(path.read_text())
    change(ids)
    path.write_text(json.dumps(ids))


def test_ids_are_read(folder):
    ids = vocabulary.read(folder, 96)
    assert (ids.padding.id, ids.begin.id, ids.end_of_document.id) == (0, 1, 2)
    assert ids.end_of_document.token == "<|endoftext|>"
    assert ids.vocab_size == 96


def test_vocabulary_of_another_size_than_the_models_is_refused(folder):
    with pytest.raises(DanluError, match=r"vocab_size 96; the experiment's model\.vocab_size: 128"):
        vocabulary.read(folder, 128)


def test_tokenizer_larger_than_the_model_is_refused(folder):
    change_ids(folder, lambda ids: ids.update(vocab_size=64))
    with pytest.raises(DanluError, match=r"96 tokens with ids up to 95; .* allows up to 63"):
        vocabulary.read(folder, 64)


def test_special_token_with_another_id_is_refused(folder):
    change_ids(folder, lambda ids: ids["end_of_document"].update(id=3))
    with pytest.raises(DanluError, match=r"end_of_document is .* with id 3; .* gives it id 2"):
        vocabulary.read(folder, 96)


def test_special_token_that_the_tokenizer_lacks_is_refused(folder):
    change_ids(folder, lambda ids: ids["begin"].update(token="<s>"))
    with pytest.raises(DanluError, match=r"begin is '<s>' with id 1; .* gives it no id"):
        vocabulary.read(folder, 96)


def test_changed_tokenizer_is_refused(folder):
    path = folder / "tokenizer.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(DanluError, match=r"not the file that ids\.json was written for"):
        vocabulary.read(folder, 96)


@pytest.mark.parametrize("name", ["ids.json", "tokenizer.json"])
def test_missing_or_damaged_file_is_refused(folder, name):
    (folder / name).write_text("{")
    with pytest.raises(DanluError, match="make the tokenizer anew"):
        vocabulary.read(folder, 96)
    (folder / name).unlink()
    with pytest.raises(DanluError, match="make the tokenizer anew"):
        vocabulary.read(folder, 96)


def test_prompts_that_were_read_otherwise_are_refused(folder):
    vocabulary.check_prompts(folder, ["w5 w7", "w9"], [np.array([5, 7]), np.array([9])])
    with pytest.raises(DanluError, match=r"prompts\[1\] \('w9'\): .* as \[8\], .* as \[9\]"):
        vocabulary.check_prompts(folder, ["w5 w7", "w9"], [np.array([5, 7]), np.array([8])])


def test_trainer_with_other_ids_is_refused(folder, tmp_path):
    ids = vocabulary.read(folder, 96)
    path = tmp_path / "mindformers.yaml"
    agreeing = {"vocab_size": 96, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    vocabulary.check_trained(path, agreeing, ids)
    vocabulary.check_trained(path, {"vocab_size": 96}, ids)
    with pytest.raises(DanluError) as caught:
        vocabulary.check_trained(path, agreeing | {"eos_token_id": 0, "vocab_size": 97}, ids)
    assert str(caught.value).splitlines() == [
        f"{path}: model.model_config.vocab_size: trained with 97; the tokenizer has 96",
        f"{path}: model.model_config.eos_token_id: trained with 0; the tokenizer has 2",
    ]
