"""What training checks before it starts."""

import hashlib
import json
import subprocess
import sys

import pytest

from danlu import experiments
from danlu.errors import DanluError
from danlu.records import manifest

REST = {
    "rows": 5,
    "tokens": 39,
    "padding_share": 0.025,
    "seq_length": 8,
    "vocab_size": 8192,
    "packing": "concat",
    "begin_of_document": False,
    "mask_end_of_document": False,
    "position_ids": "row",
    "documents": {"en": 3},
    "document_tokens": {"en": 40},
    "ids": {
        "vocab_size": 8192,
        "tokenizer_size": 8000,
        "end_of_document": {"token": "<|endoftext|>", "id": 2},
        "padding": {"token": "<|padding|>", "id": 0},
        "begin": {"token": "<|begin|>", "id": 1},
        "sha256": "0" * 64,
    },
    "columns": ["tokens"],
}
CONTENTS = {
    "part-00000.mindrecord": b"rows of the first part",
    "part-00000.mindrecord.db": b"index of the first",
    "part-00001.mindrecord": b"rows of the second, so",
    "part-00001.mindrecord.db": b"index of another",
}


@pytest.fixture
def folder(tmp_path):
    """A records folder of two parts, whose bytes need be no MindRecord to be verified."""
    rows = {"part-00000.mindrecord": 3, "part-00001.mindrecord": 2}
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    parts = [
        {
            "file": name,
            "rows": rows.get(name, 0),
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for name, content in CONTENTS.items()
    ]
    (tmp_path / "manifest.json").write_text(json.dumps({**REST, "parts": parts}))
    (tmp_path / "lengths.png").write_bytes(b"")
    return tmp_path


def faults(folder):
    """The lines of the refusal, without the folder's name before them and the advice after."""
    with pytest.raises(DanluError) as refused:
        manifest.verify(folder)
    *lines, advice = str(refused.value).splitlines()
    assert (
        advice
        == f"{folder}: not what was written; delete the folder and run the records stage again"
    )
    return [line.removeprefix(f"{folder}/") for line in lines]


def test_an_untouched_folder_is_what_its_manifest_says(folder):
    found = manifest.verify(folder)
    assert (found.rows, found.tokens, found.vocab_size) == (5, 39, 8192)
    assert found.ids.padding.id == 0


def test_a_missing_part_is_named(folder):
    (folder / "part-00001.mindrecord").unlink()
    assert faults(folder) == ["part-00001.mindrecord: missing"]


def test_a_missing_index_is_named(folder):
    (folder / "part-00000.mindrecord.db").unlink()
    assert faults(folder) == ["part-00000.mindrecord.db: missing"]


@pytest.mark.parametrize("name", ["part-00002.mindrecord", "below/part-00000.mindrecord"])
def test_a_part_too_many_is_named_also_in_a_folder_below(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"more")
    assert faults(folder) == [f"{name}: not in manifest.json"]


def test_a_part_with_one_byte_changed_is_named(folder):
    (folder / "part-00000.mindrecord").write_bytes(b"rows of the first partz"[1:])
    (line,) = faults(folder)
    assert line.startswith("part-00000.mindrecord: damaged: sha256 ")


def test_a_part_cut_short_is_named(folder):
    (folder / "part-00000.mindrecord").write_bytes(b"rows")
    assert faults(folder) == ["part-00000.mindrecord: 4 bytes, expected 22"]


def test_two_parts_that_changed_places_are_named(folder):
    first, second = folder / "part-00000.mindrecord", folder / "part-00001.mindrecord"
    first.rename(folder / "aside")
    second.rename(first)
    (folder / "aside").rename(second)
    assert faults(folder) == [
        "part-00000.mindrecord: holds what part-00001.mindrecord should",
        "part-00001.mindrecord: holds what part-00000.mindrecord should",
    ]


def test_by_size_only_what_is_missing_or_cut_is_noticed(folder):
    (folder / "part-00001.mindrecord").write_bytes(b"rows of the second, to")
    assert manifest.verify(folder, "size").rows == 5
    (folder / "part-00000.mindrecord").write_bytes(b"rows")
    (folder / "part-00001.mindrecord").unlink()
    with pytest.raises(DanluError) as refused:
        manifest.verify(folder, "size")
    assert str(refused.value).splitlines()[:2] == [
        f"{folder}/part-00001.mindrecord: missing",
        f"{folder}/part-00000.mindrecord: 4 bytes, expected 22",
    ]


def test_a_part_that_cannot_be_read_is_named(folder):
    (folder / "part-00000.mindrecord").unlink()
    (folder / "part-00000.mindrecord").symlink_to(folder)
    assert faults(folder) == ["part-00000.mindrecord: missing"]


def test_all_faults_are_named_at_once(folder):
    (folder / "part-00000.mindrecord").unlink()
    (folder / "part-00001.mindrecord.db").write_bytes(b"")
    (folder / "part-00009.mindrecord").write_bytes(b"")
    assert faults(folder) == [
        "part-00000.mindrecord: missing",
        "part-00009.mindrecord: not in manifest.json",
        "part-00001.mindrecord.db: 0 bytes, expected 16",
    ]


def test_a_manifest_whose_rows_are_not_those_of_its_parts_is_refused(folder):
    change(folder, '"rows": 5', '"rows": 6')
    assert faults(folder) == ["manifest.json: rows 6, but its parts have 5"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"rows": 5', '"rows": "5"', r"manifest\.json: rows: .*integer; run the records stage"),
        ('"seq_length": 8, ', "", r"manifest\.json: seq_length: Field required"),
        ("{", "", r"manifest\.json: JSON: Invalid JSON"),
    ],
)
def test_a_damaged_manifest_is_refused(folder, old, new, said):
    change(folder, old, new)
    with pytest.raises(DanluError, match=said):
        manifest.verify(folder)


