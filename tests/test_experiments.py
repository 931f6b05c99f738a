"""From YAML files to an experiment, or to all faults at once: file:line, key, found, allowed."""

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from danlu import experiments
from danlu.config import Corpus, Experiment
from danlu.experiments import ConfigurationError

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture
def project(tmp_path, monkeypatch, defaults) -> Path:
    """config/ with defaults, a key a line, and the current folder beside it."""
    (tmp_path / "config/experiments").mkdir(parents=True)
    text = yaml.safe_dump({"defaults": defaults}, sort_keys=False, allow_unicode=True)
    (tmp_path / "config/config.yaml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def resolve(text: str | bytes, target: str = "cpu", npu: int | None = None) -> Experiment:
    file = Path("config/experiments/mine.yaml")
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return experiments.resolve("mine", Path("config/config.yaml"), target, npu)


def faults(text: str | bytes, target: str = "cpu", npu: int | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        resolve(text, target, npu)
    assert str(raised.value) == "\n".join(raised.value.faults)
    return raised.value.faults


def test_an_experiment_changes_only_what_it_names(project):
    changed = resolve("training:\n  learning_rate: 0.01\n")
    plain = resolve("{}")
    assert changed.training.learning_rate == 0.01
    different = {
        key
        for key, value in experiments.flatten(changed.model_dump()).items()
        if experiments.flatten(plain.model_dump())[key] != value
    }
    assert different == {"training.learning_rate"}


def test_an_empty_file_changes_nothing(project):
    assert resolve("") == resolve("{}") == resolve("# only a comment\n")


def test_lists_are_replaced_not_joined(project):
    assert resolve("weights:\n  prompts: [a, b]\n").weights.prompts == ("a", "b")


def test_the_experiment_is_named_like_its_file_and_has_the_asked_target(project):
    assert (resolve("{}").name, resolve("{}").target) == ("mine", "cpu")


MINE = "config/experiments/mine.yaml"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "corpus:\n  dedup:\n    thresold: 0.5\n",
            f"{MINE}:3: corpus.dedup.thresold: unknown key; allowed: near, method, "
            "clusters, threshold, word_ngram, character_ngram, bands, rows, warn_source_share, "
            "memory_mib",
        ),
        (
            "trainin: {}\n",
            f"{MINE}:1: trainin: unknown key; allowed: name, target, seed, corpus, tokenizer, "
            "records, model, training, parallel, weights, export, evaluation",
        ),
        (
            "corpus: {dedup: {word_ngram: 50000}}\n",
            f"{MINE}:1: corpus.dedup.word_ngram: found 50000; allowed: less than or equal to 100",
        ),
        (
            "corpus: {dedup: {character_ngram: 101}}\n",
            f"{MINE}:1: corpus.dedup.character_ngram: found 101; allowed: less than or equal to 100",
        ),
        (
            "corpus: {dedup: {bands: 1001}}\n",
            f"{MINE}:1: corpus.dedup.bands: found 1001; allowed: less than or equal to 1000",
        ),
        (
            "corpus: {dedup: {rows: 101}}\n",
            f"{MINE}:1: corpus.dedup.rows: found 101; allowed: less than or equal to 100",
        ),
        (
            "corpus: {dedup: {bands: 400, rows: 26}}\n",
            f"{MINE}:1: corpus.dedup.rows: found 26; allowed: 1 to 25 with 400 bands: bands x rows "
            "is 10,000 at most",
        ),
        (
            "training:\n  total_steps: 3.0\n",
            f"{MINE}:2: training.total_steps: found 3.0; allowed: a whole number",
        ),
        (
            "training:\n  total_steps: '5'\n",
            f"{MINE}:2: training.total_steps: found '5' (text); allowed: a whole number (write it "
            "without quotes)",
        ),
        (
            "training:\n  learning_rate: 1e-4\n",
            f"{MINE}:2: training.learning_rate: found '1e-4' (text); allowed: a number (YAML reads "
            "1e-4 as text: write 1.0e-4)",
        ),
        (
            "training:\n  learning_rate: fast\n",
            f"{MINE}:2: training.learning_rate: found 'fast' (text); allowed: a number",
        ),
        (
            "training:\n  learning_rate: .inf\n",
            f"{MINE}:2: training.learning_rate: found inf; allowed: a finite number",
        ),
        (
            "training:\n  recompute: 'true'\n",
            f"{MINE}:2: training.recompute: found 'true' (text); allowed: true or false",
        ),
        (
            "training:\n  warmup_steps: yes\n",
            f"{MINE}:2: training.warmup_steps: found true (true or false); allowed: a whole number",
        ),
        (
            "training:\n  precision: fp64\n",
            f"{MINE}:2: training.precision: found 'fp64' (text); allowed: 'fp32', 'fp16' or 'bf16'",
        ),
        ("seed: -1\n", f"{MINE}:1: seed: found -1; allowed: greater than or equal to 0"),
        (
            "corpus:\n  heldout_share: 1\n",
            f"{MINE}:2: corpus.heldout_share: found 1; allowed: less than 1",
        ),
        (
            "corpus:\n  text_column: ''\n",
            f"{MINE}:2: corpus.text_column: found '' (text); allowed: text that is not empty",
        ),
        ("model: 3\n", f"{MINE}:1: model: found 3; allowed: a mapping of settings"),
        ("model:\n", f"{MINE}:1: model: found null; allowed: a mapping of settings"),
        (
            "evaluation:\n  prompts: 第一条\n",
            f"{MINE}:2: evaluation.prompts: found '第一条' (text); allowed: a list",
        ),
        (
            "weights:\n  prompts: [a]\n",
            f"{MINE}:2: weights.prompts: found a list of 1; allowed: a list of at least 2",
        ),
        (
            "weights:\n  prompts:\n    - a\n    - 3\n",
            f"{MINE}:2: weights.prompts.1: found 3; allowed: text",
        ),
        (
            "weights:\n  prompts: [a, '']\n",
            f"{MINE}:2: weights.prompts.1: found '' (text); allowed: text that is not empty",
        ),
        (
            "weights:\n  prompts: [a, a]\n",
            f"{MINE}:2: weights.prompts: found a list of 2; allowed: prompts that differ from each "
            "other",
        ),
        (
            "training:\n  total_steps: 2147483648\n",
            f"{MINE}:2: training.total_steps: found 2147483648; allowed: less than 2147483648",
        ),
        ("1: x\n", f"{MINE}:1: 1: found 1; allowed: text as a key"),
        ("target: ascend\n", f"{MINE}:1: target: found 'ascend' (text); allowed: only cpu, as "
         "config.yaml or the profile says"),
        ("name: other\n", f"{MINE}:1: name: found 'other' (text); allowed: only mine, as the "
         "file's own name"),
    ],
)  # fmt: skip
def test_a_fault_says_file_line_key_found_and_allowed(project, text, fault):
    assert faults(text) == [fault]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("seed: 1\nseed: 2\n", f"{MINE}:2: seed stands twice; keep one"),
        ("training:\n  total_steps: 1\n  total_steps: 1\n", f"{MINE}:3: total_steps stands twice"),
        ("? [a]\n: 3\n", f"{MINE}:1: found a list or mapping as a key; allowed: text"),
        ("a: [\n", f"{MINE}:2: not valid YAML: "),
        ("seed: 1\n---\nseed: 2\n", f"{MINE}:2: not valid YAML: "),
        ("seed: *nowhere\n", f"{MINE}:1: not valid YAML: found undefined alias"),
        ("seed: !!python/object:os.system {}\n", f"{MINE}:1: not valid YAML: "),
        ("- seed\n", f"{MINE}: found a list of 1; allowed: a mapping of settings"),
        ("seed\n", f"{MINE}: found 'seed' (text); allowed: a mapping of settings"),
        (b"\xff\xfe", f"{MINE}: cannot be read: "),
        ("seed: 1\0\n", f"{MINE}: not valid YAML: unacceptable character"),
    ],
)
def test_a_file_that_is_no_mapping_of_settings_is_named_with_its_line(project, text, start):
    (fault,) = faults(text)
    assert fault.startswith(start)


