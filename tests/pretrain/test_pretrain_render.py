"""What MindFormers is given, literally where it matters."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu import experiments
from danlu.pretrain.layout import Paths, sharded, steps_per_epoch
from danlu.pretrain.render import RenderError, render

REPOSITORY = Path(__file__).parents[2]
PATHS = Paths(Path("/runs/2026-11-30-test"), Path("/build/records/r"), Path("/build/tokenizer/t"))


def manifest(rows: int = 1000, seq_length: int = 256, vocab_size: int = 8192) -> dict:
    return {
        "rows": rows,
        "seq_length": seq_length,
        "vocab_size": vocab_size,
        "ids": {
            "padding": {"token": "<|padding|>", "id": 0},
            "begin": {"token": "<|begin|>", "id": 1},
            "end_of_document": {"token": "<|endoftext|>", "id": 2},
        },
        "parts": [
            {"file": "part-00000.mindrecord", "rows": rows},
            {"file": "part-00000.mindrecord.db", "rows": 0},
            {"file": "part-00001.mindrecord", "rows": 0},
        ],
    }


@pytest.fixture(scope="module")
def ascend() -> dict:
    """The ascend8-qwen3 experiment as it is committed, rendered."""
    experiment = experiments.resolve(
        "ascend8-qwen3", REPOSITORY / "config/config.yaml", "ascend", npu=8
    )
    assert sharded(experiment)
    return render(experiment, manifest(70_000, 4096, 32768), PATHS)


def callback(config: dict, kind: str) -> dict:
    (found,) = [c for c in config["callbacks"] if c["type"] == kind]
    return found


class TestAscend:
    """Data parallel 4 x model parallel 2, as MindFormers' Qwen3 pretraining template has it."""

    def test_trains_the_stock_network_and_train_step_under_semi_auto_parallel(self, ascend):
        assert ascend["use_parallel"] is True
        assert ascend["use_legacy"] is False
        assert ascend["model"]["model_config"]["architectures"] == ["Qwen3ForCausalLM"]
        assert ascend["optimizer"]["type"] == "AdamW"
        assert ascend["runner_wrapper"] == {
            "type": "MFPipelineWithLossScaleCell",
            "scale_sense": 1.0,
            "use_clip_grad": True,
            "max_grad_norm": 1.0,
            "micro_batch_num": 16,
            "calculate_per_token_loss": False,
        }
        assert ascend["calculate_per_token_loss"] is False
        assert callback(ascend, "CurveRecorder")["losses_in_sum"] == 16

    def test_lays_the_model_over_the_devices_as_the_experiment_says(self, ascend):
        assert ascend["parallel"] == {
            "parallel_mode": 1,
            "full_batch": False,
            "dataset_strategy": [[4, 1], [4, 1], [4, 1]],
            "search_mode": "sharding_propagation",
            "enable_alltoall": True,
            "gradients_mean": False,
            "strategy_ckpt_config": {
                "save_file": "./ckpt_strategy.ckpt",
                "only_trainable_params": False,
            },
            "enable_parallel_optimizer": False,
        }
        assert ascend["parallel_config"] == {
            "data_parallel": 4,
            "model_parallel": 2,
            "pipeline_stage": 1,
            "micro_batch_num": 1,
            "vocab_emb_dp": True,
            "use_seq_parallel": True,
            "gradient_aggregation_group": 1,
        }

    def test_computes_in_bfloat16_with_flash_attention_and_recompute(self, ascend):
        model = ascend["model"]["model_config"]
        assert model["compute_dtype"] == "bfloat16"
        assert model["params_dtype"] == "float32"
        assert model["layernorm_compute_dtype"] == "float32"
        assert model["softmax_compute_dtype"] == "float32"
        assert model["rotary_dtype"] == "float32"
        assert model["fp32_residual_connection"] is True
        assert model["use_flash_attention"] is True
        assert model["hidden_act"] == "swiglu"
        assert model["head_dim"] == 128
        assert model["tie_word_embeddings"] is True
        assert ascend["recompute_config"] == {
            "recompute": True,
            "select_recompute": False,
            "parallel_optimizer_comm_recompute": True,
            "mp_comm_recompute": True,
            "recompute_slice_activation": False,
        }
        assert ascend["context"] == {
            "mode": 0,
            "device_target": "Ascend",
            "max_call_depth": 10000,
            "max_device_memory": "58GB",
            "memory_optimize_level": "O0",
            "jit_config": {"jit_level": "O0"},
            "ascend_config": {"precision_mode": "must_keep_origin_dtype"},
        }
        assert ascend["train_precision_sync"] is True

    def test_accumulates_a_global_batch_of_64_rows(self, ascend):
        assert ascend["runner_config"] == {
            "epochs": 2,
            "batch_size": 1,
            "sink_mode": False,
            "sink_size": 1,
            "gradient_accumulation_steps": 16,
        }

    def test_saves_through_mindformers_own_sharded_writer(self, ascend):
        assert ascend["use_legacy_format"] is False
        assert ascend["checkpoint"] == {
            "save_path": "/runs/2026-11-30-test/train/checkpoint",
            "save_max": 3,
            "save_interleaved_steps": 200,
            "no_save_optim": False,
            "async_save": False,
            "prefix": "danlu",
            "save_remove_redundancy": False,
            "load_path": "",
            "load_balanced": False,
            "no_load_optim": False,
        }
        assert callback(ascend, "CheckpointMonitor") == {
            "type": "CheckpointMonitor",
            "checkpoint_format": "safetensors",
        }
        assert "AtomicCheckpoint" not in [c["type"] for c in ascend["callbacks"]]

    def test_ends_at_a_non_finite_loss_before_the_checkpoint_monitor(self, ascend):
        # It adds TrainingStateMonitor, which MindFormers sorts before CheckpointMonitor.
        assert ascend["check_for_nan_in_loss_and_grad"] is True

    def test_resumes_by_the_checkpoint_section(self, draft):
        experiment = draft(
            {"parallel.model_parallel": 2, "parallel.data_parallel": 1,
             "training.micro_batch_size": 8}, target="ascend",
        )  # fmt: skip
        folder = PATHS.checkpoints / "iteration_00000080"
        config = render(experiment, manifest(), PATHS, folder)
        assert config["checkpoint"]["load_path"] == str(folder)
        assert "data_skip_steps" not in config


