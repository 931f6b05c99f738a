"""A decoder in onnxruntime: whole rows, padded rows, token by token.

The model under test is made by hand and counts: the logit of token v is how often v has been
read in this row, plus the position / 100.
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from danlu.errors import DanluError
from danlu.onnx.session import Decoder, positions

VOCABULARY = 5


def counting_model(path, value_name="past_key_values.0.value"):
    """Keys are one-hot tokens [B, 1, T, 5]; values are not used, only carried on."""
    ints, floats = TensorProto.INT64, TensorProto.FLOAT
    info = helper.make_tensor_value_info
    cache = ["batch", 1, "past", VOCABULARY]
    total = ["batch", 1, "total", VOCABULARY]

    def constant(name, value):
        return numpy_helper.from_array(np.array(value), name)

    node = helper.make_node
    nodes = [
        node("Gather", ["one_hot", "input_ids"], ["tokens"]),
        node("Unsqueeze", ["tokens", "axis_1"], ["new"]),
        node("Concat", ["past_key_values.0.key", "new"], ["present.0.key"], axis=2),
        node("Concat", [value_name, "new"], ["present.0.value"], axis=2),
        node("Squeeze", ["present.0.key", "axis_1"], ["read"]),
        node("Shape", ["input_ids"], ["S"], start=1, end=2),
        node("Shape", ["attention_mask"], ["T"], start=1, end=2),
        node("Sub", ["T", "S"], ["P"]),
        node("Concat", ["S", "T"], ["S_T"], axis=0),
        node("Expand", ["one", "S_T"], ["ones"]),
        node("Squeeze", ["P", "axis_0"], ["shift"]),
        node("Trilu", ["ones", "shift"], ["causal"], upper=0),
        node("Cast", ["attention_mask"], ["kept"], to=floats),
        node("Unsqueeze", ["kept", "axis_1"], ["kept_row"]),
        node("Mul", ["causal", "kept_row"], ["attended"]),
        node("MatMul", ["attended", "read"], ["counts"]),
        node("Cast", ["position_ids"], ["position"], to=floats),
        node("Div", ["position", "hundred"], ["small"]),
        node("Unsqueeze", ["small", "axis_2"], ["added"]),
        node("Add", ["counts", "added"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "counting",
        [
            info("input_ids", ints, ["batch", "sequence"]),
            info("attention_mask", ints, ["batch", "total"]),
            info("position_ids", ints, ["batch", "sequence"]),
            info("past_key_values.0.key", floats, cache),
            info(value_name, floats, cache),
        ],
        [
            info("logits", floats, ["batch", "sequence", VOCABULARY]),
            info("present.0.key", floats, total),
            info("present.0.value", floats, total),
        ],
        initializer=[
            constant("one_hot", np.eye(VOCABULARY, dtype=np.float32)),
            constant("one", np.float32(1)),
            constant("hundred", np.float32(100)),
            constant("axis_0", [0]),
            constant("axis_1", [1]),
            constant("axis_2", [2]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    return Decoder(counting_model(tmp_path_factory.mktemp("model") / "model.onnx"))


def test_whole_row_gives_the_logits_of_every_position(decoder):
    logits = decoder.logits(np.array([[3, 1, 3]]))
    assert logits.dtype == np.float32
    assert logits.round(2).tolist() == [
        [
            [0, 0, 0, 1, 0],
            pytest.approx([0.01, 1.01, 0.01, 1.01, 0.01]),
            pytest.approx([0.02, 1.02, 0.02, 2.02, 0.02]),
        ]
    ]


def test_vocabulary_size_is_read_from_the_model(decoder):
    assert decoder.vocab_size == 5


def test_padding_left_and_right_leaves_the_tokens_logits_alone(decoder):
    alone = decoder.logits(np.array([[3, 1]]))[0]
    ids = np.array([[2, 2, 4, 0], [0, 0, 3, 1]])
    left = decoder.logits(ids, np.array([[1, 1, 1, 1], [0, 0, 1, 1]]))
    assert np.array_equal(left[1, 2:], alone)
    ids = np.array([[2, 2, 4, 0], [3, 1, 0, 0]])
    right = decoder.logits(ids, np.array([[1, 1, 1, 1], [1, 1, 0, 0]]))
    assert np.array_equal(right[1, :2], alone)


def test_token_by_token_through_the_cache_equals_the_whole_rows(decoder):
    ids = np.array([[0, 0, 3, 1, 4, 4, 2], [2, 1, 2, 0, 0, 3, 3]])
    mask = np.array([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]])
    whole = decoder.logits(ids, mask)
    parts = []
    logits, cache = decoder.prefill(ids[:, :3], mask[:, :3])
    parts.append(logits)
    for t in range(3, 6):
        logits, cache = decoder.step(ids[:, t : t + 1], cache)
        parts.append(logits)
    logits, cache = decoder.step(ids[:, 6:], cache, mask[:, 6:])
    parts.append(logits)
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    assert cache.mask.tolist() == mask.tolist()


def test_step_leaves_the_cache_it_was_given_as_it_was(decoder):
    _, cache = decoder.prefill(np.array([[1, 2]]))
    first, _ = decoder.step(np.array([[3]]), cache)
    again, _ = decoder.step(np.array([[3]]), cache)
    assert np.array_equal(first, again)


def test_positions_count_tokens_and_not_padding():
    mask = np.array([[0, 0, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]])
    assert positions(mask).tolist() == [[0, 0, 0, 1], [0, 1, 2, 2], [0, 1, 2, 3]]


def test_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(DanluError, match=r"model\.onnx: onnxruntime cannot open it"):
        Decoder(path)


def test_model_with_other_inputs_is_refused(tmp_path):
    path = counting_model(tmp_path / "model.onnx", value_name="something_else")
    with pytest.raises(DanluError, match=r"something_else.*expected those of a decoder with past"):
        Decoder(path)
