"""A run whose graphs are those of a small model that transformers knows, and a corpus for it."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from danlu import publish
from danlu.config import Experiment, Model
from danlu.experiments import resolve
from danlu.onnx import export, graph
from danlu.weights import huggingface
from danlu.weights.huggingface import SpecialToken, Vocabulary
from danlu.weights.tensors import from_arrays

ROOT = Path(__file__).parents[2]
SPECIAL = {"padding": ("<p>", 0), "begin": ("<b>", 1), "end_of_document": ("<e>", 2)}
LETTERS = "abcdefghijklmnopqrstuvwxyz 公民法律国家机关应当规定合同财产权利"
TEXTS = {
    "en": ["the quiet harbour", "a senate of farmers " * 4, "winter", "cold rivers", "letters"],
    "zh": ["公民应当", "国家机关规定合同财产权利", "法律"],
}


def tokenizer():
    """A character a token."""
    names = [name for name, _ in SPECIAL.values()]
    vocabulary = {token: place for place, token in enumerate([*names, *LETTERS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="z"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    made.add_special_tokens([AddedToken(name, special=True) for name in names])
    return made


def experiment(model, sets):
    base = resolve("baseline", ROOT / "config/config.yaml", "cpu").model_dump()
    base["model"] = model.model_dump()
    base["tokenizer"] |= {"kind": "file", "file": "tokenizer.json"}
    base["tokenizer"] |= {f"{kind}_token": name for kind, (name, _) in SPECIAL.items()}
    base["records"] |= {"seq_length": 16, "begin_of_document": False}
    base["evaluation"] |= {
        "max_documents": 4,
        "prompts": ("the quiet", "公民"),
        "max_new_tokens": 12,
        "sets": sets,
    }
    return Experiment.model_validate(base)


@pytest.fixture
def corpus(tmp_path):
    """A corpus folder, the held-out texts of two languages mixed."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [
        {"id": f"{lang}/{n}", "text": text, "lang": lang, "source": "made up"}
        for lang, texts in TEXTS.items()
        for n, text in enumerate(texts)
    ]
    for name in ("train", "heldout"):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def run(tmp_path):
    """A run after its export: the experiment, weights/ and onnx/."""
    with np.load(ROOT / "tests/data/logits-qwen3.npz") as file:
        arrays = {key: file[key] for key in file.files}
    config = json.loads(str(arrays["config"]))
    fields = {key: config[key] for key in Model.model_fields if key in config}
    model = Model(architecture="qwen3", hidden_dropout=0.0, **fields)
    prefix = "weights/"
    weights = from_arrays(
        {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    )
    (tmp_path / "phrases.jsonl").write_text(
        '{"prompt": "the", "reference": "quiet"}\n{"prompt": "公", "reference": "民"}\n'
    )
    run = tmp_path / "2026-11-30-tiny"
    run.mkdir()
    settings = experiment(model, (str(tmp_path / "phrases.jsonl"),)).model_dump(mode="json")
    (run / "experiment.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True))
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    vocabulary = Vocabulary(
        model.vocab_size, **{kind: SpecialToken(*token) for kind, token in SPECIAL.items()}
    )
    with publish.folder(run / "weights") as folder:
        huggingface.write(folder, model, weights, vocabulary, tmp_path / "tokenizer.json")
    (run / "onnx").mkdir()
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    export.write(graph.build(model, weights, ids), run / "onnx/model.onnx")
    export.quantize(run / "onnx/model.onnx", run / "onnx/model_int8.onnx")
    return run
