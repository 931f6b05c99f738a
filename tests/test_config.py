"""The models are the definition: frozen, strict, and what schema.json and README.md say."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from pydantic import BaseModel, ValidationError

from danlu import config, experiments, selection

FOLDER = Path(__file__).parent.parent / "config"


def keys(model: type[BaseModel], above: str = "") -> list[str]:
    """All dotted keys that can be set, sections before what stands in them."""
    found = []
    for name, field in model.model_fields.items():
        found.append(above + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, config.Section):
            found += keys(field.annotation, f"{above}{name}.")
    return found


def test_an_experiment_cannot_be_changed(draft):
    experiment = draft()
    with pytest.raises(ValidationError, match="frozen"):
        experiment.training.total_steps = 3


def test_experiments_of_the_same_settings_are_the_same(draft):
    assert draft() == draft()
    assert hash(draft()) == hash(draft())
    assert draft() != draft({"seed": 43})


def test_no_model_has_a_default_of_its_own():
    """So that a resolved experiment says every value that made the run."""
    models = [config.Experiment, *config.Section.__subclasses__()]
    with_defaults = [
        f"{model.__name__}.{name}"
        for model in models
        if model is not selection.Selection and model.__module__ == "danlu.config"
        for name, field in model.model_fields.items()
        if not field.is_required()
    ]
    assert with_defaults == []


def test_canonical_is_the_same_text_whatever_the_order(draft):
    dedup = draft().corpus.dedup
    other_order = config.Dedup(**dict(reversed(dedup.model_dump().items())))
    assert dedup.canonical() == other_order.canonical()
    assert dedup.canonical() == (
        '{"bands":16,"character_ngram":5,"clusters":"greedy","memory_mib":1024,'
        '"method":"minhash","near":true,"rows":8,"threshold":0.7,"warn_source_share":0.5,'
        '"word_ngram":5}'
    )


def test_settings_that_change_no_byte_are_marked_and_all_others_keyed(draft):
    assert config.Experiment.unkeyed() == {
        "corpus": {"dedup": {"warn_source_share": True, "memory_mib": True}},
        "records": {"verify": True},
    }
    assert config.Corpus.unkeyed() == {"dedup": {"warn_source_share": True, "memory_mib": True}}
    keyed = draft().keyed()
    assert keyed["corpus"]["dedup"].pop("bands") == 16
    assert set(keyed["corpus"]["dedup"]) == {
        "near", "method", "clusters", "threshold", "word_ngram", "character_ngram", "rows",
    }  # fmt: skip
    whole = draft().model_dump(mode="json")
    del keyed["corpus"]["dedup"], whole["corpus"]["dedup"], whole["records"]["verify"]
    assert keyed == whole


@pytest.mark.parametrize("value", ["3", 3.0, True, None, float("nan"), float("inf")])
def test_nothing_is_converted_to_a_whole_number_silently(draft, value):
    with pytest.raises(ValidationError):
        config.Training.model_validate(draft().training.model_dump() | {"total_steps": value})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_rate_is_finite(draft, value):
    with pytest.raises(ValidationError, match="finite"):
        config.Training.model_validate(draft().training.model_dump() | {"learning_rate": value})


@pytest.mark.parametrize("name", ["Baseline", "a/b", "", "-x", "a b", "..", "名"])
def test_a_name_that_is_no_folder_name_is_refused(draft, name):
    with pytest.raises(ValidationError, match="name"):
        config.Experiment.model_validate(draft().model_dump() | {"name": name})


def test_config_yaml_gives_every_setting_and_no_other():
    defaults = yaml.safe_load((FOLDER / "config.yaml").read_text("utf-8"))["defaults"]
    config.Experiment.model_validate_json(json.dumps(defaults | {"name": "test", "target": "cpu"}))


def test_schema_json_is_what_the_models_say():
    written = (FOLDER / "schema.json").read_text("utf-8")
    assert json.loads(written) == config.schema(), "run: danlu schema"
    assert written.endswith("}\n")


@pytest.mark.parametrize("file", sorted((FOLDER / "experiments").glob("*.yaml")), ids=str)
def test_each_experiment_file_is_valid_by_the_schema(file):
    jsonschema.validate(yaml.safe_load(file.read_text()), config.schema())


def test_the_schema_takes_defaults_and_archived_experiments(defaults, draft):
    jsonschema.validate(defaults, config.schema())
    jsonschema.validate(yaml.safe_load(experiments.dump(draft())), config.schema())


@pytest.mark.parametrize(
    "fault",
    [
        {"trainin": {}},
        {"training": {"total_step": 3}},
        {"training": {"total_steps": 0}},
        {"training": {"total_steps": "3"}},
        {"training": {"precision": "fp64"}},
        {"corpus": {"dedup": {"threshold": 1.5}}},
    ],
)
def test_the_schema_refuses_what_the_models_refuse(fault):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(fault, config.schema())


def test_the_readme_explains_each_key_that_there_is_and_none_that_there_is_not():
    """A row of a table that begins with `key` explains that key."""
    text = (FOLDER / "README.md").read_text("utf-8")
    explained = re.findall(r"^\| `([a-z0-9_.]+)` \|", text, flags=re.MULTILINE)
    known = keys(config.Experiment)
    top = {*selection.Selection.model_fields, "defaults"}
    leaves = [key for key in known if not any(k.startswith(f"{key}.") for k in known)]
    assert sorted(explained) == sorted({*leaves, *top})
