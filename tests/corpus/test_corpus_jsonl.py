"""The fast way to read a line finds what the careful way finds, on every line there is."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from danlu.config import Corpus
from danlu.corpus import blocks, careful, jsonl, readers
from danlu.corpus.documents import Document, Rejected

TOLD = Corpus.model_construct(text_column="text", language_column=None)


def carefully(content: bytes, told=TOLD, start: int = 0, end: int | None = None):
    """The lines that begin in a range of bytes, one by one: documents, and what is none."""
    documents, rejected, place = [], [], 0
    for number, line in enumerate(content.split(b"\n"), 1):
        ended = place + len(line) < len(content)
        if start <= place and (end is None or place < end) and (ended or line):
            raw = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            item = careful.read_line(raw + b"\n" * ended, "x.jsonl", number, told)
            if isinstance(item, Document):
                documents.append(item)
            elif isinstance(item, Rejected):
                rejected.append(item)
        place += len(line) + 1
    return documents, rejected


def fast(path: Path, content: bytes, told=TOLD, start: int = 0, end: int | None = None):
    """The same by `batches`."""
    path.write_bytes(content)
    documents, rejected = [], []
    for batch in readers.batches("x.jsonl", path, told, start, end):
        batch.documents.validate(full=True)
        documents += [Document(**row) for row in batch.documents.to_pylist()]
        rejected += batch.rejected
    return documents, rejected


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("lines") / "x.jsonl"


def vouched(line: bytes) -> bool:
    """Whether the kernel reads a line by itself."""
    data = bytearray(line + b"\n" + bytes(jsonl.PADDING))
    names = [b"text", b"id", b"lang", b"source"]
    [part] = jsonl.Reader(names, 4).parts(np.frombuffer(data, np.uint8), 0, len(line) + 1)
    return not part.careful


ORDINARY = [
    b'{"text": "one"}',
    b' {"id":7,"text":"a \\"quoted\\" word\\n","lang":"EN-us","source":"s"} \r',
    '{"text": "法律，naïve 🎉", "id": "甲", "source": "全国人大"}'.encode(),
    json.dumps({"text": "法律 🎉", "id": 0}).encode(),
    b'{"meta": {"a": [1, -2.5e-3, {"b": null}], "c": {}, "d": []}, "text": "x", "n": true}',
    b'{"text": "\\u0000\\/\\b\\f", "lang": "", "id": 1.5, "source": null}',
]


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_take_the_fast_way(path, line):
    assert vouched(line)
    assert fast(path, line) == carefully(line)
    assert len(fast(path, line)[0]) == 1


ODD = [
    b"",
    b"   \t\r",
    b"\x0b\x0c",
    b"\xef\xbb\xbf",
    b'\xef\xbb\xbf{"text": "behind a mark"}',
    b'{"text": "a", "text": "b"}',
    b'{"text": 1, "text": "b"}',
    b'{"id": 1, "id": null, "text": "b"}',
    b'{"te\\u0078t": "escaped name"}',
    b'{"text": "raw \x00 NUL"}',
    b'{"text": "raw \t tab"}',
    b'{"text": "\\ud83d"}',
    b'{"text": "\\ud83d\\ude00 \\ude00\\ud83d"}',
    b'{"text": "\\ud83dx"}',
    b'{"text": "\\ud83d\\u0041"}',
    b'{"text": "\\u12"}',
    b'{"text": "\\u00e9\\u6cd5\\uFFFF"}',
    b'{"text": "\\x"}',
    b'{"text": "unended',
    b'{"text": "unended\\"}',
    b'{"text": null}',
    b'{"text": 17}',
    b'{"text": {"text": "inside"}}',
    b'{"other": {"text": "inside"}}',
    b'{"text": "a", "id": -0}',
    b'{"text": "a", "id": -7}',
    b'{"text": "a", "id": 007}',
    b'{"text": "a", "id": 1e3}',
    b'{"text": "a", "id": ' + b"9" * 5000 + b"}",
    b'{"text": "a", "id": NaN, "n": -Infinity}',
    b'{"text": "a", "id": "\\ud800"}',
    b'{"text": "a", "id": "\xc2\xa0 \xe3\x80\x80"}',
    b'{"text": "a", "lang": "-en"}',
    b'{"text": "a", "lang": " en "}',
    '{"text": "a", "lang": "ÉN_x"}'.encode(),
    '{"text": "a", "lang": "zh_É"}'.encode(),
    b'{"text": "a", "n": [1, 2,]}',
    b'{"text": "a", "n": [}]}',
    b'{"text": "a", "n": {"b"}}',
    b'{"text": "a", "n": 1.}',
    b'{"text": "a", "n": +1}',
    b'{"text": "a", "n": 1e}',
    b'{"text": "a", "n": tru}',
    b'{"text": "a", "n": ' + b"[" * 70 + b"]" * 70 + b"}",
    b'{"text": "a"} {"text": "b"}',
    b'{"text": "a",}',
    b'{"text" "a"}',
    b'{"text": "overlong \xc0\xaf"}',
    b'{"text": "overlong \xe0\x80\xaf"}',
    b'{"text": "overlong \xf0\x80\x80\xaf"}',
    b'{"text": "surrogate \xed\xa0\x80"}',
    b'{"text": "too large \xf4\x90\x80\x80"}',
    b'{"text": "alone \x80"}',
    b'{"text": "cut \xe6\xb3"}',
    b'{"text": "a", "note": "\xff"}',
    b'{"text": "a"}\xff',
    b"[1, 2]",
    b'"text"',
    b"nonsense",
    b"{}",
    b"[" * 3000,
]


@pytest.mark.parametrize("line", ODD)
@pytest.mark.parametrize("around", [(b"", b""), (ORDINARY[0] + b"\n", b"\r\n" + ORDINARY[2])])
def test_odd_lines_have_the_answer_of_the_careful_way(path, line, around):
    content = around[0] + line + around[1]
    assert fast(path, content) == carefully(content)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["text", "id", "lang", "source", "te\\xt", "文"]) | st.text(max_size=5)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=5) | st.fixed_dictionaries(
    {"text": st.text()}, optional={"id": VALUES, "lang": st.text(max_size=4), "source": st.text()}
)
WRITTEN = st.builds(
    lambda record, plain, blanks: json.dumps(
        record, ensure_ascii=plain, separators=(",", ": ") if blanks else (" ,", ":")
    ).encode("utf-8", "surrogatepass"),
    RECORDS,
    st.booleans(),
    st.booleans(),
)


@st.composite
def damaged(draw) -> bytes:
    """A line with a few bytes changed, dropped or put in."""
    line = bytearray(draw(WRITTEN | st.sampled_from(ORDINARY + ODD[:40])))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(line)))
        put = draw(st.sampled_from([b"", b"\\", b'"', b"{", b"}", b",", b"\\u", b"\xed", b"0"]))
        line[place : place + draw(st.integers(0, 2))] = put or bytes([draw(st.integers(0, 255))])
    return bytes(line)


@settings(max_examples=400)
@given(
    st.lists(WRITTEN | damaged() | st.binary(max_size=20) | st.sampled_from(ODD), max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.sampled_from([16, 64, 1 << 22]),
)
@example([b'{"text": "a"}', b""], b"\n", False, 16)
def test_every_file_reads_as_it_reads_line_by_line(path, lines, end, ended, size):
    content = end.join(lines) + end * ended
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", size)
        assert fast(path, content) == carefully(content)


@settings(max_examples=150)
@given(
    st.lists(WRITTEN | damaged(), max_size=6),
    st.lists(st.integers(0, 400), max_size=5),
    st.sampled_from([16, 64, 1 << 22]),
)
def test_the_parts_of_a_file_make_up_the_file(path, lines, cuts, size):
    content = b"\xef\xbb\xbf" + b"\n".join(lines)
    bounds = [0, *sorted(cuts), None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", size)
        found = [
            fast(path, content, start=start, end=end) for start, end in itertools.pairwise(bounds)
        ]
    parts = [list(itertools.chain(*each)) for each in zip(*found, strict=True)]
    assert parts == list(carefully(content))


def test_a_line_of_fifty_megabytes_is_a_document(path):
    text = "Fifty megabytes of one document. " * 1_600_000
    documents, rejected = fast(path, ORDINARY[0] + b"\n" + json.dumps({"text": text}).encode())
    assert rejected == []
    assert [len(item.text) for item in documents] == [3, len(text)]
    assert documents[1].text == text


def test_a_line_that_memory_is_not_for_is_passed_over(path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(blocks, "LINE", 256)
    long = b'{"text": "%s"}' % (b"long " * 200)
    documents, rejected = fast(path, b"\n".join([ORDINARY[0], long, ORDINARY[0], long]))
    assert [item.id for item in documents] == ["x.jsonl:1", "x.jsonl:3"]
    assert [item.line for item in rejected] == [2, 4]
    assert rejected[0].reason == "longer than 256 MiB; cut it into documents"


@pytest.mark.parametrize(
    "told",
    [
        Corpus.model_construct(text_column="id", language_column=None),
        Corpus.model_construct(text_column="source", language_column="id"),
        Corpus.model_construct(text_column="内容", language_column='la"ng'),
    ],
)
def test_columns_may_be_of_any_name(path, told):
    content = '{"id": "a", "source": "b", "内容": "c", "lang": "de", "la\\"ng": "fr"}'.encode()
    assert fast(path, content, told) == carefully(content, told)
    assert len(fast(path, content, told)[0]) == 1
