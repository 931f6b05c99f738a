"""Write an exported graph: one file, or weights beside it where protobuf's limit of 2 GB is near."""

from __future__ import annotations

import logging
from pathlib import Path

import onnx
import onnx_ir as ir
from onnxruntime.quantization import QuantType, quantize_dynamic

from danlu.errors import DanluError

EXTERNAL_BYTES = 2_000_000_000
"""From so many bytes of weights on they go to <name>.onnx.data; a protobuf holds 2^31 - 1."""


def write(graph: ir.Model, path: Path, external_bytes: int = EXTERNAL_BYTES) -> None:
    """Write the model, one tensor in memory at a time where they go to <path>.data.

    The bytes depend on the graph and the weights only.
    Raises DanluError where onnx.checker or its shape inference refuses what was written.
    """
    size = sum(value.const_value.nbytes for value in graph.graph.initializers.values())
    external = f"{path.name}.data" if size >= external_bytes else None
    ir.save(graph, path, external_data=external, max_workers=1)
    check(path)


def check(path: Path) -> None:
    """Refuse what is no valid ONNX model, with onnx.checker, shape inference included.

    The checker is given the path and not the model: it needs that above 2 GB.
    """
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise DanluError(f"{path}: onnx.checker refuses it: {error}") from error


def quantize(source: Path, target: Path, external_bytes: int = EXTERNAL_BYTES) -> None:
    """Write the int8 variant: weights of MatMul one scale a column, activations one a call.

    Weights are unsigned: where a processor has no VNNI, onnxruntime multiplies unsigned
    activations with signed weights in 16 bits that saturate, and the result depends on the
    machine; unsigned with unsigned is exact everywhere.
    Embedding, norms and rotary tables stay float32.
    """
    size = sum(file.stat().st_size for file in source.parent.glob(f"{source.name}*"))
    logging.disable(logging.WARNING)  # its advice to optimise first, which changes the graph
    try:
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QUInt8,
            use_external_data_format=size >= external_bytes,
        )
    finally:
        logging.disable(logging.NOTSET)
