"""What tests of several parts stand on: experiments, and a miniature of the project.

The miniature is a copy with a git repository, data and an experiment of its own. The experiments
are every setting that there is, with the values that tests speak of pinned, so that a default
can be tuned without a test failing that only took it as its example.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml

# MindSpore's generated messages need protobuf's Python implementation, and it asks for it when it
# is imported; one process of tests imports onnx first. No stage imports both, so only this
# process is told, not the stages that it starts.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
from google.protobuf.internal import api_implementation  # noqa: F401

del os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"]

from danlu.config import Experiment
from danlu.experiments import merge

# `make test` draws the same examples each time, so that what was green stays green; `make test-slow`
# draws new ones.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile("same")

# Started in the background or by nohup, tests ignore these, and so would all that they start.
for number, usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

REPOSITORY = Path(__file__).parents[1]
ENGLISH = """
    river harbour winter council farmer letter bridge captain market engine garden lantern history
    village teacher journey mountain question answer weather library treaty budget railway senate
    opened carried measured promised repaired followed studied crossed gathered painted remembered
    refused discovered protected written counted quiet narrow ancient bright northern careful honest
    distant heavy golden early public the a of with under beyond against through and while because
"""
CHINESE = """
    公民 法律 国家 机关 应当 规定 合同 财产 权利 义务 责任 保护 环境 河流 土地 森林 农民 城市 学校 教师
    依照 可以 不得 必须 申请 批准 登记 公布 实施 管理 监督 检查 处理 赔偿 损失 人民 法院 代表 大会 常务
    经济 社会 发展 建设 安全 生产 工业 农业 科学 技术 教育 文化 卫生 劳动 保险 部门 地方 政府 负责 工作
"""
EXPERIMENT = """
corpus: {heldout_share: 0.1}
tokenizer: {min_frequency: 1}
records: {seq_length: 64}
model:
  vocab_size: 384
  hidden_size: 32
  intermediate_size: 64
  num_hidden_layers: 2
  num_attention_heads: 4
  num_key_value_heads: 2
  head_dim: 8
  max_position_embeddings: 128
training:
  total_steps: 8
  global_batch_size: 4
  micro_batch_size: 2
  warmup_steps: 2
  save_interval_steps: 4
weights:
  prompts: ["the quiet harbour", "公民可以申请", "winter and 河流"]
evaluation:
  max_documents: 12
  max_new_tokens: 8
