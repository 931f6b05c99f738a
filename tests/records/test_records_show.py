"""`danlu records show`: what of a row a person sees."""

import json
import shutil

import pytest
from click.testing import CliRunner

from danlu.cli import main
from danlu.records import show
from danlu.records.build import build
from danlu.tokenizer import bpe


@pytest.fixture
def records(corpus, tokenizer, settings, tmp_path):
    """build/records/key of three rows in two parts, with its tokenizer beside it."""
    folder = tmp_path / "build/records/key"
    build(corpus, tokenizer, settings(mask_end_of_document=True), folder, lambda line: None)
    shutil.copytree(tokenizer, tmp_path / "build/tokenizer/key")
    return folder


def danlu(*arguments):
    return CliRunner().invoke(main, ["records", "show", *map(str, arguments)])


def test_a_row_is_shown_with_its_texts_and_a_line_a_place(records):
    done = danlu(records, 0)
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "part-00000.mindrecord, row 0: 9 of 9 tokens, 6 labels with loss",
        "",
        "--- document 0",
        "a b c a <end>",
        "",
        "--- document 1",
        "法 律 <end>",
        "",
        "--- document 2",
        "c",
        "",
        "place  document  position  token  text     label  loss",
        "    0         0         0      3  'a'          4     1",
        "    1         0         1      4  'b'          5     1",
        "    2         0         2      5  'c'          3     1",
        "    3         0         3      3  'a'          2     1",
        "    4         0         4      2  '<end>'      6     0",
        "    5         1         5      6  '法'         7     1",
        "    6         1         6      7  '律'         2     1",
        "    7         1         7      2  '<end>'      5     0",
    ]


def test_what_is_no_whole_character_is_spelt_by_its_bytes():
    encoder = bpe.train(["法法 law"], 258, 2, ["<end>"])  # one pair of bytes in "法" is merged
    tokens = encoder.encode("法 law 和\x01").ids
    assert [show._spelt(encoder, token) for token in (0, *tokens)] == [
        *("<end>", "<E6>", "<B3 95>", " ", "l", "a", "w", " ", "<E5>", "<92>", "<8C>", "\x01")
    ]


def test_rows_are_counted_through_the_parts_or_in_one(records):
    whole = json.loads(danlu(records, 2, "--json").output)
    part = json.loads(danlu(records / "part-00001.mindrecord", 0, "--json").output)
    assert whole == part
    assert (whole["part"], whole["number"], whole["filled"]) == ("part-00001.mindrecord", 0, 7)
    assert whole["columns"]["loss_mask"] == [1, 1, 1, 1, 1, 1, 0, 0]
    assert whole["texts"] == ["a b a b a b <end>"]
    done = danlu(records, 3)
    assert (done.exit_code, "row 3: it has rows 0 to 2" in done.stderr) == (1, True)


def test_a_damaged_part_is_named_and_not_read(records):
    path = records / "part-00000.mindrecord"
    path.write_bytes(path.read_bytes()[:-9] + b"\xff" * 9)
    done = danlu(records, 0)
    assert done.exit_code == 1
    assert "part-00000.mindrecord: damaged: sha256" in done.stderr
    path.with_name("part-00001.mindrecord.db").unlink()
    assert "part-00001.mindrecord.db: cannot be read: No such file" in danlu(records, 2).stderr


def test_without_its_tokenizer_ids_are_shown(records):
    shutil.rmtree(records.parent.parent / "tokenizer")
    done = danlu(records, 0)
    assert "--tokenizer gives the text" in done.stderr
    assert "    0         0         0      3  -         4     1" in done.output.splitlines()


def test_another_tokenizer_is_refused(records, tokenizer):
    path = tokenizer / "tokenizer.json"
    path.write_text(path.read_text() + "\n")
    ids = json.loads((tokenizer / "ids.json").read_text())
    import hashlib

    ids["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tokenizer / "ids.json").write_text(json.dumps(ids))
    done = danlu(records, 0, "--tokenizer", tokenizer)
    assert (done.exit_code, "not the tokenizer that" in done.stderr) == (1, True)
