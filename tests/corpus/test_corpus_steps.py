"""The stage in steps: the same corpus however it is cut, and each step in a process of its own."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from danlu.corpus import picture, stage
from danlu.corpus.shards import Folder
from danlu.errors import DanluError

WORDS = [f"{a}{b}" for a in ("ba", "ke", "lo", "mi", "nu") for b in ("ra", "se", "ti", "vo", "zu")]
CHINESE = "公民法律国家机关应当规定合同财产权利义务责任保护环境河流土地森林农民城市学校教师"


def corpus(seed: int, size: int) -> list[dict]:
    """English and Chinese texts; each third is a copy of an earlier one, exact or changed a bit."""
    draw = random.Random(seed)
    rows: list[dict] = []
    for number in range(size):
        if rows and draw.random() < 0.35:
            text = draw.choice(rows)["text"]
            for _ in range(draw.randint(0, 3)):
                at = draw.randrange(len(text))
                text = text[:at] + draw.choice("ax 法") + text[at + draw.randint(0, 2) :]
        elif draw.random() < 0.5:
            text = " ".join(draw.choices(WORDS, k=draw.randint(3, 40)))
        else:
            text = "".join(draw.choices(CHINESE, k=draw.randint(10, 90)))
        rows.append({"text": text, "source": f"s{number % 3}"})
    return rows


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as stream:
        stream.write(lines)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def data(tmp_path) -> Path:
    write(tmp_path / "data/a.jsonl", corpus(1, 150))
    write(tmp_path / "data/b.jsonl.gz", corpus(2, 60))
    write(tmp_path / "data/c.jsonl", corpus(1, 90))
    with (tmp_path / "data/c.jsonl").open("a") as stream:
        stream.write("broken\n")
    (tmp_path / "data/d.txt").write_text("The only paragraph of a text that stands alone here.")
    return tmp_path / "data"


def test_the_bytes_are_the_same_for_any_number_of_shards_and_ranges(data, told, tmp_path):
    stage.build(data, told(), tmp_path / "whole")
    whole = content(tmp_path / "whole")
    assert len(whole["dups.parquet"]) > 1000
    for shards, ranges in ((2, 3), (3, 1), (7, 60)):
        stage.build(data, told(), tmp_path / "cut", shards, ranges)
        cut = content(tmp_path / "cut")
        assert [name for name in whole if cut[name] != whole[name]] == [], (shards, ranges)


def test_masked_personal_data_are_counted_by_kind_and_language_for_any_number_of_shards(
    told, tmp_path
):
    rows = corpus(3, 40)
    personal = [
        {"text": "write to jane@example.com or joe@example.org from 8.8.8.8 today", "lang": "en"},
        {"text": "请写信到 zhang_san@163.com，或者打电话 010-12345678 联系我们公司", "lang": "zh"},
        # A copy of the first: what goes afterwards was masked all the same.
        {"text": "write to jane@example.com or joe@example.org from 8.8.8.8 today", "lang": "en"},
        {
            "text": "127.0.0.1 is no address that says where somebody lives, nor is 1.2",
            "lang": "en",
        },
    ]
    write(tmp_path / "data/x.jsonl", [*personal[:2], *rows, *personal[2:]])
    asked = told(mask_personal=("ip", "email", "phone", "chinese_id"))
    stage.build(tmp_path / "data", asked, tmp_path / "whole")
    stats = json.loads((tmp_path / "whole/stats.json").read_text("utf-8"))
    assert stats["masked"] == {
        "ip": {
            "documents": 2,
            "masked": 2,
            "by_language": {"en": {"documents": 2, "masked": 2}},
        },
        "email": {
            "documents": 3,
            "masked": 5,
            "by_language": {
                "en": {"documents": 2, "masked": 4},
                "zh": {"documents": 1, "masked": 1},
            },
        },
        "phone": {
            "documents": 1,
            "masked": 1,
            "by_language": {"zh": {"documents": 1, "masked": 1}},
        },
        "chinese_id": {"documents": 0, "masked": 0},
    }
    for shards in (2, 5):
        stage.build(tmp_path / "data", asked, tmp_path / "cut", shards)
        assert content(tmp_path / "cut") == content(tmp_path / "whole"), shards
    stage.build(tmp_path / "data", told(), tmp_path / "none")
    assert json.loads((tmp_path / "none/stats.json").read_text("utf-8"))["masked"] == {}


@pytest.fixture
def drawn(monkeypatch) -> list[dict]:
    """What would be drawn into dropped.png, which takes a second."""
    held: list[dict] = []
    monkeypatch.setattr(picture, "draw", lambda stats, _: held.append(stats))
    return held


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000), st.integers(4, 40), st.integers(2, 9), st.integers(1, 4))
def test_so_they_are_for_small_corpora(drawn, told, tmp_path, seed, size, shards, ranges):
    write(tmp_path / "small/x.jsonl", corpus(seed, size))
    asked = told(heldout_share=0.5, min_characters=0)
    outcomes = []
    for number in (1, shards):
        try:
            stage.build(tmp_path / "small", asked, tmp_path / "out", number, ranges)
            outcomes.append(content(tmp_path / "out"))
        except DanluError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def shingles(text: str) -> frozenset[str]:
    """By the definition in config/README.md, in Python's own words."""
    words = re.findall(r"\w+", text.casefold())
    if sum("一" <= c <= "鿿" for c in text) >= 0.3 * sum(c.isalpha() for c in text):
        row = "".join(words)
        return frozenset(row[i : i + 5] for i in range(max(1, len(row) - 4)))
    return frozenset(" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4)))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def test_no_near_duplicate_crosses_the_split_nor_stays_on_a_side(data, told, tmp_path):
    """All pairs of all that stays, compared exactly."""
    stage.build(data, told(heldout_share=0.3), tmp_path / "out", shards=3)
    sides = {}
    for side in ("train", "heldout"):
        lines = (tmp_path / "out" / f"{side}.jsonl").read_text("utf-8").splitlines()
        sides[side] = [shingles(json.loads(line)["text"]) for line in lines]
    assert min(map(len, sides.values())) > 20
    assert max(similarity(*pair) for pair in product(*sides.values())) < 0.7
    every = sides["train"] + sides["heldout"]
    assert max(similarity(*pair) for pair in combinations(every, 2)) < 0.7


def test_each_dropped_copy_is_told_with_the_one_that_stays(data, told, tmp_path):
    stage.build(data, told(), tmp_path / "out", shards=3)
    rows = parquet.read_table(tmp_path / "out/dups.parquet").to_pylist()
    texts: list[str] = []
    for name in ("a", "c"):
        for line in (data / f"{name}.jsonl").read_text("utf-8").splitlines()[:150]:
            if line.startswith("{"):
                texts.append(json.loads(line)["text"])
    dropped = [row["dropped"] for row in rows]
    assert dropped == sorted(set(dropped))
    assert not set(dropped) & {row["kept"] for row in rows}
    checked = [row for row in rows if row["dropped_id"].startswith("a.jsonl")]
    assert len(checked) > 20
    for row in checked:
        gone, stays = (texts[row[key]] for key in ("dropped", "kept"))
        assert row["dropped_id"] == f"a.jsonl:{row['dropped'] + 1}"
        assert row["kept_id"] == f"a.jsonl:{row['kept'] + 1}"
        assert row["dropped_source"] == f"s{row['dropped'] % 3}"
        assert row["jaccard"] == pytest.approx(similarity(shingles(gone), shingles(stays)))
        assert row["exact"] == (" ".join(gone.split()) == " ".join(stays.split()))


def step(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "danlu.corpus", *map(str, words)], capture_output=True, text=True
    )