class TestPlain:
    """CPU, and plain data parallel on Ascend: every device holds the whole model."""

    def test_trains_danlus_network_step_and_optimizer_on_two_cpu_workers(self, draft):
        config = render(draft(), manifest(), PATHS)
        assert config["use_parallel"] is True
        assert config["parallel"] == {
            "parallel_mode": 0,
            "full_batch": False,
            "gradients_mean": False,
        }
        assert config["runner_wrapper"] == {
            "type": "TokenWeightedTrainOneStepCell",
            "scale_sense": 1.0,
            "use_clip_grad": True,
            "max_grad_norm": 1.0,
            "accumulate": 1,
            "loss_mask_input": 2,
        }
        assert config["optimizer"] == {
            "type": "CpuAdamW",
            "betas": [0.9, 0.95],
            "eps": 1e-8,
            "weight_decay": 0.1,
        }
        assert config["calculate_per_token_loss"] is True
        assert callback(config, "CurveRecorder")["losses_in_sum"] == 1
        model = config["model"]["model_config"]
        assert model["architectures"] == ["DanluQwen3ForCausalLM"]
        assert model["compute_dtype"] == "float32"
        assert (model["bos_token_id"], model["eos_token_id"], model["pad_token_id"]) == (1, 2, 0)
        assert config["context"]["device_target"] == "CPU"
        assert "checkpoint" not in config

    def test_accumulation_is_the_train_steps_and_never_mindformers(self, draft):
        experiment = draft(
            {"training.gradient_accumulation_steps": 4, "training.micro_batch_size": 1}
        )
        config = render(experiment, manifest(), PATHS)
        assert config["runner_wrapper"]["accumulate"] == 4
        assert config["runner_config"]["gradient_accumulation_steps"] == 1
        assert config["runner_config"]["batch_size"] == 4
        assert config["train_dataset"]["batch_size"] == 4

    def test_one_device_needs_no_communication(self, draft):
        experiment = draft(
            {"parallel.devices": 1, "parallel.data_parallel": 1, "training.micro_batch_size": 8}
        )
        config = render(experiment, manifest(), PATHS)
        assert config["use_parallel"] is False
        assert config["runner_config"]["batch_size"] == 8

    def test_llama_takes_the_legacy_path_and_three_columns(self, draft):
        config = render(draft({"model.architecture": "llama"}), manifest(), PATHS)
        assert config["use_legacy"] is True
        assert config["train_dataset"]["construct_args_key"] == ["input_ids", "labels", "loss_mask"]
        model = config["model"]
        assert model["arch"] == {"type": "LlamaForCausalLM"}
        assert model["model_config"]["use_flash_attention"] is False
        assert model["model_config"]["use_rope_slice"] is True
        assert model["model_config"]["fused_rms_norm"] is False
        assert model["model_config"]["input_sliced_sig"] is True

    def test_fp16_scales_the_loss_dynamically(self, draft):
        config = render(draft({"training.precision": "fp16"}), manifest(), PATHS)
        assert config["model"]["model_config"]["compute_dtype"] == "float16"
        assert config["runner_wrapper"]["scale_sense"] == {
            "type": "DynamicLossScaleUpdateCell",
            "loss_scale_value": 65536,
            "scale_factor": 2,
            "scale_window": 1000,
        }

    def test_a_resume_skips_the_rows_that_were_trained_on(self, draft):
        folder = PATHS.checkpoints / "iteration_00000080"
        config = render(draft(), manifest(), PATHS, folder)
        assert config["data_skip_steps"] == 80
        saver = callback(config, "AtomicCheckpoint")
        assert saver["resume_from"] == str(folder)
        for kind in ("CurveRecorder", "NonFiniteGuard", "StopAtSignal", "TotalSteps",
                     "AtomicCheckpoint", "LogitsProbe", "Finish"):  # fmt: skip
            assert callback(config, kind)["resumed_step"] == 80

    def test_data_parallel_on_ascend_is_plain_too_with_stock_optimizer(self, draft):
        experiment = draft({"training.precision": "bf16"}, target="ascend")
        assert not sharded(experiment)
        config = render(experiment, manifest(), PATHS)
        assert config["parallel"]["parallel_mode"] == 0
        assert config["optimizer"]["type"] == "AdamW"
        assert config["model"]["model_config"]["architectures"] == ["DanluQwen3ForCausalLM"]
        assert config["model"]["model_config"]["fused_norm"] is True


