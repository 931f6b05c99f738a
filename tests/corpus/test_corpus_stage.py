"""The stage from end to end: what goes in comes out, or is told why not."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from danlu.corpus.dedup import jaccard, shingles
from danlu.corpus.stage import build
from danlu.errors import DanluError

SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo", "zu"]


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def data(tmp_path) -> Path:
    """200 English and 100 Chinese texts, near copies of every fifth, and one text for each rule."""
    draw = random.Random(3)
    english = [
        " ".join("".join(draw.choices(SYLLABLES, k=2)) for _ in range(60)) for _ in range(200)
    ]
    chinese = ["".join(chr(draw.randrange(0x4E00, 0x9FA5)) for _ in range(80)) for _ in range(100)]
    rows = [{"id": f"en{n}", "text": text} for n, text in enumerate(english)]
    rows += [{"id": f"en{n}+", "text": f"{english[n]} more"} for n in range(0, 200, 5)]
    write(tmp_path / "data/english.jsonl", rows)
    rows = [{"id": f"zh{n}", "text": text} for n, text in enumerate(chinese)]
    rows += [{"id": f"zh{n}+", "text": f"{chinese[n]}。新"} for n in range(0, 100, 5)]
    write(tmp_path / "data/chinese.jsonl", rows)
    rules = {
        "exact_duplicate": english[1] + "\n",
        "too_short": "short",
        "garbled": english[2][:50] + "\ufffd\x01\x02",
        "punctuation": "-" * 40,
        "repetition": "again and again and " * 9,
    }
    write(tmp_path / "data/rules.jsonl", [{"id": k, "text": v} for k, v in rules.items()])
    return tmp_path / "data"


def test_each_document_is_kept_or_dropped_by_one_rule_and_all_add_up(data, told, tmp_path):
    out = tmp_path / "out"
    build(data, told(), out)
    assert sorted(os.listdir(out)) == [
        "clusters.html",
        "dropped.png",
        "dups.parquet",
        "heldout.jsonl",
        "rejected.jsonl",
        "stats.json",
        "train.jsonl",
    ]
    stats = json.loads((out / "stats.json").read_text())
    counts = {row["rule"]: row["documents"] for row in stats["dropped"]}
    assert counts == {
        "exact_duplicate": 1,
        "near_duplicate": 60,
        "too_short": 1,
        "garbled": 1,
        "punctuation": 1,
        "repetition": 1,
    }
    assert stats["read"]["documents"] == 365
    assert stats["kept"]["documents"] == 300
    assert stats["kept"]["by_language"]["zh"] == {"documents": 100, "bytes": 100 * 80 * 3}
    assert stats["cleaned"]["bytes"] == stats["kept"]["bytes"] + sum(
        row["bytes"] for row in stats["dropped"]
    )
    train, heldout = lines(out / "train.jsonl"), lines(out / "heldout.jsonl")
    assert stats["split"]["train"]["documents"] == len(train)
    assert stats["split"]["heldout"]["documents"] == len(heldout)
    assert len(train) + len(heldout) == 300
    assert 40 <= len(heldout) <= 80
    assert list(train[0]) == ["id", "text", "lang", "source"]
    assert train[0]["source"] == "chinese.jsonl"
    for row in stats["dropped"]:
        if row["rule"] not in ("near_duplicate", "exact_duplicate"):
            assert [example["id"] for example in row["examples"]] == [row["rule"]]
    assert stats["sources"][0] == {
        "source": "english.jsonl",
        "documents": 240,
        "bytes": sum(len(row["text"]) for row in lines(data / "english.jsonl")),
        "kept_documents": 200,
        "kept_bytes": sum(len(row["text"]) for row in lines(data / "english.jsonl")[:200]),
    }


def test_near_copies_are_shown_beside_the_one_that_stayed(data, told, tmp_path):
    build(data, told(), tmp_path / "out")
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    examples = stats["dropped"][1]["examples"]
    assert len(examples) == 3
    for example in examples:
        assert example["id"] == example["stayed"] + "+"
        assert 0.7 <= example["jaccard"] < 1
        assert example["text"].startswith(example["stayed_text"][:40])


def test_documents_keep_the_order_of_the_files(data, told, tmp_path):
    build(data, told(), tmp_path / "out")
    order = [f"zh{n}" for n in range(100)] + [f"en{n}" for n in range(200)]
    for side in ("train", "heldout"):
        ids = [row["id"] for row in lines(tmp_path / "out" / f"{side}.jsonl")]
        assert ids == [i for i in order if i in set(ids)]


def test_no_near_copy_of_a_heldout_text_is_trained_on(data, told, tmp_path):
    build(data, told(), tmp_path / "out")
    sides = {
        side: [
            frozenset(shingles(row["text"], 5, 5))
            for row in lines(tmp_path / "out" / f"{side}.jsonl")
        ]
        for side in ("train", "heldout")
    }
    assert max(jaccard(t, h) for t in sides["train"] for h in sides["heldout"]) < 0.7
    assert max(jaccard(*pair) for pair in combinations(sides["heldout"], 2)) < 0.7


def test_a_text_stays_on_its_side_in_whatever_order_it_comes(data, told, tmp_path):
    build(data, told(near=False), tmp_path / "one")
    rows = lines(data / "english.jsonl")
    write(data / "english.jsonl", rows[::-1])
    (data / "english.jsonl").rename(data / "a.jsonl")
    build(data, told(near=False), tmp_path / "other")
    for side in ("train", "heldout"):
        one, other = (
            {row["text"] for row in lines(tmp_path / name / f"{side}.jsonl")}
            for name in ("one", "other")
        )
        assert one == other


def test_the_same_bytes_whatever_the_hash_seed_and_the_threads(data, told, tmp_path):
    digests = set()
    for hash_seed, threads in (("0", "1"), ("77", "3")):
        out = tmp_path / f"out{threads}"
        command = ["-m", "danlu.corpus", "--data", str(data), "--out", str(out)]
        done = subprocess.run(
            [sys.executable, *command, "--settings", told().canonical()],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "NUMBA_NUM_THREADS": threads},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "sifted: 365 documents, done" in done.stderr.splitlines()
        content = [(p.name, p.read_bytes()) for p in sorted(out.iterdir())]
        digests.add(hashlib.sha256(repr(content).encode()).hexdigest())
    assert len(digests) == 1


def test_the_picture_is_a_png_that_names_no_program(data, told, tmp_path):
    build(data, told(), tmp_path / "out")
    png = (tmp_path / "out" / "dropped.png").read_bytes()
    assert struct.unpack(">II", png[16:24]) == (1500, 750)
    assert b"Software" not in png


def test_too_many_bad_lines_stop_the_run_and_name_the_worst(data, told, tmp_path):
    with (data / "english.jsonl").open("a") as stream:
        stream.write("broken\n" * 3)
    with (data / "chinese.jsonl").open("a") as stream:
        stream.write("broken\n")
    out = tmp_path / "build" / "key"
    with pytest.raises(DanluError) as caught:
        build(data, told(), out)
    said = str(caught.value).splitlines()
    assert said[0] == (
        "4 of 369 lines of the data are no documents (1.1%); corpus.max_rejected_share allows 1.0%"
    )
    assert said[1].startswith("worst file: english.jsonl with 3, first english.jsonl:241: not JSON")
    assert said[2] == f"all of them: {out}.rejected.jsonl"
    assert [row["line"] for row in lines(Path(f"{out}.rejected.jsonl"))] == [121, 241, 242, 243]
    assert os.listdir(out.parent) == ["key.rejected.jsonl"]

    build(data, told(max_rejected_share=0.02), out)
    assert lines(out / "rejected.jsonl")[1] == {
        "file": "english.jsonl",
        "line": 241,
        "reason": "not JSON: Expecting value: line 1 column 1 (char 0)",
    }
    stats = json.loads((out / "stats.json").read_text())
    assert stats["rejected"] == {
        "lines": 4,
        "by_file": {"chinese.jsonl": 1, "english.jsonl": 3},
    }
    assert os.listdir(out.parent) == ["key"]


def test_an_empty_side_of_the_split_is_refused(told, tmp_path):
    write(tmp_path / "data/x.jsonl", [{"text": "one text of English words, all alone"}])
    with pytest.raises(DanluError, match="the heldout side of the corpus is empty: 1 of 1"):
        build(tmp_path / "data", told(heldout_share=0.01), tmp_path / "out")
    with pytest.raises(DanluError, match="the train side of the corpus is empty: 0 of 1 documents"):
        build(tmp_path / "data", told(min_characters=100), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_fault_leaves_nothing_behind(data, told, tmp_path):
    (data / "x.jsonl.gz").write_bytes(b"damaged")
    with pytest.raises(DanluError, match="damaged or cut"):
        build(data, told(), tmp_path / "build" / "key")
    assert os.listdir(tmp_path / "build") == []


def test_wrong_settings_are_a_message_and_exit_1(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "danlu.corpus", "--data", "d", "--settings", "{}", "--out", "o"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "danlu: --settings: text_column: missing" in done.stderr
