"""MindRecord files as MindSpore reads them back."""

import hashlib
import sqlite3

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.records import mindrecord
from danlu.records.packing import Rows, concat
from danlu.records.rows import Form
from danlu.tokenizer.texts import Tokens


def rows_read(files):
    """The token ids of the rows as mindspore.dataset.MindDataset gives them, in order."""
    from mindspore.dataset import MindDataset

    dataset = MindDataset([str(f) for f in files], columns_list=["tokens"], shuffle=False)
    return [
        row["tokens"].astype(int).tolist()
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    ]


def digests(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def write(folder, documents, seq_length, rows_per_file):
    folder.mkdir()
    rows = concat([Tokens.of(documents)], seq_length, 0)
    return mindrecord.write(rows, folder, Form(seq_length, 2, 0), rows_per_file)


def test_rows_come_back_as_they_were_packed_over_several_parts(tmp_path):
    parts = write(tmp_path / "r", [[5, 6, 2], [7, 8, 9, 10, 2], [11, 2]], 4, rows_per_file=2)
    assert parts == {"part-00000.mindrecord": 2, "part-00001.mindrecord": 1}
    read = rows_read([tmp_path / "r" / name for name in parts])
    assert read == [[5, 6, 2, 7, 8], [8, 9, 10, 2, 11], [11, 2, 0, 0, 0]]


def test_thousands_of_rows_of_large_ids_come_back(tmp_path):
    draw = np.random.default_rng(0)
    tokens = draw.integers(0, 1 << 24, (3000, 65), dtype=np.int32)
    tokens[0, 0] = (1 << 24) - 1
    blocks = [Rows(part, np.full(len(part), 65, np.int32)) for part in np.split(tokens, [1700])]
    (tmp_path / "r").mkdir()
    parts = mindrecord.write(blocks, tmp_path / "r", Form(64, 2, 0), 2500)
    assert list(parts.values()) == [2500, 500]
    assert rows_read([tmp_path / "r" / name for name in parts]) == tokens.tolist()


def test_a_second_run_in_another_folder_gives_the_same_bytes(tmp_path):
    documents = [[3 + n % 50, 4, 5, 2] for n in range(400)]
    for name in ("first", "second"):
        write(tmp_path / name, documents, 16, rows_per_file=60)
    assert digests(tmp_path / "first") == digests(tmp_path / "second")
    assert len(digests(tmp_path / "first")) == 4


@pytest.mark.parametrize("masked", [False, True])
def test_the_files_are_those_of_mindspores_writer_as_it_is(tmp_path, masked):
    from mindspore.mindrecord import FileWriter

    tokens = np.random.default_rng(0).integers(0, 300, (1500, 17), dtype=np.int32)
    filled = np.full(1500, 17, np.int32)
    form = Form(16, 2, 0, mask_end_of_document=masked)
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    mindrecord.write([Rows(tokens, filled)], tmp_path / "ours", form, 9000)
    writer = FileWriter(str(tmp_path / "theirs/part-00000.mindrecord"))
    page, header = mindrecord.sizes(form, 9000)
    writer.set_page_size(page)
    writer.set_header_size(header)
    writer.add_schema(form.schema(), "rows of danlu")
    columns = form.stored(tokens, filled)
    for start in range(0, 1500, mindrecord.BATCH):
        end = min(start + mindrecord.BATCH, 1500)
        writer.write_raw_data(
            [{name: columns[name][n] for name in columns} for n in range(start, end)]
        )
    writer.commit()
    assert digests(tmp_path / "ours") == digests(tmp_path / "theirs")


def test_records_are_read_after_their_folder_was_renamed(tmp_path):
    parts = write(tmp_path / "aside", [[5, 6, 7, 8, 2]], 4, rows_per_file=8)
    (tmp_path / "aside").rename(tmp_path / "records")
    (row,) = rows_read([tmp_path / "records" / name for name in parts])
    assert row == [5, 6, 7, 8, 2]


def test_a_small_corpus_makes_a_small_file_that_others_may_read(tmp_path):
    write(tmp_path / "r", [[5, 6, 7, 8, 2]], 4, rows_per_file=65536)
    path = tmp_path / "r/part-00000.mindrecord"
    assert path.stat().st_size < 1 << 20
    assert path.stat().st_mode & 0o777 == 0o644


def test_the_index_beside_a_part_is_a_database_of_its_rows(tmp_path):
    write(tmp_path / "r", [[5, 6, 7, 8, 2]] * 3, 4, rows_per_file=8)
    with sqlite3.connect(tmp_path / "r/part-00000.mindrecord.db") as index:
        assert index.execute("SELECT COUNT(*) FROM INDEXES").fetchone() == (4,)


def test_pages_hold_64_rows_and_the_header_lists_those_of_a_full_part():
    assert mindrecord.sizes(Form(256, 2, 0), 65536) == (128 << 10, 256 << 10)
    assert mindrecord.sizes(Form(4096, 2, 0), 65536) == (2 << 20, 256 << 10)
    assert mindrecord.sizes(Form(4096, 2, 0, True, "document"), 65536) == (4 << 20, 512 << 10)
    assert mindrecord.sizes(Form(8, 2, 0), 100) == (64 << 10, 128 << 10)


def test_more_rows_than_a_header_can_list_are_refused():
    with pytest.raises(DanluError, match=r"rows_per_file: found 100000000; allowed: fewer rows"):
        mindrecord.sizes(Form(256, 2, 0), 100_000_000)


def test_a_row_that_mindrecord_leaves_out_is_noticed(tmp_path, monkeypatch):
    ill = {"tokens": [np.zeros(5, np.float32), np.zeros(4, np.float32), np.zeros(5, np.float32)]}
    monkeypatch.setattr(Form, "stored", lambda *_: ill)
    with pytest.raises(DanluError, match="MindRecord wrote 2 rows, expected 3"):
        write(tmp_path / "r", [[5, 6, 7, 8, 2]] * 2 + [[9, 9, 2]], 4, rows_per_file=8)


def test_a_file_that_is_in_the_way_is_named(tmp_path):
    (tmp_path / "part-00000.mindrecord").write_text("in the way")
    packed = concat([Tokens.of([[5, 6, 2]])], 4, 0)
    with pytest.raises(DanluError, match=r"part-00000\.mindrecord: MindRecord cannot be written"):
        mindrecord.write(packed, tmp_path, Form(4, 2, 0), 8)
