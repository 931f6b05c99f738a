"""The networks that Danlu registers with MindFormers: Qwen3 that also trains on the CPU.

No class of MindFormers is patched: its parts are subclassed, chosen through its layer spec,
or replaced on the instance. On Ascend the stock layer spec stands as it is.

The legacy Llama needs nothing of the kind: three settings of mindformers.yaml do (see
render_model).
"""

from __future__ import annotations

import mindspore as ms
from mindspore import dtype as mstype
from mindspore.ops import functional as F
from mindspore.ops import operations as P

from danlu.pretrain import cells
from danlu.pretrain.framework import (
    GPTModel,
    MLPInterleaved,
    Qwen3PreTrainedModel,
    SelfAttention,
    TrainingQwen3ForCausalLM,
    TransformerBlockSubmodules,
    get_gpt_layer_local_spec,
    get_norm_cls,
    register_hf_weight_template,
    register_model,
)


class GroupedSelfAttention(SelfAttention):
    """MindFormers' attention without its repeat of keys and values, which CoreAttention needs
    not, and which takes [S, B, N, D] for [B, N, S, D] when flash attention is off."""

    def _repeat_kv(self, x, rep):
        return x


class GatedMLP(MLPInterleaved):
    """MindFormers' MLP with the rows of gate and up taken apart in the weight [2I, H], which
    is cheap, and not in the activations [S * B, 2I]."""

    def __init__(self, config, *args, **kwargs):
        super().__init__(config, *args, **kwargs)
        # A backward pass of its own makes a cycle in the graph of a layer that is recomputed.
        self.swiglu = cells.SwiGLU() if config.recompute else cells.SwiGLUCore()
        self.matmul_bt = P.MatMul(transpose_b=True)
        self.halve = P.Split(1, 2)

    def construct(self, hidden_states, per_token_scale=None, extra_loss=0.0):
        s, b, h = hidden_states.shape
        x = F.cast(hidden_states.reshape(s * b, h), self.compute_dtype)
        weight = F.cast(self.linear_fc1.weight, self.compute_dtype)
        i = weight.shape[0] // 2
        gate, up = self.halve(weight.reshape(i, 2, h))
        gate = self.matmul_bt(x, gate.reshape(i, h))
        up = self.matmul_bt(x, up.reshape(i, h))
        output, bias = self.linear_fc2(self.swiglu(gate, up)[0].reshape(s, b, i))
        return output, bias, extra_loss


class CpuGPTModel(GPTModel):
    """GPTModel whose loss is computed together with its output layer while it trains.

    Inputs and outputs are GPTModel's. In training with calculate_per_token_loss: numerator
    and denominator of the loss, those of multi-token prediction (none), two auxiliary losses
    (none). Otherwise logits [B * S, V].
    """

    def replace_operators(self, config, end_of_document=None):
        """Put CPU cells where operators without a kernel stand. Called once, after building.

        end_of_document: the id of the token behind which another document begins that must not
        see this one; None: a token sees all that stands before it in its row.
        """
        _replace(self.rotary_pos_emb, "outer", cells.OuterProduct())
        _replace(self.rotary_pos_emb, "outer_for_eod", cells.OuterProduct())
        _replace(self.embedding.word_embeddings, "embedding_morph", cells.Lookup())
        for layer in self.decoder.layers:
            _replace(layer.self_attention, "apply_rotary_pos_emb", cells.RotaryEmbedding(config))
        self.document_mask = None
        if end_of_document is not None:
            self.document_mask = cells.DocumentMask(end_of_document)
        self.linear_cross_entropy = cells.LinearCrossEntropy(config.compute_dtype)

    def construct(
        self,
        input_ids,
        position_ids=None,
        attention_mask=None,
        decoder_input=None,
        labels=None,
        extra_block_kwargs=None,
        prefix_keys_values=None,
        loss_mask=None,
        actual_seq_len=None,
    ):
        labels, attention_mask, loss_mask, flat_labels, flat_mask = (
            self._preprocess_input_labels_and_masks(input_ids, labels, attention_mask, loss_mask)
        )
        if self.document_mask is not None:
            attention_mask = self.document_mask(input_ids, attention_mask)
        hidden, _, extra_loss, attention_loss = self.language_model(
            input_ids, None, attention_mask, decoder_input=decoder_input
        )
        weight = None
        if self.share_embeddings_and_output_weights:
            weight = self.shared_embedding_or_output_weight()
        if not self.training:
            logits, _ = self.output_layer(hidden, weight)
            logits = self.transpose(logits, (1, 0, 2))
            return F.cast(logits.reshape(-1, logits.shape[-1]), mstype.float32)
        if weight is None:
            weight = self.output_layer.weight
        hidden = self.transpose(hidden, (1, 0, 2))
        hidden = hidden.reshape(-1, hidden.shape[-1])
        flat_mask = F.cast(flat_mask, mstype.float32)
        flat_labels = flat_labels * F.cast(flat_mask > 0, flat_labels.dtype)
        numerator = self.linear_cross_entropy(hidden, weight, flat_labels, flat_mask)[0]
        denominator = F.reduce_sum(flat_mask)
        return (
            numerator,
            denominator,
            self.init_numerator1,
            self.init_denominator1,
            extra_loss * denominator,
            attention_loss * denominator,
        )