def test_the_records_are_read_whole_in_order_and_never_by_num_samples(draft):
    # MindDataset with a shuffle and num_samples draws rows with repetition.
    config = render(draft({"seed": 7}), manifest(), PATHS)
    assert config["train_dataset"]["data_loader"] == {
        "type": "PackedRows",
        "dataset_files": [
            "/build/records/r/part-00000.mindrecord",
            "/build/records/r/part-00001.mindrecord",
        ],
        "shuffle": True,
        "form": {
            "seq_length": 256,
            "end_of_document": 2,
            "padding": 0,
            "mask_end_of_document": False,
            "position_ids": "row",
        },
    }
    assert config["train_dataset"]["seed"] == 7
    assert config["seed"] == 7


def test_documents_that_are_apart_take_another_network_and_no_other_rows(draft):
    plain = render(draft({}), manifest(), PATHS)
    apart = render(draft({"records.attention": "document"}), manifest(), PATHS)
    networks = [c["model"]["model_config"].pop("architectures") for c in (plain, apart)]
    assert networks == [["DanluQwen3ForCausalLM"], ["DanluQwen3DocumentsForCausalLM"]]
    assert plain == apart


def test_the_model_looks_at_position_ids_only_where_they_are_of_documents(draft):
    columns = ["input_ids", "labels", "loss_mask"]
    for value, given in (("row", columns), ("document", [*columns, "position_ids"])):
        experiment = draft({"records.position_ids": value}, target="ascend")
        config = render(experiment, manifest(), PATHS)
        assert config["model"]["model_config"]["use_eod_reset"] is (value == "document")
        assert config["train_dataset"]["input_columns"] == given
        assert config["train_dataset"]["construct_args_key"] == given
        assert config["runner_wrapper"]["loss_mask_input"] == 2
    probe = next(c for c in config["callbacks"] if c["type"] == "LogitsProbe")
    assert probe["one_process"]["model"]["model_config"]["use_eod_reset"] is False


