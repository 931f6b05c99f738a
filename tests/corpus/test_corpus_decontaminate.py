"""What holds 13 words in a row, or 13 characters of Chinese, of an evaluation set is dropped."""

from __future__ import annotations

import json

import pytest

from danlu.corpus.decontaminate import EvaluationSets
from danlu.corpus.documents import Document
from danlu.corpus.filters import Rules
from danlu.errors import DanluError

QUESTION = "Which river flows through the capital of the country that was founded in the year 1790"
CHINESE = "中华人民共和国的一切权力属于人民，人民行使国家权力。"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "set.jsonl"
    rows = [{"question": QUESTION, "answer": "the Potomac River"}, {"text": [CHINESE]}]
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "overlaps"),
    [
        (f"He asked: “{QUESTION.upper()}?” Nobody knew.", True),
        ("flows -- through the capital, of the country that was founded in the year 1790.", True),
        ("in the year 1790 the Potomac River flows through the capital of the country", False),
        ("the country that was founded in the year 1790: the Potomac River; it is long", False),
        ("of the country that was founded in the year 1790: the Potomac River; it is", True),
        (" ".join(QUESTION.split()[:12]), False),
        ("宪法规定：中华人民共和国的一切权力属于人民。", True),
        ("中华人民共和国的\n一切权力，属于人民", True),
        ("中华人民共和国的一切权力", False),
        ("", False),
    ],
)
def test_a_piece_of_thirteen_is_found(file, text, overlaps):
    assert EvaluationSets([file]).overlaps(text) == overlaps


def test_short_phrases_are_no_pieces(tmp_path):
    path = tmp_path / "phrases.jsonl"
    path.write_text('{"prompt": "The Congress of the United", "reference": " States"}\n')
    assert len(EvaluationSets([path])) == 0


def test_such_documents_are_dropped_and_counted_as_contaminated(told, file, tmp_path):
    plain = tmp_path / "more.txt"
    plain.write_text("one two three four five six seven eight nine ten eleven twelve thirteen")
    rules = Rules(told(decontaminate=(str(file), str(plain))))
    assert rules.names[-1] == "contaminated"
    for text in (CHINESE, plain.read_text() + " fourteen"):
        assert rules.failed(Document("1", text, "en", "s"), 0) == "contaminated"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("set.csv", b"", r"set\.csv: found \.csv; expected \.jsonl or \.txt"),
        ("set.jsonl", b"{}\nx\n", r"set\.jsonl:2: not JSON: Expecting value"),
        ("set.txt", b"ab\xff", r"set\.txt: not UTF-8 at byte 3"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DanluError, match=message):
        EvaluationSets([tmp_path / name])


def test_a_missing_set_is_named(tmp_path):
    with pytest.raises(DanluError, match=r"no\.jsonl: cannot be read \(No such file"):
        EvaluationSets([tmp_path / "no.jsonl"])
