import hashlib
import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from danlu.config import Packed

DOCUMENTS = [("en", "a b c a"), ("zh", "法 律"), ("en", "c"), ("en", "a b a b a b a b a b a b")]


@pytest.fixture
def corpus(tmp_path):
    """A corpus folder: four documents to train on, and one held out."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = [
        json.dumps({"id": f"d/{n}", "text": text, "lang": lang, "source": "t"}, ensure_ascii=False)
        for n, (lang, text) in enumerate(DOCUMENTS)
    ]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "heldout.jsonl").write_text(
        json.dumps({"id": "h", "text": "secret", "lang": "en", "source": "t"}) + "\n"
    )
    return folder


@pytest.fixture
def tokenizer(tmp_path):
    """A tokenizer folder: words a, b, c, 法, 律, secret are 3 to 8."""
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    names = ["<pad>", "<begin>", "<end>", "a", "b", "c", "法", "律", "secret"]
    made = Tokenizer(models.WordLevel({name: n for n, name in enumerate(names)}, unk_token="a"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(names[:3])
    made.save(str(folder / "tokenizer.json"))
    described = (folder / "tokenizer.json").read_bytes()
    ids = {
        "vocab_size": 16,
        "tokenizer_size": 9,
        "end_of_document": {"token": "<end>", "id": 2},
        "padding": {"token": "<pad>", "id": 0},
        "begin": {"token": "<begin>", "id": 1},
        "sha256": hashlib.sha256(described).hexdigest(),
    }
    (folder / "ids.json").write_text(json.dumps(ids))
    return folder


@pytest.fixture
def settings():
    """Settings with what a test changes."""

    def make(**changes):
        return Packed(
            **{
                "seq_length": 8,
                "packing": "concat",
                "begin_of_document": False,
                "mask_end_of_document": False,
                "position_ids": "row",
                "rows_per_file": 2,
                **changes,
            }
        )

    return make