def test_the_schedule_starts_at_a_share_of_the_peak_and_knows_its_end(draft):
    config = render(draft({"training.learning_rate": 0.002, "training.warmup_steps": 4}),
                    manifest(), PATHS)  # fmt: skip
    assert config["lr_schedule"] == {
        "type": "CosineWithWarmUpLR",
        "learning_rate": 0.002,
        "lr_end": 0.0002,
        "warmup_steps": 4,
        "warmup_lr_init": 0.0005,
        "total_steps": 240,
    }


def test_without_warmup_the_schedule_starts_at_the_peak(draft):
    config = render(draft({"training.warmup_steps": 0}), manifest(), PATHS)
    assert config["lr_schedule"]["warmup_steps"] == 0
    assert config["lr_schedule"]["warmup_lr_init"] == 0.0  # never used


@pytest.mark.parametrize(
    ("rows", "devices", "steps", "epochs"),
    [
        (1920, 2, 240, 1),  # 8 rows a step, all of them once
        (1919, 2, 240, 1),  # the odd shard is padded by one row
        (1918, 2, 239, 2),
        (1919, 1, 239, 2),
        (100, 2, 12, 20),
    ],
)
def test_there_are_as_many_epochs_as_the_steps_need(draft, rows, devices, steps, epochs):
    experiment = draft(
        {
            "parallel.devices": devices,
            "parallel.data_parallel": devices,
            "training.micro_batch_size": 8 // devices,
        }
    )
    assert steps_per_epoch(experiment, rows) == steps
    assert render(experiment, manifest(rows), PATHS)["runner_config"]["epochs"] == epochs


def test_the_rank_that_knows_the_loss_writes_the_curve(draft):
    experiment = draft(
        {
            "parallel.devices": 8,
            "parallel.data_parallel": 2,
            "parallel.pipeline_stage": 4,
            "parallel.micro_batch_num": 4,
            "training.micro_batch_size": 1,
        },
        target="ascend",
    )
    recorder = callback(render(experiment, manifest(), PATHS), "CurveRecorder")
    assert recorder["writer"] == 6
    assert recorder["copies_of_a_row"] == 4


def test_the_curve_stands_before_the_checkpoint_and_the_last_word_comes_last(draft):
    kinds = [c["type"] for c in render(draft(), manifest(), PATHS)["callbacks"]]
    assert kinds == [
        "MFLossMonitor",
        "CurveRecorder",
        "NonFiniteGuard",
        "StopAtSignal",
        "TotalSteps",
        "AtomicCheckpoint",
        "LogitsProbe",
        "Finish",
        "StepClock",
    ]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (manifest(seq_length=128), "manifest.json: seq_length 128, the experiment asks for 256"),
        (manifest(vocab_size=300), "manifest.json: vocab_size 300, the experiment asks for 8192"),
        (manifest(rows=6), "manifest.json: 6 rows, fewer than one batch of 8"),
    ],
)
def test_records_that_do_not_fit_are_refused(draft, made, said):
    with pytest.raises(RenderError, match=said):
        render(draft(), made, PATHS)


def test_a_resume_from_what_is_no_checkpoint_is_refused(draft):
    with pytest.raises(RenderError, match="latest: not a checkpoint folder"):
        render(draft(), manifest(), PATHS, Path("/runs/latest"))
