"""Every kind of file becomes documents; every kind of bad line is told with file, line and reason."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from danlu.corpus import plain, readers, sources
from danlu.corpus.documents import Document, Rejected
from danlu.errors import DanluError


def items_of(name: str, path: Path, settings, **span) -> list[Document | Rejected]:
    """The documents of a file, and behind them what is none."""
    documents, rejected = [], []
    for batch in readers.batches(name, path, settings, **span):
        documents += [Document(**row) for row in batch.documents.to_pylist()]
        rejected += batch.rejected
    return documents + rejected


@pytest.fixture
def read(told, tmp_path):
    """Write bytes as a file of that name and read it."""

    def call(name: str, content: bytes, **changed) -> list[Document | Rejected]:
        path = tmp_path / name
        path.write_bytes(content)
        return items_of(name, path, told(**changed))

    return call


def reasons(items) -> list[tuple[int, str]]:
    return [(item.line, item.reason) for item in items if isinstance(item, Rejected)]


GOOD = b'{"id": "a", "text": "one", "lang": "en", "source": "s"}\n'


def test_a_line_is_a_document(read):
    assert read("x.jsonl", GOOD) == [Document("a", "one", "en", "s")]


def test_what_a_line_does_not_say_comes_from_where_it_stands(read):
    found = read("deep.jsonl", GOOD + '{"text": "法律"}\n'.encode())
    assert found[1] == Document("deep.jsonl:2", "法律", "zh", "deep.jsonl")


@pytest.mark.parametrize(
    ("told_id", "expected"),
    [
        ("0", "0"),
        ("17", "17"),
        ('"17"', "17"),
        ('""', "x.jsonl:1"),
        ("null", "x.jsonl:1"),
        ("1.5", "x.jsonl:1"),
        ("true", "x.jsonl:1"),
        ('"\\ud800"', "x.jsonl:1"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)
def test_an_id_is_a_text_or_a_whole_number(read, told_id, expected):
    assert read("x.jsonl", b'{"text": "one", "id": %s}' % told_id.encode())[0].id == expected


def test_two_documents_may_have_one_id(read):
    assert [d.id for d in read("x.jsonl", GOOD + GOOD)] == ["a", "a"]


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        (b'{"text": "one", "lang": "de"}', None, "de"),
        (b'{"text": "one", "lang": "zh-Hans-CN"}', None, "zh"),
        (b'{"text": "one", "lang": "ZH_cn"}', None, "zh"),
        (b'{"text": "one", "lang": 7}', None, "en"),
        (b'{"text": "one", "lang": "de", "tongue": "fr"}', "tongue", "fr"),
        (b'{"text": "one", "lang": "de"}', "tongue", "en"),
    ],
)
def test_the_language_is_told_by_its_column_or_detected(read, line, column, expected):
    assert read("x.jsonl", line, language_column=column)[0].lang == expected


def test_the_text_column_is_configurable(read):
    assert read("x.jsonl", b'{"content": "one"}', text_column="content")[0].text == "one"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "one"\n', "not JSON: Expecting ',' delimiter: line 2 column 1 (char 15)"),
        (b"nonsense\n", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"[1, 2]\n", "found a list, expected a JSON object"),
        (b'"text"\n', "found text, expected a JSON object"),
        (b"17\n", "found a number, expected a JSON object"),
        (
            b'{"id": 1, "content": "x"}\n',
            "no column text; found: id, content (corpus.text_column names it)",
        ),
        (b"{}\n", "no column text; found: nothing (corpus.text_column names it)"),
        (b'{"text": null}\n', "column text holds null, expected text"),
        (b'{"text": 17}\n', "column text holds a number, expected text"),
        (b'{"text": true}\n', "column text holds true or false, expected text"),
        (b'{"text": ["a"]}\n', "column text holds a list, expected text"),
        (b'{"text": {"a": 1}}\n', "column text holds an object, expected text"),
        (b'{"text": "\\ud83d"}\n', "column text holds half a surrogate pair, no Unicode text"),
        (b'{"text": "caf\xe9"}\n', "not UTF-8: byte 0xe9 at byte 14 of the line"),
        (
            '{"text": "法律"}\n'.encode("gb18030"),
            "not UTF-8: byte 0xb7 at byte 11 of the line; it seems to be GB18030: "
            "`iconv -f gb18030 -t utf-8` converts it",
        ),
        (
            b'\xff\xfe{\x00"\x00\n',
            "not UTF-8: byte 0xff at byte 1 of the line; it seems to be UTF-16: "
            "`iconv -f utf-16 -t utf-8` converts it",
        ),
        (b"[" * 100_000 + b"\n", "not JSON: maximum recursion depth exceeded"),
    ],
)
def test_a_bad_line_is_told_with_its_reason_and_the_others_are_read(read, line, reason):
    items = read("x.jsonl", GOOD + line + GOOD)
    assert [type(item) for item in items] == [Document, Document, Rejected]
    assert items[2].file == "x.jsonl"
    assert items[2].line == 2
    assert items[2].reason.startswith(reason)


@pytest.mark.parametrize("cut", [b'{"text": "tw', '{"text": "法'.encode()[:-1]])
def test_a_cut_last_line_is_told_as_cut(read, cut):
    [(line, reason)] = reasons(read("x.jsonl", GOOD + cut))
    assert line == 2
    assert reason.startswith("the last line is cut: ")


def test_a_whole_last_line_without_its_end_is_a_document(read):
    assert len(read("x.jsonl", GOOD + GOOD.rstrip())) == 2


def test_a_byte_order_mark_blank_lines_and_dos_line_ends_are_no_fault(read):
    items = read("x.jsonl", b"\xef\xbb\xbf" + GOOD + b"\n   \r\n" + GOOD.replace(b"\n", b"\r\n"))
    assert [item.id for item in items] == ["a", "a"]


def test_packed_files_are_read_in_all_their_parts(read):
    assert len(read("x.jsonl.gz", gzip.compress(GOOD) + gzip.compress(GOOD * 2))) == 3
    frames = zstandard.compress(GOOD) + zstandard.compress(GOOD * 40_000)
    assert len(read("x.jsonl.zst", frames)) == 40_001
    assert read("x.jsonl.zst", zstandard.compress(b"")) == []


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl.zst"])
def test_a_cut_or_damaged_packed_file_stops_the_run(read, name):
    lines = b"".join(b'{"text": "%s"}\n' % os.urandom(30).hex().encode() for _ in range(2000))
    whole = (gzip.compress if name.endswith("gz") else zstandard.compress)(lines)
    with pytest.raises(DanluError, match=rf"{name}: damaged or cut after line \d+"):
        read(name, whole[:-500])
    with pytest.raises(DanluError, match=rf"{name}: damaged or cut after line 0"):
        read(name, b"no archive at all")


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst", "x.parquet", "x.txt"])
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    line, path = json.dumps({"text": "the same words again " * 1000}) + "\n", tmp_path / name
    if name == "x.parquet":
        parquet.write_table(pyarrow.table({"text": [line] * 6000}), path, use_dictionary=False)
    else:
        pack = {"gz": gzip.compress, "zst": zstandard.compress}.get(name.rsplit(".", 1)[1], bytes)
        path.write_bytes(pack(line.encode() * 6000))
    script = (
        "import sys, resource\n"
        "from pathlib import Path\n"
        "from danlu.config import Corpus\n"
        "from danlu.corpus import readers\n"
        "told = Corpus.model_construct(text_column='text', language_column=None)\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "before, count = peak(), 0\n"
        "for batch in readers.batches(sys.argv[2], Path(sys.argv[1]), told):\n"
        "    count += batch.documents.num_rows\n"
        "print(count, peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), name], capture_output=True, text=True, check=True
    )
    count, grown = map(int, done.stdout.split())
    assert count == 6000
    assert grown < 90, f"{grown} MiB for 126 MB"


def test_a_text_file_is_one_document(read):
    text = "第一章\n\n　　从前有一座山。\n　　山上有一座庙。\n"
    assert read("book.txt", text.encode()) == [Document("book.txt:1", text, "zh", "book.txt")]


def test_a_long_text_file_is_cut_at_empty_lines_and_nothing_is_lost(read):
    paragraphs = [f"Paragraph {n}. " + "word " * 300 + "\n\n" for n in range(60)]
    items = read("book.txt", "".join(paragraphs).encode())
    assert "".join(item.text for item in items) == "".join(paragraphs)
    assert all(len(item.text) <= plain.TEXT_CHARACTERS for item in items)
    assert all(item.text.startswith("Paragraph") for item in items)
    assert [item.id for item in items] == [f"book.txt:{n}" for n in (1, 21, 41, 61, 81, 101)]


def test_without_empty_lines_it_is_cut_at_line_ends(read):
    lines = [f"{n} " + "字" * 998 + "\n" for n in range(40)]
    items = read("book.txt", "".join(lines).encode())
    assert [len(item.text) // 1000 for item in items] == [16, 16, 8]
    assert "".join(item.text for item in items) == "".join(lines)


def test_a_line_longer_than_a_document_stays_whole(read):
    long = "字" * 40_000 + "\n"
    items = read("book.txt", ("a\n" + long + "b\n").encode())
    assert [item.text for item in items] == ["a\n", long, "b\n"]


def test_a_bad_byte_takes_its_document_and_no_other(read):
    parts = [b"good\n" * 2500 + b"\n", b"bad \xff\n" * 2500 + b"\n", b"fine\n" * 2500 + b"\n"]
    items = read("book.txt", b"".join(parts))
    assert [type(item) for item in items] == [Document, Document, Rejected]
    assert items[2] == Rejected("book.txt", 2502, "not UTF-8: byte 0xff at byte 5 of the line")


def test_an_empty_text_file_is_no_document(read):
    assert read("book.txt", b"\n \n\n") == []


def as_parquet(path: Path, **columns) -> None:
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)


def test_parquet_rows_are_documents(told, tmp_path):
    as_parquet(tmp_path / "x.parquet", text=["one", None, "法律"], id=[7, 8, 9], other=[1, 2, 3])
    assert items_of("x.parquet", tmp_path / "x.parquet", told()) == [
        Document("7", "one", "en", "x.parquet"),
        Document("9", "法律", "zh", "x.parquet"),
        Rejected("x.parquet", 2, "column text holds null, expected text"),
    ]


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string()])
def test_parquet_columns_mean_what_those_of_a_line_mean(told, tmp_path, kind):
    columns = {
        "text": ["one", "法律", "", "two"],
        "id": ["a", " ", "", None],
        "lang": ["ZH_cn", None, " ", "de"],
        "source": ["s", "\u3000", None, ""],
    }
    as_parquet(tmp_path / "x.parquet", **{k: pyarrow.array(v, kind) for k, v in columns.items()})
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "x.jsonl").write_text(lines)
    by_row = items_of("x.parquet", tmp_path / "x.parquet", told())
    by_line = items_of("x.jsonl", tmp_path / "x.jsonl", told())
    assert [(d.text, d.lang) for d in by_row] == [(d.text, d.lang) for d in by_line]
    assert by_row[0] == Document("a", "one", "zh", "s")
    assert by_row[1] == Document("x.parquet:2", "法律", "zh", "x.parquet")


def test_parquet_text_that_is_not_utf8_is_rejected_by_row(told, tmp_path):
    text = pyarrow.array([b"one", b"caf\xe9", b"two"]).view(pyarrow.string())
    as_parquet(tmp_path / "x.parquet", text=text)
    items = items_of("x.parquet", tmp_path / "x.parquet", told())
    assert reasons(items) == [(2, "column text is not UTF-8: byte 0xe9 at byte 4 of the line")]
    assert [item.text for item in items if isinstance(item, Document)] == ["one", "two"]


def test_a_parquet_value_that_python_cannot_hold_is_rejected_by_row(told, tmp_path):
    day = pyarrow.array([0, 10**18], pyarrow.timestamp("s"))
    as_parquet(tmp_path / "x.parquet", text=["one", "two"], id=day)
    first, second = items_of("x.parquet", tmp_path / "x.parquet", told())
    assert first.text == "one"
    assert second.reason.startswith("column id cannot be read: ")


def test_parquet_without_the_text_column_stops_the_run(told, tmp_path):
    as_parquet(tmp_path / "x.parquet", content=["one"])
    with pytest.raises(DanluError, match="no column text; found: content"):
        items_of("x.parquet", tmp_path / "x.parquet", told())


def test_damaged_parquet_stops_the_run(read):
    with pytest.raises(DanluError, match=r"x\.parquet: damaged, or no Parquet"):
        read("x.parquet", b"PAR1 nonsense PAR1")


TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=20)


@settings(max_examples=40)
@given(TEXTS)
def test_what_was_written_is_read_whatever_it_is_packed_in(tmp_path_factory, texts):
    from danlu.config import Corpus

    folder = tmp_path_factory.mktemp("packed")
    rows = [{"id": n, "text": text, "lang": "und", "source": "s"} for n, text in enumerate(texts)]
    plain = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    (folder / "x.jsonl").write_bytes(plain)
    (folder / "x.jsonl.gz").write_bytes(gzip.compress(plain))
    (folder / "x.jsonl.zst").write_bytes(zstandard.compress(plain))
    schema = {"id": pyarrow.int64(), "text": pyarrow.string(), "lang": pyarrow.string()}
    table = pyarrow.Table.from_pylist(rows, pyarrow.schema({**schema, "source": pyarrow.string()}))
    parquet.write_table(table, folder / "x.parquet")
    section = Corpus.model_construct(text_column="text", language_column=None)
    expected = [Document(str(n), text, "und", "s") for n, text in enumerate(texts)]
    for name, path in sources.text_files(folder).items():
        assert items_of(name, path, section) == expected, name


def test_files_are_read_in_the_order_of_their_paths(tmp_path):
    for name in ("b.txt", "a/z.jsonl", "B.jsonl", "a.parquet", "README.md", ".hidden.jsonl",
                 ".git/x.jsonl", "LICENSE", "c.JSONL.GZ"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(sources.text_files(tmp_path)) == [
        "B.jsonl",
        "a.parquet",
        "a/z.jsonl",
        "b.txt",
        "c.JSONL.GZ",
    ]


def test_a_single_file_is_read_by_its_own_name(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(GOOD)
    assert sources.text_files(path) == {"mine.jsonl": path}


def test_a_file_of_another_kind_stops_the_run(tmp_path):
    (tmp_path / "table.csv").touch()
    (tmp_path / "x.jsonl").touch()
    with pytest.raises(DanluError, match=r"found table\.csv, of no kind that Danlu reads; allowed"):
        sources.text_files(tmp_path)


def test_data_without_text_stop_the_run(tmp_path):
    (tmp_path / "README.md").touch()
    with pytest.raises(DanluError, match="found no text"):
        sources.text_files(tmp_path)
