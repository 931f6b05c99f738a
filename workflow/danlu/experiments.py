"""From config/*.yaml to resolved experiments, with every fault reported at once.

config/config.yaml holds `defaults` (every value) and which experiments run;
config/experiments/NAME.yaml holds only what differs. An archived experiment.yaml, which
holds every value, is read the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from danlu import faults
from danlu.config import Experiment, Section
from danlu.errors import DanluError

# Who says what no file of settings may say otherwise.
_GIVEN_BY = {"name": "the file's own name", "target": "config.yaml or the profile says"}

Settings = TypeVar("Settings", bound=Section)


class ConfigurationError(DanluError):
    """Faults in the configuration, one a line, each with file, key, found and allowed."""

    def __init__(self, faults: list[str]):
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class Layer:
    """One mapping of settings and where it came from."""

    source: str
    values: Mapping[str, Any]
    lines: Mapping[tuple[str, ...], int]

    def has(self, path: tuple[str, ...]) -> bool:
        """Whether this layer sets the key, or any key above or below it."""
        node: Any = self.values
        for part in path:
            if not isinstance(node, Mapping):
                return True
            if part not in node:
                return False
            node = node[part]
        return True

    def where(self, path: tuple[str, ...]) -> str:
        """`file:line` of the key, or of the nearest key above it, or just the file."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return f"{self.source}:{self.lines[path[:end]]}"
        return self.source


class _Loader(yaml.SafeLoader):
    """YAML without silent surprises: a key that stands twice is a fault."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[str] = set()
        for key_node, _ in node.value:
            where = f"{key_node.start_mark.name}:{key_node.start_mark.line + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigurationError(
                    [f"{where}: found a list or mapping as a key; allowed: text"]
                )
            if key_node.value in seen:
                raise ConfigurationError([f"{where}: {key_node.value} stands twice; keep one"])
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


def read_layer(path: Path, inside: str | None = None) -> Layer:
    """A YAML file as a layer; inside: the top-level key whose mapping is meant.

    Raises ConfigurationError where the file cannot be read, is not YAML, or is no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError([f"{path}: cannot be read: {error}"]) from error
    try:
        stream = _Loader(text)
        stream.name = str(path)
        try:
            node = stream.get_single_node()
            values = stream.construct_document(node) if node is not None else {}
        finally:
            stream.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        # A character that YAML does not allow has neither, and its text is of two lines.
        problem = problem.splitlines()[0]
        raise ConfigurationError([f"{path}{line}: not valid YAML: {problem}"]) from error
    if not isinstance(values, Mapping):
        raise ConfigurationError(
            [f"{path}: found {faults.show(values)}; allowed: a mapping of settings"]
        )
    lines = _lines(node) if node is not None else {}
    if inside is not None:
        values = values.get(inside) or {}
        if not isinstance(values, Mapping):
            raise ConfigurationError(
                [
                    f"{path}:{lines[(inside,)]}: {inside}: found {faults.show(values)}; "
                    "allowed: a mapping of settings"
                ]
            )
        lines = {key[1:]: line for key, line in lines.items() if key[:1] == (inside,)}
    return Layer(str(path), values, lines)


