"""Personal data are masked where they are asked for; what only looks like them stays."""

from __future__ import annotations

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.corpus.personal import is_chinese_id, mask, mask_all

ALL = ("email", "phone", "chinese_id", "ip")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to jane.doe+x@mail.example.co.uk, please", "write to <email>, please"),
        ("邮箱：zhang_san@163.com。", "邮箱：<email>。"),
        ("手机13812345678，或 +86 138-1234-5678", "手机<phone>，或 <phone>"),
        ("电话 010-12345678；0571 87654321", "电话 <phone>；<phone>"),
        ("call (202) 456-1111 or +1 202-456-1111.", "call <phone> or <phone>."),
        ("in London: +44 20 7946 0958", "in London: <phone>"),
        ("身份证号 11010519491231002X 有效", "身份证号 <chinese_id> 有效"),
        ("from 8.8.8.8 and 2001:4860:4860::8888 on", "from <ip> and <ip> on"),
    ],
)
def test_personal_data_are_replaced_by_their_kind(text, expected):
    masked, counts = mask(text, ALL)
    assert masked == expected
    assert counts == {k: expected.count(f"<{k}>") for k in ALL if f"<{k}>" in expected}


@pytest.mark.parametrize(
    "text",
    [
        "at 12:30:45, on page 3::4, in § 1.2.3.4.5",
        "192.168.0.1 and 127.0.0.1 say nothing; 999.1.1.1 is none",
        "身份证号 110105194912310021 的校验码不对",
        "身份证号 11010519491331002X 没有这样的月份",
        "the sum of 13,000,000,000 dollars in 1941-1945",
        "user@localhost and @name and 5@6",
        "ISBN 978-7-5118-1234-5, 2026-11-30",
        "第1234567890条，共2026年",
    ],
)
def test_what_only_looks_like_them_stays(text):
    assert mask(text, ALL) == (text, {})


def test_only_the_kinds_that_are_asked_for_are_masked():
    text = "a@b.com, 8.8.8.8"
    assert mask(text, ("ip",)) == ("a@b.com, <ip>", {"ip": 1})
    assert mask(text, ()) == (text, {})


def test_each_is_counted_by_its_kind_and_what_was_masked_before_is_not():
    text = "a@b.com, c@d.org and <email>; 8.8.8.8, 10.0.0.1; 手机13812345678"
    assert mask(text, ALL)[1] == {"email": 2, "ip": 1, "phone": 1}


@pytest.mark.parametrize(
    "number", ["11010519491231002X", "440524188001010014", "34052419800101001X"]
)
def test_identity_numbers_are_known_by_their_checksum(number):
    assert is_chinese_id(number)
    assert is_chinese_id(number.lower())
    for place in range(17):
        wrong = str((int(number[place]) + 1) % 10)
        assert not is_chinese_id(number[:place] + wrong + number[place + 1 :])


@given(st.text(alphabet="0123456789.:@abX+- ()", max_size=60))
def test_masking_twice_changes_nothing_more(text):
    once, _ = mask(text, ALL)
    assert mask(once, ALL) == (once, {})


def test_a_batch_is_masked_as_its_texts_are():
    batch = pyarrow.array(["法律", "a@b.com", "", "8.8.8.8 8.8.4.4"], pyarrow.large_string())
    texts, counts = mask_all(batch, ALL)
    assert texts.to_pylist() == ["法律", "<email>", "", "<ip> <ip>"]
    assert counts == {1: {"email": 1}, 3: {"ip": 2}}
    assert mask_all(batch, ()) == (batch, {})