def test_a_folder_without_a_manifest_is_refused(folder):
    (folder / "manifest.json").unlink()
    with pytest.raises(DanluError, match=r"manifest\.json: No such file.*; run the records stage"):
        manifest.verify(folder)


def change(folder, old, new):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace(old, new, 1))


@pytest.fixture
def experiment(request):
    config = request.config.rootpath / "config" / "config.yaml"
    return experiments.resolve("baseline", config, "cpu")


def test_records_made_for_an_experiment_agree_with_it(folder, experiment):
    change(folder, '"seq_length": 8', f'"seq_length": {experiment.records.seq_length}')
    manifest.agree(manifest.verify(folder), experiment)


def test_every_disagreement_with_an_experiment_is_named(folder, experiment):
    change(folder, '"seq_length": 8', '"seq_length": 9')
    change(folder, '"packing": "concat"', '"packing": "best_fit"')
    change(folder, '"vocab_size": 8192', '"vocab_size": 300')
    change(folder, "<|padding|>", "<pad>")
    with pytest.raises(DanluError) as refused:
        manifest.agree(manifest.verify(folder), experiment)
    assert str(refused.value).splitlines() == [
        f"manifest.json: seq_length: 9; the experiment has records.seq_length: "
        f"{experiment.records.seq_length}",
        "manifest.json: packing: 'best_fit'; the experiment has records.packing: 'concat'",
        "manifest.json: vocab_size: 300; the experiment has model.vocab_size: 8192",
        "manifest.json: ids.padding.token: '<pad>'; the experiment has "
        "tokenizer.padding_token: '<|padding|>'",
        "run the records stage for this experiment",
    ]


def test_neither_verifying_nor_loading_the_stage_imports_mindspore():
    heavy = "{'mindspore', 'mindformers', 'matplotlib', 'pandas', 'mlflow'}"
    subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, danlu.records.manifest, danlu.records.build, danlu.tokenizer.build;"
            f"assert not {heavy} & sys.modules.keys()",
        ],
        check=True,
    )
