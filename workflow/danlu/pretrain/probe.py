"""train/probe.npz: what the trained network says to fixed prompts, for later stages to match.

Also a process of its own, for a training whose network cannot say it (sharded over devices, or
computing in half precision): the finished checkpoint is put together by MindFormers' own
loader into one network that computes in fp32 on the CPU, so that later stages are held against
exact logits whatever the training computed in.

    python -m danlu.pretrain.probe SETTINGS     (JSON: model, use_legacy, checkpoint, out, rows)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import yaml
from tokenizers import Tokenizer

from danlu import publish
from danlu.pretrain.failures import TrainingError


def encode(tokenizer: Path, prompts: list[str], seq_length: int) -> list[list[int]]:
    """The prompts' token ids, without special tokens.

    Raises TrainingError for a prompt without tokens, or with more than a row holds.
    """
    encoder = Tokenizer.from_file(str(tokenizer))
    rows = []
    for prompt in prompts:
        ids = encoder.encode(prompt, add_special_tokens=False).ids
        if not 1 <= len(ids) <= seq_length:
            raise TrainingError(
                f"weights.prompts: {prompt!r} has {len(ids)} tokens; allowed: 1 to {seq_length}"
            )
        rows.append(ids)
    return rows


def logits(network, rows: list[list[int]], seq_length: int, padding_id: int) -> list[np.ndarray]:
    """Logits float32 [T, V] for each row of T ids, from the network as it stands.

    The rows are padded on the right to the length that the network is built for, which a
    causal network does not see.
    """
    from mindspore import Tensor

    batch = np.full((len(rows), seq_length), padding_id, np.int32)
    for row, ids in zip(batch, rows, strict=True):
        row[: len(ids)] = ids
    network.set_train(False)
    out = network(Tensor(batch))
    network.set_train(True)
    out = out[0] if isinstance(out, tuple) else out
    out = out.asnumpy().astype(np.float32).reshape(len(rows), seq_length, -1)
    return [answer[: len(ids)] for answer, ids in zip(out, rows, strict=True)]


def write(path: Path, rows: list[list[int]], answers: list[np.ndarray]) -> None:
    """Publish ids_i int64 [T] and logits_i float32 [T, V] for each prompt i."""
    arrays: dict[str, np.ndarray] = {}
    for i, (ids, answer) in enumerate(zip(rows, answers, strict=True)):
        arrays[f"ids_{i}"] = np.array(ids, np.int64)
        arrays[f"logits_{i}"] = answer
    with publish.file(path) as aside, aside.open("wb") as stream:
        np.savez(stream, **arrays)


def main() -> int:
    """Build the network of one process, load the checkpoint, answer, publish."""
    settings = json.loads(sys.argv[1])
    from danlu.pretrain import framework, networks  # noqa: F401 (it registers)

    config = Path("probe.yaml").resolve()
    config.write_text(yaml.safe_dump(settings["config"]), encoding="utf-8")
    network = framework.build(config)
    framework.load_checkpoint(settings["checkpoint"], network)
    rows, model = settings["rows"], settings["config"]["model"]["model_config"]
    answers = logits(network, rows, model["seq_length"], model["pad_token_id"])
    write(Path(settings["out"]), rows, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