@register_model
class DanluQwen3ForCausalLM(TrainingQwen3ForCausalLM):
    """Qwen3 for one device or plain data parallel, on the CPU and on Ascend."""

    documents_apart = False

    @register_hf_weight_template
    def __init__(self, config):
        Qwen3PreTrainedModel.__init__(self, config, auto_prefix=False)
        transformer = self.convert_to_transformer_config(self.config)
        # Under data_parallel MindFormers sets its data_parallel to 1, and GPTModel then refuses
        # more than one worker. The replicas are equal, so each is built as if alone; the
        # gradients are summed later, by the train step.
        mode = ms.get_auto_parallel_context("parallel_mode")
        if mode == "data_parallel":
            ms.set_auto_parallel_context(parallel_mode="stand_alone")
        cpu = ms.get_context("device_target") == "CPU"
        build = CpuGPTModel if cpu else GPTModel
        self.model = build(
            config=transformer,
            transformer_layer_spec=_block_spec(transformer, cpu),
            vocab_size=transformer.vocab_size,
            max_sequence_length=transformer.max_position_embeddings,
            position_embedding_type=transformer.position_embedding_type,
            rotary_base=self.config.rope_theta,
            share_embeddings_and_output_weights=self.config.tie_word_embeddings,
            post_process=transformer.post_process,
        )
        if cpu:
            end = self.config.eos_token_id if self.documents_apart else None
            self.model.replace_operators(transformer, end)
        if mode == "data_parallel":
            ms.set_auto_parallel_context(parallel_mode=mode)


@register_model
class DanluQwen3DocumentsForCausalLM(DanluQwen3ForCausalLM):
    """The same on the CPU, where a token sees its own document of a row only."""

    documents_apart = True


def _block_spec(config, cpu: bool) -> TransformerBlockSubmodules:
    """The layers of the decoder: MindFormers' own, with CPU cells in their places on the CPU."""
    layer = get_gpt_layer_local_spec(
        qk_layernorm=True,
        fused_norm=not cpu,
        use_contiguous_weight_layout_attention=config.use_contiguous_weight_layout_attention,
        use_interleaved_weight_layout_mlp=config.use_interleaved_weight_layout_mlp,
    )
    if cpu:
        attention = layer.submodules.self_attention
        attention.module = GroupedSelfAttention
        attention.submodules.core_attention = cells.CoreAttention
        attention.submodules.q_layernorm = cells.RMSNorm
        attention.submodules.k_layernorm = cells.RMSNorm
        layer.submodules.input_layernorm = cells.RMSNorm
        layer.submodules.pre_mlp_layernorm = cells.RMSNorm
        layer.submodules.mlp.module = GatedMLP
    return TransformerBlockSubmodules(
        layer_specs=[layer] * config.num_layers,
        layer_norm=cells.RMSNorm if cpu else get_norm_cls(True),
    )


def _replace(cell, name: str, new) -> None:
    delattr(cell, name)
    setattr(cell, name, new)
