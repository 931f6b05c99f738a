"""From a finished run's graphs to evaluation.json and samples.md."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from danlu import errors, experiments, publish
from danlu.config import Experiment
from danlu.errors import DanluError
from danlu.evaluate import agreement, baselines, evalsets, figures, heldout
from danlu.evaluate.agreement import Ids
from danlu.evaluate.continuation import Choose, Text, greedy, nucleus, tokens
from danlu.evaluate.heldout import Document
from danlu.evaluate.samples import Sample, render
from danlu.evaluate.score import Score, score
from danlu.onnx.session import Decoder
from danlu.tokenizer.ids import parse

GRAPHS = {"fp32": "onnx/model.onnx", "int8": "onnx/model_int8.onnx"}


@dataclass(frozen=True)
class Evaluator:
    """A run's graphs, opened and found to agree.

    threads: batches and prompts that run beside each other, each on one core, so that no
    figure depends on how many.
    """

    experiment: Experiment
    tokenizer: Tokenizer
    ids: Ids
    models: dict[str, Decoder]
    threads: int

    @classmethod
    def open(cls, run: Path, threads: int) -> Evaluator:
        """Raises DanluError where a file is missing or damaged, or ids disagree."""
        experiment = experiments.read_resolved(run / "experiment.yaml")
        tokenizer = _tokenizer(run / "weights/tokenizer.json")
        names = ["fp32", "int8"] if experiment.export.int8 else ["fp32"]
        models = {name: Decoder(run / GRAPHS[name], threads=1) for name in names}
        sizes = {GRAPHS[name]: model.vocab_size for name, model in models.items()}
        ids = agreement.check(run, experiment, tokenizer, sizes)
        return cls(experiment, tokenizer, ids, models, threads)

    def heldout(self, corpus: Path) -> dict[str, Any]:
        """The figures of held-out text, and of the baselines beside them."""
        chosen = heldout.select(corpus / "heldout.jsonl", self.experiment.evaluation.max_documents)
        encoded = list(baselines.encode(self.tokenizer, (document.text for document in chosen)))
        _say_lossy(self.tokenizer, chosen, encoded)
        targets = [[*ids, self.ids.end] for ids in encoded]
        length = self.experiment.records.seq_length
        windows = [
            window
            for place, ids in enumerate(targets)
            for window in heldout.windows(place, ids, self.ids.context, length)
        ]
        scores: dict[str, Sequence[Score]] = {}
        for name, model in self.models.items():
            print(f"scoring {len(windows)} windows of {len(chosen)} documents, {name}", flush=True)
            scores[name] = score(model, windows, self.ids.padding, self.threads)
        print("counting the tokens of the train split", flush=True)
        train = (document.text for document in heldout.documents(corpus / "train.jsonl"))
        costs = baselines.unigram(
            baselines.encode(self.tokenizer, train),
            self.ids.end,
            self.experiment.model.vocab_size,
        )
        return {
            **figures.models(chosen, windows, scores),
            "baselines": figures.baselines(chosen, targets, costs),
            **figures.sizes(chosen),
        }

    def sets(self, sets: dict[str, list[evalsets.Item]]) -> dict[str, dict[str, float | int]]:
        """How the fp32 graph does on the user's own sets, by name."""
        positions = self.experiment.model.max_position_embeddings

        def answer(item: evalsets.Item) -> str:
            return evalsets.answer(
                self.models["fp32"], self.tokenizer, item, self.ids.context, self.ids.end, positions
            )

        with ThreadPoolExecutor(self.threads) as pool:
            return {
                name: evalsets.score(list(pool.map(answer, items)), items)
                for name, items in sets.items()
            }

    def samples(self) -> list[Sample]:
        """Greedy and sampled continuations of the prompts of the configuration, fp32."""
        settings = self.experiment.evaluation

        def sample(place: int) -> Sample:
            prompt = settings.prompts[place]
            drawn = nucleus([self.experiment.seed, place], settings.temperature, settings.top_p)
            return Sample(prompt, self._continue(prompt, greedy), self._continue(prompt, drawn))

        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(sample, range(len(settings.prompts))))

    def _continue(self, prompt: str, choose: Choose) -> str:
        ids = self.tokenizer.encode(prompt, add_special_tokens=False).ids
        read = [self.ids.context, *ids]
        limit = min(
            self.experiment.evaluation.max_new_tokens,
            self.experiment.model.max_position_embeddings - len(read),
        )
        new = list(tokens(self.models["fp32"], read, choose, self.ids.end, limit))
        return Text(self.tokenizer, read)(new)


def evaluate(run: Path, corpus: Path, threads: int) -> dict[str, Any]:
    """Write samples.md and evaluation.json into the run; returns what the latter holds.

    Raises DanluError where a file is missing, a line is bad, or ids disagree.
    """
    evaluator = Evaluator.open(run, threads)
    settings = evaluator.experiment.evaluation
    sets = read_sets(settings.sets)
    found = evaluator.heldout(corpus)
    scored = {"sets": evaluator.sets(sets)}
    samples = render(run.name, evaluator.samples(), settings, evaluator.experiment.seed)
    ordered = {
        key: {**found, **scored}[key]
        for key in (
            "bits_per_byte",
            "perplexity",
            "accuracy",
            "baselines",
            "sets",
            "documents",
            "bytes",
        )
    }
    publish.text(run / "samples.md", samples)
    publish.json_file(run / "evaluation.json", ordered)
    return ordered


def read_sets(paths: Sequence[str]) -> dict[str, list[evalsets.Item]]:
    """The sets by name, which is their file's name without .jsonl.

    Raises DanluError with the bad lines of all of them, or where two have one name.
    """
    sets, faults = {}, []
    for path in map(Path, paths):
        if path.stem in sets:
            faults.append(f"{path}: a second set named {path.stem}; rename one")
        try:
            sets[path.stem] = evalsets.read(path)
        except DanluError as error:
            faults.append(str(error))
    if faults:
        raise DanluError("\n".join(faults))
    return sets


def _tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a run, encoding as records do: danlu.tokenizer.ids.load says why."""
    tokenizer = parse(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _say_lossy(
    tokenizer: Tokenizer, documents: Sequence[Document], encoded: Sequence[list[int]]
) -> None:
    """Warn where ids do not hold the whole text: then bits per byte flatter the model."""
    decoded = tokenizer.decode_batch(list(encoded), skip_special_tokens=False)
    lost = sum(text != document.text for text, document in zip(decoded, documents, strict=True))
    if lost:
        errors.say(
            f"the ids of {lost} of {len(documents)} held-out documents do not give their "
            "text back; bits per byte leave out what the tokenizer lost"
        )
