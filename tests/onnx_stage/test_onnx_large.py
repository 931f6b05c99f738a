"""A model above protobuf's 2 GB: the experiment ascend8-qwen3 with random weights."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from danlu.experiments import resolve
from danlu.onnx.session import Decoder
from danlu.weights import reference
from danlu.weights.huggingface import read_weights
from danlu.weights.mapping import expected_shapes
from danlu.weights.tensors import Tensor, write_file

ROOT = Path(__file__).parents[2]
EXPORT = """
import json, resource, sys
from pathlib import Path
from danlu.config import Model
from danlu.onnx import export, graph
from danlu.weights.huggingface import read_weights
folder, model = Path(sys.argv[1]), Model(**json.loads(sys.argv[2]))
export.write(graph.build(model, read_weights(folder, model), {}), folder / "model.onnx")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_large_model_is_exported_in_little_memory(tmp_path):
    model = resolve("ascend8-qwen3", ROOT / "config" / "config.yaml", "ascend").model
    random = np.random.default_rng(8)

    def tensor(shape):
        def read():
            values = random.standard_normal(shape, np.float32)
            return 1 + 0.1 * values if len(shape) == 1 else 0.02 * values

        return Tensor(shape, np.dtype(np.float32), read, "random")

    weights = {name: tensor(shape) for name, shape in expected_shapes(model).items()}
    write_file(tmp_path / "model.safetensors", weights, {"format": "pt"})
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, tmp_path, model.model_dump_json()],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    size = (tmp_path / "model.onnx.data").stat().st_size
    assert size > 1.9e9
    assert int(done.stdout) * 1024 < 0.6 * size  # pages of the weights file among it
    onnx.checker.check_model(str(tmp_path / "model.onnx"))
    ids = random.integers(3, model.vocab_size, 6)
    (expected,) = reference.logits(model, read_weights(tmp_path, model), [ids])
    found = Decoder(tmp_path / "model.onnx", threads=2).logits(ids[None])[0]
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