def test_all_faults_are_told_at_once_each_by_its_own_file(project):
    config = Path("config/config.yaml")
    broken = config.read_text("utf-8").replace("min_characters: 20", "min_characters: many")
    config.write_text(broken.replace("  seed: 42\n", ""), "utf-8")
    # The seed's line stands above it, and is taken away.
    line = broken.splitlines().index("      min_characters: many")
    assert faults("training:\n  total_steps: 0\n  epochs: 3\ntarget: ascend\n") == [
        f"{MINE}:4: target: found 'ascend' (text); allowed: only cpu, as config.yaml or the "
        "profile says",
        "config/config.yaml: seed: missing; allowed: a value, as every setting has",
        f"config/config.yaml:{line}: corpus.filter.min_characters: found 'many' (text); allowed: "
        "a whole number",
        f"{MINE}:2: training.total_steps: found 0; allowed: greater than or equal to 1",
        f"{MINE}:3: training.epochs: unknown key; allowed: "
        + ", ".join(Experiment.model_fields["training"].annotation.model_fields),
    ]


def test_the_largest_signatures_of_the_literature_are_within_the_bounds(project):
    """9,000 hashes in 450 bands of 20, of 5 words (Lee et al., arXiv:2107.06499, appendix A)."""
    dedup = resolve("corpus: {dedup: {bands: 450, rows: 20, word_ngram: 5}}").corpus.dedup
    assert (dedup.bands, dedup.rows, dedup.word_ngram) == (450, 20, 5)


