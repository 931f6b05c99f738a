"""The stage as a whole, on a small model in onnxruntime."""

import json
import math

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.evaluate.evaluation import evaluate
from danlu.experiments import read_resolved
from danlu.weights import huggingface, reference

LETTERS = "abcdefghijklmnopqrstuvwxyz 公民法律国家机关应当规定合同财产权利"


def expected_bits_per_byte(run, texts):
    """By another implementation, in float64, a window at a time."""
    model = read_resolved(run / "experiment.yaml").model
    weights = huggingface.read_weights(run / "weights", model)
    bits = 0.0
    for text in texts:
        tokens = [*(LETTERS.index(character) + 3 for character in text), 2]
        read = [2, *tokens]
        for start in range(0, len(tokens), 16):
            end = min(start + 16, len(tokens))
            first = max(0, end - 16)
            [logits] = reference.logits(model, weights, [np.array(read[first:end])])
            for place in range(start, end):
                row = logits[place - first]
                bits -= (row[tokens[place]] - np.logaddexp.reduce(row)) / math.log(2)
    return bits / sum(len(text.encode()) for text in texts)


def test_bits_per_byte_are_those_of_another_implementation(run, corpus):
    found = evaluate(run, corpus, threads=2)
    english = ["the quiet harbour", "a senate of farmers " * 4, "winter", "cold rivers"]
    chinese = ["公民应当", "国家机关规定合同财产权利", "法律"]
    assert found["documents"] == {"en": 4, "zh": 3, "all": 7}
    assert found["bytes"] == {"en": 17 + 80 + 6 + 11, "zh": 12 + 36 + 6, "all": 168}
    scored = found["bits_per_byte"]["fp32"]
    for lang, texts in (("en", english), ("zh", chinese), ("all", english + chinese)):
        assert scored[lang] == pytest.approx(expected_bits_per_byte(run, texts), abs=2e-5)
    tokens = sum(len(text) + 1 for text in chinese)
    nats = scored["zh"] * 54 * math.log(2)
    assert found["perplexity"]["fp32"]["zh"] == pytest.approx(math.exp(nats / tokens), rel=1e-4)
    assert found["bits_per_byte"]["int8"]["all"] == pytest.approx(scored["all"], rel=0.05)


def test_evaluation_json_is_small_and_stable_in_form(run, corpus):
    evaluate(run, corpus, threads=1)
    found = json.loads((run / "evaluation.json").read_text())
    assert list(found) == [
        "bits_per_byte",
        "perplexity",
        "accuracy",
        "baselines",
        "sets",
        "documents",
        "bytes",
    ]
    assert {table: list(found[table]) for table in ("bits_per_byte", "perplexity", "accuracy")} == {
        "bits_per_byte": ["fp32", "int8"],
        "perplexity": ["fp32", "int8"],
        "accuracy": ["fp32", "int8"],
    }
    assert list(found["bits_per_byte"]["fp32"]) == ["en", "zh", "all"]
    assert list(found["baselines"]) == ["unigram_bits_per_byte", "gzip_bits_per_byte"]
    assert list(found["sets"]["phrases"]) == ["exact_match", "character_f1", "items"]
    assert (run / "evaluation.json").stat().st_size < 2000


def test_no_figure_and_no_sample_depends_on_the_number_of_threads(run, corpus):
    evaluate(run, corpus, threads=1)
    once = {name: (run / name).read_bytes() for name in ("evaluation.json", "samples.md")}
    evaluate(run, corpus, threads=5)
    assert once == {name: (run / name).read_bytes() for name in ("evaluation.json", "samples.md")}


def test_samples_show_each_prompt_and_both_ways_it_goes_on(run, corpus):
    evaluate(run, corpus, threads=1)
    text = (run / "samples.md").read_text()
    assert text.startswith("# Samples of 2026-11-30-tiny\n")
    assert [line for line in text.splitlines() if line.startswith("#")][1:] == [
        "## the quiet",
        "## 公民",
    ]
    assert text.count("> **the quiet**") == text.count("> **公民**") == 2
    assert "temperature 0.8" in text


def test_ids_that_disagree_are_refused_with_every_disagreement(run, corpus):
    config = json.loads((run / "weights/config.json").read_text())
    config |= {"eos_token_id": 7, "vocab_size": 95}
    (run / "weights/config.json").write_text(json.dumps(config))
    generation = json.loads((run / "weights/generation_config.json").read_text())
    del generation["pad_token_id"]
    (run / "weights/generation_config.json").write_text(json.dumps(generation))
    with pytest.raises(DanluError) as raised:
        evaluate(run, corpus, threads=1)
    assert [line.removeprefix(f"{run}/") for line in str(raised.value).splitlines()][:3] == [
        "weights/config.json: vocabulary of 95; experiment.yaml: model.vocab_size: 96",
        "weights/config.json: eos_token_id: found 7; weights/tokenizer.json: <e> is 2",
        "weights/generation_config.json: pad_token_id: found None; weights/tokenizer.json: <p> is 0",
    ]
    assert not (run / "evaluation.json").exists()


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(run, corpus):
    described = json.loads((run / "weights/tokenizer.json").read_text())
    described["model"]["vocab"]["too far"] = 96
    (run / "weights/tokenizer.json").write_text(json.dumps(described))
    with pytest.raises(DanluError, match=r"tokenizer\.json: highest id 96; .*vocab_size: 96"):
        evaluate(run, corpus, threads=1)


def test_a_set_whose_item_does_not_fit_the_model_names_its_line(run, corpus, tmp_path):
    (tmp_path / "phrases.jsonl").write_text(
        json.dumps({"prompt": "the " * 200, "reference": "quiet"}) + "\n"
    )
    with pytest.raises(DanluError, match=r"phrases\.jsonl:1: prompt and reference are \d+ tokens"):
        evaluate(run, corpus, threads=1)


def test_text_that_the_tokenizer_loses_is_said(run, corpus, capsys):
    line = {"id": "x", "text": "QUIET", "lang": "en", "source": "made up"}
    with (corpus / "heldout.jsonl").open("a") as stream:
        stream.write(json.dumps(line) + "\n")
    settings = (run / "experiment.yaml").read_text()
    (run / "experiment.yaml").write_text(settings.replace("max_documents: 4", "max_documents: 9"))
    evaluate(run, corpus, threads=1)
    assert "the ids of 1 of 9 held-out documents do not give their text back" in (
        capsys.readouterr().err
    )
