"""train/probe.npz: what the trained network says to fixed prompts, for later stages to match."""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore.train import Callback
from tokenizers import Tokenizer

from danlu import publish
from danlu.pretrain import framework
from danlu.pretrain.failures import TrainingError


@framework.register_callback
class LogitsProbe(Callback):
    """After the last step, stores for prompt i: ids_i int64 [T], logits_i float32 [T, V].

    tokenizer: path of tokenizer.json. seq_length: the row length that the network is built for.
    Raises TrainingError for a prompt without tokens, or longer than a row.
    """

    def __init__(self, path, tokenizer, prompts, seq_length, padding_id, total_steps, resumed_step):
        super().__init__()
        self.path, self.tokenizer = Path(path), Path(tokenizer)
        self.prompts, self.seq_length, self.padding_id = prompts, seq_length, padding_id
        self.total_steps, self.resumed_step = total_steps, resumed_step

    def on_train_begin(self, run_context):
        if self.resumed_step == self.total_steps:
            self._write(run_context.original_args())

    def on_train_end(self, run_context):
        params = run_context.original_args()
        if self.resumed_step + params.cur_step_num == self.total_steps:
            self._write(params)

    def _write(self, params) -> None:
        if framework.rank() != 0:
            return
        network = framework.core_network(params.network)
        rows = encode(self.tokenizer, self.prompts, self.seq_length)
        answers = logits(network, rows, self.seq_length, self.padding_id)
        arrays: dict[str, np.ndarray] = {}
        for i, (ids, answer) in enumerate(zip(rows, answers, strict=True)):
            arrays[f"ids_{i}"] = np.array(ids, np.int64)
            arrays[f"logits_{i}"] = answer
        with publish.file(self.path) as aside, aside.open("wb") as stream:
            np.savez(stream, **arrays)


def encode(tokenizer: Path, prompts: list[str], seq_length: int) -> list[list[int]]:
    """The prompts' token ids, without special tokens."""
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

    The rows are padded on the right to the length that the network is built for, where a
    causal network cannot see it.
    """
    batch = np.full((len(rows), seq_length), padding_id, np.int32)
    for row, ids in zip(batch, rows, strict=True):
        row[: len(ids)] = ids
    network.set_train(False)
    out = network(ms.Tensor(batch))
    network.set_train(True)
    out = out[0] if isinstance(out, tuple) else out
    out = out.asnumpy().astype(np.float32).reshape(len(rows), seq_length, -1)
    return [answer[: len(ids)] for answer, ids in zip(out, rows, strict=True)]
