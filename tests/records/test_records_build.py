"""The records stage: the folder it writes, and what it refuses."""

import hashlib
import json
import random
import subprocess
import sys

import pytest

from danlu.errors import DanluError
from danlu.records import manifest
from danlu.records.build import build


def rows(folder):
    """input_ids, labels and loss_mask of all rows as training reads them, in order."""
    from danlu.records import reading

    files = sorted(str(path) for path in folder.glob("*.mindrecord"))
    dataset = reading.dataset(files, manifest.read(folder).form(), shuffle=False)
    return [
        tuple(row[name].astype(int).tolist() for name in ("input_ids", "labels", "loss_mask"))
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    ]


def contents(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_the_train_split_is_joined_packed_and_vouched_for(corpus, tokenizer, settings, tmp_path):
    made = build(corpus, tokenizer, settings(), tmp_path / "out")
    assert rows(tmp_path / "out") == [
        ([3, 4, 5, 3, 2, 6, 7, 2], [4, 5, 3, 2, 6, 7, 2, 5], [1] * 8),
        ([5, 2, 3, 4, 3, 4, 3, 4], [2, 3, 4, 3, 4, 3, 4, 3], [1] * 8),
        ([3, 4, 3, 4, 3, 4, 2, 0], [4, 3, 4, 3, 4, 2, 0, 0], [1] * 6 + [0] * 2),
    ]
    assert manifest.verify(tmp_path / "out") == made
    told = json.loads((tmp_path / "out/manifest.json").read_text())
    assert {key: told[key] for key in told if key not in ("parts", "ids")} == {
        "rows": 3,
        "tokens": 22,
        "padding_share": 1 - 22 / 24,
        "seq_length": 8,
        "vocab_size": 16,
        "packing": "concat",
        "begin_of_document": False,
        "mask_end_of_document": False,
        "position_ids": "row",
        "documents": {"en": 3, "zh": 1},
        "document_tokens": {"en": 20, "zh": 3},
        "columns": ["tokens"],
    }
    assert told["ids"] == json.loads((tokenizer / "ids.json").read_text())
    assert [(part["file"], part["rows"]) for part in told["parts"]] == [
        ("part-00000.mindrecord", 2),
        ("part-00000.mindrecord.db", 0),
        ("part-00001.mindrecord", 1),
        ("part-00001.mindrecord.db", 0),
    ]


def test_documents_begin_and_are_kept_whole_where_asked_for(corpus, tokenizer, settings, tmp_path):
    told = settings(packing="best_fit", begin_of_document=True)
    build(corpus, tokenizer, told, tmp_path / "out")
    # Rows of nine tokens. The last document has 14: a row, and five that fill the second.
    assert rows(tmp_path / "out") == [
        ([1, 3, 4, 5, 3, 2, 1, 5], [3, 4, 5, 3, 2, 1, 5, 2], [1] * 8),
        ([1, 6, 7, 2, 3, 4, 3, 4], [6, 7, 2, 3, 4, 3, 4, 2], [1] * 8),
        ([1, 3, 4, 3, 4, 3, 4, 3], [3, 4, 3, 4, 3, 4, 3, 4], [1] * 8),
    ]


def test_a_second_run_gives_the_same_folder_byte_for_byte(corpus, tokenizer, settings, tmp_path):
    for name in ("first", "second"):
        build(corpus, tokenizer, settings(packing="best_fit"), tmp_path / name)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    assert len(contents(tmp_path / "first")) == 6


def test_a_run_over_a_finished_folder_replaces_all_of_it(corpus, tokenizer, settings, tmp_path):
    build(corpus, tokenizer, settings(rows_per_file=1), tmp_path / "out")
    build(corpus, tokenizer, settings(rows_per_file=9), tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "lengths.png",
        "manifest.json",
        "part-00000.mindrecord",
        "part-00000.mindrecord.db",
    ]


def test_the_end_of_a_document_carries_no_loss_where_that_is_asked_for(
    corpus, tokenizer, settings, tmp_path
):
    made = build(corpus, tokenizer, settings(mask_end_of_document=True), tmp_path / "out")
    assert [(inputs, mask) for inputs, _, mask in rows(tmp_path / "out")] == [
        ([3, 4, 5, 3, 2, 6, 7, 2], [1, 1, 1, 1, 0, 1, 1, 0]),
        ([5, 2, 3, 4, 3, 4, 3, 4], [1, 0, 1, 1, 1, 1, 1, 1]),
        ([3, 4, 3, 4, 3, 4, 2, 0], [1, 1, 1, 1, 1, 1, 0, 0]),
    ]
    assert made.tokens == 22 - 3
    assert made.padding_share == 1 - 22 / 24


def test_the_encoder_and_why_it_was_taken_are_said(corpus, tokenizer, settings, tmp_path):
    said = []
    build(corpus, tokenizer, settings(), tmp_path / "out", said.append)
    (line,) = said
    assert line.startswith("encoder: ")
    assert "; not gigatoken: Unsupported model type" in line


def test_held_out_text_is_in_no_record(corpus, tokenizer, settings, tmp_path):
    build(corpus, tokenizer, settings(), tmp_path / "out")
    secret = 8
    assert not [row for row in rows(tmp_path / "out") if secret in row[0] + row[1]]


def test_the_picture_is_a_png(corpus, tokenizer, settings, tmp_path):
    build(corpus, tokenizer, settings(), tmp_path / "out")
    assert (tmp_path / "out/lengths.png").read_bytes().startswith(b"\x89PNG")


def test_a_tokenizer_that_was_changed_is_refused_by_the_command(
    corpus, tokenizer, settings, tmp_path
):
    ids = json.loads((tokenizer / "ids.json").read_text())
    ids["padding"]["id"] = 1
    (tokenizer / "ids.json").write_text(json.dumps(ids))
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "danlu.records",
            *("--corpus", str(corpus), "--tokenizer", str(tokenizer)),
            *("--settings", settings().canonical(), "--out", str(tmp_path / "out")),
        ],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        f"danlu: {tokenizer}/tokenizer.json: id of '<pad>': 0; {tokenizer}/ids.json: 1; "
        "run the tokenizer stage again\n"
    )


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_document_is_rebuilt_from_the_written_files(
    corpus, tokenizer, settings, tmp_path, packing, seed
):
    drawn = random.Random(seed)
    words = {"a": 3, "b": 4, "c": 5, "法": 6, "律": 7}
    texts = [
        [drawn.choice(list(words)) for _ in range(drawn.choice([1, 2, 7, 8, 9, 10, 17, 18, 40]))]
        for _ in range(80)
    ]
    lines = [
        json.dumps({"id": f"{n}", "text": " ".join(text), "lang": "en"})
        for n, text in enumerate(texts)
    ]
    (corpus / "train.jsonl").write_text("\n".join(lines) + "\n")
    told = settings(packing=packing, rows_per_file=30)
    made = build(corpus, tokenizer, told, tmp_path / "out")
    given = [[words[word] for word in text] for text in texts]
    stream = []
    rebuilt = []
    for number, (inputs, labels, mask) in enumerate(rows(tmp_path / "out")):
        row = [inputs[0], *(label for label, counts in zip(labels, mask, strict=True) if counts)]
        # A row of concat begins with the last token of the row before.
        stream = stream + row[1 if number else 0 :] if packing == "concat" else row
        if packing == "best_fit":
            rebuilt += pieces(stream)
    if packing == "concat":
        assert pieces(stream) == given
    else:
        # Documents longer than a row stand in several, each but the last without an end.
        whole = [text for text in given if len(text) < 9]
        assert all(text in rebuilt for text in whole)
        assert sorted(t for piece in rebuilt for t in piece) == sorted(t for x in given for t in x)
        assert len(rebuilt) == sum(-(-(len(text) + 1) // 9) for text in given)
    assert made.tokens == sum(sum(mask) for _, _, mask in rows(tmp_path / "out"))


def pieces(tokens):
    """The stretches between end-of-document tokens (2), without them."""
    found = [[]]
    for token in tokens:
        if token == 2:
            found.append([])
        else:
            found[-1].append(token)
    return found if found[-1] else found[:-1]


def test_a_corpus_without_a_token_is_refused_and_leaves_nothing(
    corpus, tokenizer, settings, tmp_path
):
    (corpus / "train.jsonl").write_text('{"id": "d", "text": " ", "lang": "en"}\n')
    with pytest.raises(DanluError, match=r"train\.jsonl: no document has a token"):
        build(corpus, tokenizer, settings(), tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "tokenizer"]