def _lines(node: yaml.Node, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            path = (*above, str(key.value))
            found[path] = key.start_mark.line + 1
            found |= _lines(value, path)
    return found


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings as one, key by key; where both set a value, the one above wins."""
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def resolve(
    name: str,
    config: Path,
    target: str,
    npu: int | None = None,
) -> Experiment:
    """The experiment NAME of config/experiments, laid over the defaults of config.yaml.

    config: path of config.yaml; experiments/ stands beside it.
    npu: the NPUs that the profile grants, None where nothing is known of it.
    Raises ConfigurationError with all faults.
    """
    overlay = config.parent / "experiments" / f"{name}.yaml"
    if not overlay.is_file():
        folder = config.parent / "experiments"
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml"))) or "none there"
        raise ConfigurationError([f"{folder}: experiments: found {name}; allowed: {known}"])
    layers = [read_layer(config, "defaults"), read_layer(overlay)]
    return build(layers, {"name": name, "target": target}, npu)


def read_resolved(path: Path) -> Experiment:
    """An archived experiment.yaml, which holds every value, its name and its target too."""
    return build([read_layer(path)], {}, None)


def read_settings(model: type[Settings], told: str) -> Settings:
    """A stage's own settings from the JSON text that its rule passes as --settings.

    Raises ConfigurationError with all faults.
    """
    try:
        values = json.loads(told)
    except ValueError as error:
        raise ConfigurationError([f"--settings: not valid JSON: {error}"]) from error
    layer = Layer("--settings", values if isinstance(values, dict) else {}, {})
    try:
        return model.model_validate(_tuples(values))
    except ValidationError as error:
        raise ConfigurationError([_fault([layer], e, model) for e in faults.own(error)]) from error


def build(layers: list[Layer], given: Mapping[str, str], npu: int | None) -> Experiment:
    """Merge layers (lowest first), validate, and refuse what the target cannot honour.

    given: name and target where the caller says them, and no layer may say otherwise.
    """
    values: dict[str, Any] = {}
    for layer in layers:
        values = merge(values, layer.values)
    wrong = [
        f"{_source(layers, (key,))}: {key}: found {faults.show(values[key])}; "
        f"allowed: only {told}, as {_GIVEN_BY[key]}"
        for key, told in given.items()
        if values.get(key, told) != told
    ]
    try:
        experiment = Experiment.model_validate(_tuples(merge(values, given)))
    except ValidationError as error:
        wrong += [_fault(layers, e) for e in faults.own(error)]
        raise ConfigurationError(wrong) from error
    wrong += [
        f"{_source(layers, tuple(key.split('.')))}: {key}: found {found}; allowed: {allowed}"
        for key, found, allowed in experiment.conflicts(npu)
    ]
    if wrong:
        raise ConfigurationError(wrong)
    return experiment


class _Dumper(yaml.SafeDumper):
    """YAML in which a line break of Unicode inside a text is escaped, and so read back."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # PyYAML writes these as they are and reads them as the end of a line.
        style = '"' if any(c in data for c in "\x85\u2028\u2029\ufeff") else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def dump(experiment: Experiment) -> str:
    """The resolved experiment as YAML that `read_resolved` reads back to the same."""
    return yaml.dump(
        experiment.model_dump(mode="json"),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )


def flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting under its dotted key, e.g. {"training.learning_rate": 0.003}."""

    def walk(node: Any, above: str) -> dict[str, Any]:
        if not isinstance(node, Mapping):
            return {above: node}
        return {
            key: value
            for part, child in node.items()
            for key, value in walk(child, f"{above}.{part}" if above else part).items()
        }

    return walk(values, "")


def _tuples(node: Any) -> Any:
    """Lists as tuples: frozen models hold tuples, and strict validation converts nothing."""
    if isinstance(node, Mapping):
        return {key: _tuples(value) for key, value in node.items()}
    if isinstance(node, list):
        return tuple(_tuples(item) for item in node)
    return node


def _source(layers: list[Layer], path: tuple[str, ...]) -> str:
    for layer in reversed(layers):
        if layer.has(path):
            return layer.where(path)
    return layers[-1].where(path)


def _fault(layers: list[Layer], error: dict[str, Any], model: type[Section] = Experiment) -> str:
    path = tuple(str(part) for part in error["loc"])
    key = ".".join(path)
    if error["type"] == "missing":
        # Every setting stands in the lowest layer; the others only change some.
        return f"{layers[0].where(path)}: {key}: missing; allowed: a value, as every setting has"
    where = _source(layers, path)
    if error["type"] == "extra_forbidden":
        return f"{where}: {key}: unknown key; allowed: {faults.siblings(model, path)}"
    return f"{where}: {key}: found {faults.show(error['input'])}; allowed: {faults.allowed(error)}"
