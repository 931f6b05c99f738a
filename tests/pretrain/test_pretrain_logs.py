"""What a failed worker said itself is found among the framework's lines."""

from danlu.pretrain.logs import last_words

# As mindspore 2.9 prints it; paths shortened.
MINDSPORE = """\
[WARNING] ME(14702:140649699883904,MainProcess):2026-11-30-08:53:39.355.000 deprecated
[ERROR] ANALYZER(14702,7feb8f663b80,python):2026-11-30-08:53:39.508.114 [evaluator.cc:764] Run]

----------------------------------------------------
- C++ Call Stack: (For framework developers)
----------------------------------------------------
mindspore/ops/infer/ops_func_impl//matmul.cc:78 InferShape2D
Traceback (most recent call last):
  File "boom.py", line 7, in <module>
    N()(Tensor(np.ones((2,3),np.float32)))
  File "mindspore/nn/cell.py", line 1742, in compile
    _cell_graph_executor.compile(self, *compile_args, phase=self.phase,
  File "mindspore/graph/api.py", line 2342, in compile
    result = self._graph_executor.compile(
ValueError: For 'MatMul' the input dimensions must be equal, but got 'x1_col': 3 and 'x2_row': 2.

----------------------------------------------------
- C++ Call Stack: (For framework developers)
----------------------------------------------------
mindspore/ops/infer/ops_func_impl//matmul.cc:78 InferShape2D
"""


def test_its_own_lines_come_before_everything_else(tmp_path):
    log = tmp_path / "worker_1.log"
    log.write_text("danlu: first\n" + MINDSPORE + "danlu: worker 1: ValueError: for MatMul\n")
    assert last_words(log) == ["danlu: first", "danlu: worker 1: ValueError: for MatMul"]


def test_without_them_the_last_traceback_ends_with_its_error(tmp_path):
    log = tmp_path / "worker_0.log"
    log.write_text("Traceback (most recent call last):\nKeyError: 'old'\n" + MINDSPORE)
    words = last_words(log)
    assert words[-1].startswith("ValueError: For 'MatMul' the input dimensions must be equal")
    assert words[0].strip().startswith('File "mindspore/nn/cell.py", line 1742')
    assert len(words) == 5


def test_a_long_message_is_cut_and_keeps_its_beginning(tmp_path):
    log = tmp_path / "worker_0.log"
    message = "RuntimeError: begins\n" + "".join(f"line {n}\n" for n in range(99))
    log.write_text("Traceback (most recent call last):\n  File\n" + message)
    words = last_words(log, shown=6)
    assert words == ["  File", "RuntimeError: begins", "line 0"]


def test_without_a_traceback_the_last_lines_are_shown(tmp_path):
    log = tmp_path / "worker_0.log"
    log.write_text("a\n\nb\n" + "\n" * 5)
    assert last_words(log) == ["a", "b"]


def test_what_the_frameworks_tell_by_the_way_is_not_shown(tmp_path):
    log = tmp_path / "worker_0.log"
    log.write_text(
        "[WARNING] ME(14702:140649699883904,MainProcess):2026-11-30-08:53:39 deprecated\n"
        "2026-11-30 10:03:18,174 - mindformers/output/log[callback.py:747] - INFO - { Epoch:[  1]\n"
        "[ERROR] DEVICE(1,7f,python):2026-11-30 out of memory\n"
        "free(): invalid pointer\n"
    )
    assert last_words(log) == [
        "[ERROR] DEVICE(1,7f,python):2026-11-30 out of memory",
        "free(): invalid pointer",
    ]


def test_of_a_process_that_was_killed_only_an_error_counts(tmp_path):
    log = tmp_path / "worker_0.log"
    log.write_text("free(): invalid pointer\n")
    assert last_words(log, any_line=False) == []
    log.write_text(MINDSPORE)
    assert last_words(log, any_line=False)[-1].startswith("ValueError: For 'MatMul'")


def test_a_log_that_is_missing_says_nothing(tmp_path):
    assert last_words(tmp_path / "no.log") == []


def test_of_a_large_log_only_the_end_is_read(tmp_path):
    log = tmp_path / "worker_0.log"
    log.write_text("danlu: long ago\n" + "noise\n" * 100_000 + "danlu: now\n")
    assert last_words(log) == ["danlu: now"]
