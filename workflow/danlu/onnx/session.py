"""Run an exported decoder in onnxruntime, whole rows at once or token by token with its cache.

The inputs and outputs carry the names that Optimum gives a decoder with past: input_ids,
attention_mask and position_ids, past_key_values.N.key and .value -> logits, present.N.key
and .value. What those names mean in shapes stands in danlu.onnx.graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from danlu.errors import DanluError


@dataclass(frozen=True)
class Cache:
    """What a decoder has read so far.

    mask: int64 [B, T], 1 where a token was read and 0 where padding was.
    past: for each past_key_values.* input its float32 [B, K, T, head_dim].
    """

    mask: np.ndarray
    past: dict[str, np.ndarray]


class Decoder:
    """An exported decoder, opened once.

    vocab_size: the width of its logits; token_ids: what the file states of bos_token_id,
    eos_token_id and pad_token_id.

    Results do not depend on `threads`. Those of the fp32 model do not depend on what shares a
    batch beyond rounding; the int8 model quantizes its activations with one scale for the whole
    batch, so there the other rows and the padding do move the result.
    """

    def __init__(self, path: Path, threads: int = 1):
        """Open the model at `path`; its external data, if it has any, lies beside it.

        threads: cores that one call may use.
        Raises DanluError where the file is no model, or not a decoder with past.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's error classes share no base but Exception
            raise DanluError(
                f"{path}: onnxruntime cannot open it ({_first_line(error)}); export it again"
            ) from error
        inputs = {value.name: value.shape for value in self._session.get_inputs()}
        self._outputs = [value.name for value in self._session.get_outputs()]
        self._past = {
            name: (shape[1], shape[3])
            for name, shape in inputs.items()
            if name.startswith("past_key_values.")
        }
        wanted = {"input_ids", "attention_mask", "position_ids", *self._past}
        presents = [_present(name) for name in self._past]
        if set(inputs) != wanted or not self._past or self._outputs != ["logits", *presents]:
            raise DanluError(
                f"{path}: inputs {', '.join(inputs)}; outputs {', '.join(self._outputs)}; "
                "expected those of a decoder with past: input_ids, attention_mask, position_ids, "
                "past_key_values.N.key/value -> logits, present.N.key/value"
            )
        self.vocab_size = int(self._session.get_outputs()[0].shape[2])
        stated = self._session.get_modelmeta().custom_metadata_map
        self.token_ids = {k: int(v) for k, v in sorted(stated.items()) if k.endswith("_token_id")}

    def logits(self, ids: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """The logits of whole rows.

        ids: integers [B, S]; mask: [B, S], 1 where ids holds a token and 0 where padding,
        left or right; None: no padding. Returns float32 [B, S, vocab_size]; what stands at
        padding means nothing.
        """
        return self.prefill(ids, mask)[0]

    def prefill(self, ids: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, Cache]:
        """As `logits`, and the cache from which `step` goes on.

        Rows of unequal length are padded left, so that their next tokens stand side by side.
        """
        none = {
            name: np.zeros((len(ids), heads, 0, dim), np.float32)
            for name, (heads, dim) in self._past.items()
        }
        return self.step(ids, Cache(np.zeros((len(ids), 0), np.int64), none), mask)

    def step(
        self, ids: np.ndarray, cache: Cache, mask: np.ndarray | None = None
    ) -> tuple[np.ndarray, Cache]:
        """The logits of the next tokens of each row, one or several, after what the cache read.

        ids: integers [B, S]; mask: [B, S] as for `logits`.
        Returns float32 [B, S, vocab_size] and the cache that has read these tokens too.
        A row of more tokens than the model's max_position_embeddings is onnxruntime's
        InvalidArgument or RuntimeException.
        """
        new = np.ones_like(ids, np.int64) if mask is None else np.asarray(mask, np.int64)
        total = np.concatenate([cache.mask, new], axis=1)
        feed = {
            "input_ids": np.asarray(ids, np.int64),
            "attention_mask": total,
            "position_ids": positions(total)[:, cache.mask.shape[1] :],
            **cache.past,
        }
        logits, *present = self._session.run(self._outputs, feed)
        return logits, Cache(total, dict(zip(self._past, present, strict=True)))


def positions(mask: np.ndarray) -> np.ndarray:
    """A token's place among the tokens of its row, padding left out: int64 [B, T] from [B, T].

    Padding on the left gets 0; padding elsewhere the place of the token before it.
    """
    return np.maximum(np.cumsum(mask, axis=1, dtype=np.int64) - 1, 0)


def _present(name: str) -> str:
    return name.replace("past_key_values.", "present.")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