def test_steps_in_processes_of_their_own_make_the_same_corpus(data, told, tmp_path):
    asked, parts, out = told().canonical(), tmp_path / "parts", tmp_path / "out"
    common = ("--settings", asked, "--shards", parts, "--of", 2)
    calls = [
        *(("signature", "--data", data, *common, "--shard", shard) for shard in (1, 0)),
        ("bucket", *common, "--range", 0, "--ranges", 1, "--corpus", out),
        ("cluster", *common),
        *(("filter", *common, "--shard", shard) for shard in (1, 0)),
        ("gather", *common, "--out", out),
    ]
    for call in calls:
        done = step(*call)
        assert done.returncode == 0, done.stderr
    assert "1 lines are no documents" in done.stderr
    stage.build(data, told(), tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")


def test_a_step_before_its_time_says_what_is_missing(told, tmp_path):
    common = ("--settings", told().canonical(), "--shards", tmp_path, "--of", 2)
    done = step("filter", *common, "--shard", 1)
    assert done.returncode == 1
    assert done.stderr == (
        f"danlu: {tmp_path}/read-00000.json: not there; make shard 0 of 2 first\n"
    )
    done = step("filter", *common, "--shard", 2)
    assert done.returncode == 2
    assert "--shard: expected 0 to --of less one" in done.stderr


def test_too_many_bad_lines_stop_before_any_document_is_compared(data, told, tmp_path):
    (data / "c.jsonl").write_text("broken\n" * 9)
    folder, out = Folder(tmp_path / "parts", 2), tmp_path / "corpus" / "key"
    for shard in range(2):
        stage.signature(data, told(), shard, folder)
    with pytest.raises(
        DanluError, match=r"worst file: c\.jsonl with 9, first c\.jsonl:1: not JSON"
    ):
        stage.bucket(told(), 0, 1, folder, out)
    assert not folder.bucket(0).exists()
    kept = (tmp_path / "corpus/key.rejected.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in kept] == list(range(1, 10))


def test_a_source_that_loses_most_of_its_documents_is_warned_of(told, tmp_path, capsys):
    rows = corpus(5, 60)
    mirror = [{"text": row["text"], "source": "mirror"} for row in rows[:30]]
    write(tmp_path / "data/x.jsonl", rows + mirror)
    stage.build(tmp_path / "data", told(), tmp_path / "out", shards=2)
    said = capsys.readouterr().err
    assert "warning: mirror: 30 of its 30 documents (100.0%) are dropped as copies, 30 of" in said
    stats = json.loads((tmp_path / "out/stats.json").read_text("utf-8"))
    (mirror,) = [row for row in stats["copies_by_source"]["sources"] if row["source"] == "mirror"]
    assert (mirror["documents"], mirror["of_other_sources"], mirror["share"]) == (30, 30, 1.0)


def test_what_is_in_no_key_changes_no_byte_of_the_corpus(told, tmp_path, capsys):
    rows = corpus(5, 60)
    mirror = [{"text": row["text"], "source": "mirror"} for row in rows[:30]]
    write(tmp_path / "data/x.jsonl", rows + mirror)
    stage.build(tmp_path / "data", told(), tmp_path / "out")
    assert "warning" in capsys.readouterr().err
    before = content(tmp_path / "out")
    stage.build(tmp_path / "data", told(warn_source_share=1.0, memory_mib=512), tmp_path / "out")
    assert "warning" not in capsys.readouterr().err
    assert content(tmp_path / "out") == before


def test_a_step_that_fails_leaves_what_was_there(data, told, tmp_path):
    stage.build(data, told(), tmp_path / "out")
    before = content(tmp_path / "out")
    with pytest.raises(DanluError, match="the heldout side of the corpus is empty"):
        stage.build(data, told(heldout_share=1e-9), tmp_path / "out")
    assert content(tmp_path / "out") == before
    assert sorted(os.listdir(tmp_path)) == ["data", "out"]


@pytest.mark.parametrize(
    "name", ["dups.parquet", "train-00001.jsonl", "heldout-00000.jsonl", "rejected-00001.jsonl"]
)
def test_a_file_that_is_gone_before_the_last_step_is_named(name, data, told, tmp_path):
    folder, settings = Folder(tmp_path / "shards", 2), told()
    for shard in range(2):
        stage.signature(data, settings, shard, folder)
    stage.bucket(settings, 0, 1, folder, tmp_path / "corpus")
    stage.cluster(settings, folder)
    for shard in range(2):
        stage.sift(settings, shard, folder)
    (folder.path / name).unlink()
    with pytest.raises(DanluError, match=f"{name}: not there; remove .*shards and call again"):
        stage.gather(settings, folder, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()