"""


def documents() -> list[dict[str, str]]:
    """Some hundred made-up documents, 300 English and 200 Chinese; the same at every call."""
    draw = random.Random(7)
    english, chinese = ENGLISH.split(), CHINESE.split()
    made = []
    for number in range(300):
        sentences = [
            " ".join(draw.choices(english, k=draw.randint(6, 14))).capitalize() + "."
            for _ in range(draw.randint(3, 8))
        ]
        made.append({"id": f"en/{number}", "text": " ".join(sentences), "lang": "en"})
    for number in range(200):
        clauses = ["".join(draw.choices(chinese, k=draw.randint(4, 9))) for _ in range(6)]
        made.append({"id": f"zh/{number}", "text": "，".join(clauses) + "。", "lang": "zh"})
    return made


def planned(output: str) -> set[str]:
    """The rules that a dry run of Snakemake tells, without `all`; empty where nothing is to do."""
    if "Nothing to be done" in output:
        return set()
    table = re.search(r"Job stats:\n.*\n-.*\n((?:.+\n)+?)total", output)
    assert table, output
    return {line.split()[0] for line in table[1].splitlines()} - {"all"}


@dataclass(frozen=True)
class Project:
    """A copy of the repository, and how it is called."""

    folder: Path

    @staticmethod
    def environment(**given: str) -> dict[str, str]:
        """This environment with this interpreter's programs first."""
        return {**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **given}

    def call(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment in the project; output is captured together."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def git(self, *arguments: str) -> None:
        """git with an author; an error fails the test."""
        author = ("-c", "user.name=Danlu", "-c", "user.email=danlu@localhost")
        done = self.call("git", *author, *arguments)
        assert done.returncode == 0, done.stdout

    def snakemake(
        self, *arguments: str, profile: str = "profiles/cpu", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Snakemake as a person calls it."""
        return self.call("snakemake", "--profile", profile, *arguments, **environment)

    def plans(self, *edits: dict) -> list[set[str]]:
        """The rules that a call would run after each edit; see tests/workflow/plans.py."""
        script = REPOSITORY / "tests/workflow/plans.py"
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=self.folder,
            env=self.environment(),
            input=json.dumps(edits),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return [planned(output) for output in json.loads(done.stdout)]

    def run(self, name: str = "miniature") -> Path:
        """The folder of the one run of this name."""
        (found,) = self.folder.glob(f"runs/*-{name}")
        return found

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that stands once in a file."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file}: {old!r} stands {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8")


def copy_repository(folder: Path) -> Project:
    """What git tracks or would, as it is in the working tree, with a repository and a commit of its own."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = REPOSITORY / name, folder / name
        if not os.path.lexists(source):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
    project = Project(folder)
    project.git("init", "--quiet")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "Copy")
    return project


def make_miniature(folder: Path) -> Project:
    """A copy whose only experiment trains eight steps on made-up documents, in a minute or two."""
    project = copy_repository(folder)
    data = folder / "data"
    data.mkdir()
    lines = [json.dumps({**d, "source": "made up"}, ensure_ascii=False) for d in documents()]
    (data / "documents.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "config/experiments/miniature.yaml").write_text(EXPERIMENT)
    project.edit("config/config.yaml", "experiments: [baseline]", "experiments: [miniature]")
    project.edit("config/config.yaml", "shards: 1 ", "shards: 2 ")
    added = project.call("dvc", "add", "data")
    assert added.returncode == 0, added.stdout
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "Miniature")
    return project


@pytest.fixture(scope="session")
def miniature() -> Callable[[Path], Project]:
    """Makes a miniature of the project in a folder."""
    return make_miniature


@pytest.fixture(scope="session")
def repository_copy() -> Callable[[Path], Project]:
    """Makes a copy of the repository in a folder."""
    return copy_repository


PINNED = {
    "seed": 42,
    "corpus.dedup": {
        "near": True,
        "method": "minhash",
        "clusters": "greedy",
        "threshold": 0.7,
        "word_ngram": 5,
        "character_ngram": 5,
        "bands": 16,
        "rows": 8,
        "warn_source_share": 0.5,
        "memory_mib": 1024,
    },
    "corpus.filter.min_characters": 20,
    "corpus.heldout_share": 0.02,
    "tokenizer.kind": "bpe",
    "tokenizer.file": None,
    "tokenizer.min_frequency": 2,
    "tokenizer.end_of_document_token": "<|endoftext|>",
    "tokenizer.padding_token": "<|padding|>",
    "tokenizer.begin_token": "<|begin|>",
    "records.seq_length": 256,
    "model.architecture": "qwen3",
    "model.vocab_size": 8192,
    "model.hidden_size": 256,
    "model.intermediate_size": 704,
    "model.num_hidden_layers": 4,
    "model.num_attention_heads": 4,
    "model.num_key_value_heads": 2,
    "model.head_dim": 64,
    "model.max_position_embeddings": 256,
    "model.tie_word_embeddings": False,
    "model.hidden_dropout": 0.0,
    "model.attention_dropout": 0.0,
    "training.total_steps": 240,
    "training.global_batch_size": 8,
    "training.micro_batch_size": 4,
    "training.gradient_accumulation_steps": 1,
    "training.learning_rate": 2.0e-3,
    "training.min_learning_rate": 2.0e-4,
    "training.warmup_steps": 24,
    "training.precision": "fp32",
    "training.recompute": False,
    "training.flash_attention": False,
    "training.sink_mode": False,
    "training.bit_identical": True,
    "parallel.devices": 2,
    "parallel.data_parallel": 2,
    "parallel.model_parallel": 1,
    "parallel.pipeline_stage": 1,
    "parallel.micro_batch_num": 1,
    "parallel.optimizer_parallel": False,
    "parallel.sequence_parallel": False,
    "weights.prompts": ["The state of the Union", "公民的合法权益受法律保护"],
}


def nested(changes: Mapping[str, Any]) -> dict[str, Any]:
    """{"training.total_steps": 3} as {"training": {"total_steps": 3}}."""
    made: dict[str, Any] = {}
    for key, value in changes.items():
        *above, last = key.split(".")
        node = made
        for part in above:
            node = node.setdefault(part, {})
        node[last] = value
    return made


@pytest.fixture(scope="session")
def defaults() -> dict[str, Any]:
    """`defaults` of config/config.yaml, with the pinned values."""
    written = yaml.safe_load((REPOSITORY / "config/config.yaml").read_text("utf-8"))["defaults"]
    return merge(written, nested(PINNED))


@pytest.fixture(scope="session")
def draft(defaults: dict[str, Any]) -> Callable[..., Experiment]:
    """draft({"model.vocab_size": 300}, target="ascend"): an experiment, not asked for conflicts."""

    def make(changes: Mapping[str, Any] | None = None, target: str = "cpu") -> Experiment:
        values = merge(defaults, nested(changes or {})) | {"name": "test", "target": target}
        return Experiment.model_validate_json(json.dumps(values))

    return make