def test_a_conflict_of_sections_is_told_by_the_line_that_made_it(project):
    text = Path("config/config.yaml").read_text("utf-8")
    line = 1 + text.splitlines().index("    warmup_steps: 24")
    assert faults("training:\n  total_steps: 20\nmodel:\n  hidden_size: 250\n") == [
        f"{MINE}:4: model.hidden_size: found 250; allowed: a multiple of num_attention_heads (4)",
        f"config/config.yaml:{line}: training.warmup_steps: found 24; allowed: less than "
        "total_steps (20)",
    ]


def test_more_npus_than_the_profile_grants_are_refused(project):
    text = (REPOSITORY / "config/experiments/ascend8-qwen3.yaml").read_text()
    line = 1 + text.splitlines().index("  devices: 8")
    assert faults(text, target="ascend", npu=4) == [
        f"{MINE}:{line}: parallel.devices: found 8; allowed: at most the 4 NPUs that the profile grants"
    ]


@pytest.mark.parametrize("value", ["5", "[a]", "text"])
def test_defaults_that_are_no_mapping_are_refused(project, value):
    Path("config/config.yaml").write_text(f"experiments: [mine]\ndefaults: {value}\n")
    (fault,) = faults("{}")
    assert fault.startswith("config/config.yaml:2: defaults: found ")
    assert fault.endswith("; allowed: a mapping of settings")


def test_an_experiment_that_there_is_not_is_told_with_those_that_there_are(project):
    Path("config/experiments/b.yaml").write_text("{}")
    Path("config/experiments/a.yaml").write_text("{}")
    with pytest.raises(ConfigurationError) as raised:
        experiments.resolve("c", Path("config/config.yaml"), "cpu")
    assert str(raised.value) == "config/experiments: experiments: found c; allowed: a, b"


def test_yaml_anchors_and_merges_are_understood(project):
    assert resolve("training: &t\n  total_steps: 77\n").training.total_steps == 77
    merged = "training:\n  <<: {total_steps: 77, warmup_steps: 3}\n  warmup_steps: 5\n"
    assert resolve(merged).training.total_steps == 77
    assert resolve(merged).training.warmup_steps == 5


def test_a_stages_own_settings_are_read_as_strictly(draft):
    corpus = draft().corpus
    assert experiments.read_settings(Corpus, corpus.canonical()) == corpus
    with pytest.raises(ConfigurationError, match="--settings: not valid JSON"):
        experiments.read_settings(Corpus, "{")
    with pytest.raises(ConfigurationError, match="--settings: heldout_share: found 2; allowed"):
        experiments.read_settings(
            Corpus, corpus.canonical().replace('share":0.02,"l', 'share":2,"l')
        )


def test_flatten_names_every_setting_by_its_dotted_key(draft):
    flat = experiments.flatten(draft().model_dump(mode="json"))
    assert flat["training.learning_rate"] == 0.002
    assert flat["corpus.dedup.bands"] == 16
    assert flat["weights.prompts"][0] == "The state of the Union"
    assert not any(isinstance(value, dict) for value in flat.values())


def test_an_archived_experiment_is_read_back_to_the_same(project, draft):
    Path("experiment.yaml").write_text(experiments.dump(draft()), "utf-8")
    assert experiments.read_resolved(Path("experiment.yaml")) == draft()


def test_an_archived_experiment_without_its_name_or_target_is_refused(project, draft):
    values = yaml.safe_load(experiments.dump(draft()))
    del values["name"], values["target"]
    Path("experiment.yaml").write_text(yaml.safe_dump(values), "utf-8")
    with pytest.raises(ConfigurationError) as raised:
        experiments.read_resolved(Path("experiment.yaml"))
    assert raised.value.faults == [
        "experiment.yaml: name: missing; allowed: a value, as every setting has",
        "experiment.yaml: target: missing; allowed: a value, as every setting has",
    ]


finite = st.floats(min_value=1e-300, max_value=1e300)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(max_examples=60)
@example(rate=1.0, epsilon=1.0, prompts=["\u2028", "\ufeff\r\n"], column="a\x85b")
@given(rate=finite, epsilon=finite, prompts=st.lists(texts, min_size=2, unique=True), column=texts)
def test_whatever_it_holds_an_experiment_survives_being_archived(
    tmp_path_factory, draft, rate, epsilon, prompts, column
):
    experiment = draft(
        {
            "training.learning_rate": rate,
            "training.min_learning_rate": 0,
            "training.adam_epsilon": epsilon,
            "weights.prompts": prompts,
            "corpus.text_column": column,
        }
    )
    path = tmp_path_factory.mktemp("archived") / "experiment.yaml"
    path.write_text(experiments.dump(experiment), "utf-8")
    assert experiments.read_resolved(path) == experiment
