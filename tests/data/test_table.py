"""A table of one's own: what is read of its file, and the one sentence about what cannot be."""

import gzip

import numpy as np
import pytest

from sbnn.data.encoding import Encoding
from sbnn.data.folds import folds, halves, others
from sbnn.data.table import column_of, read_table
from sbnn.errors import DataError

HOUSES = "size,rooms,colour,price\n" + "".join(
    f"{50 + 7 * n % 60},{1 + n % 4},{'red' if n % 3 else 'blue'},{100.5 + n}\n" for n in range(40)
)


def written(folder, text, name="houses.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_numbers_are_numbers_and_text_is_categories(tmp_path):
    examples = Encoding("price").examples(read_table(written(tmp_path, HOUSES)))
    assert examples.features == ("size", "rooms", "colour")
    assert examples.columns == ("size", "rooms", "colour=blue", "colour=red")
    assert examples.feature.tolist() == [0, 1, 2, 2]
    assert examples.is_regression()
    assert examples.y.shape == (40, 1)
    np.testing.assert_allclose(examples.x.std(0), 1)
    np.testing.assert_allclose(examples.y[0, 0] + examples.target_mean, 100.5)
    back = examples.x * examples.deviation + examples.mean
    np.testing.assert_allclose(back[:, 2] + back[:, 3], 1)  # one colour or the other


def test_every_way_to_write_a_table_gives_the_same_cells(tmp_path):
    plain = read_table(written(tmp_path, HOUSES)).columns
    assert read_table(written(tmp_path, gzip.compress(HOUSES.encode()), "houses.csv.gz")).columns == plain
    assert read_table(written(tmp_path, HOUSES.replace(",", ";"))).columns == plain
    assert read_table(written(tmp_path, "\ufeff" + HOUSES.replace("\n", "\r\n"))).columns == plain
    assert read_table(written(tmp_path, HOUSES + "\n\n")).columns == plain


def test_a_table_without_a_header(tmp_path):
    cells = read_table(written(tmp_path, "1,2,a\n3,4,b\n"))
    assert list(cells.columns) == ["column 1", "column 2", "column 3"]
    assert len(cells) == 2
    assert len(read_table(written(tmp_path, "x,y\na,b\n"), header=False)) == 2


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="parquet needs the extra of that name")
    import pandas as pd

    path = written(tmp_path, HOUSES)
    pd.read_csv(path).to_parquet(tmp_path / "houses.parquet")
    cells = read_table(tmp_path / "houses.parquet")
    for name in ("size", "price"):
        np.testing.assert_allclose(column_of(cells, name), column_of(read_table(path), name))


def test_what_is_a_class(tmp_path):
    whole = "x,y\n" + "".join(f"{n / 7},{n % 3}\n" for n in range(30))
    cells = read_table(written(tmp_path, whole))
    assert Encoding("y").examples(cells).classes == ("0", "1", "2")
    assert Encoding("y", task="regression").examples(cells).is_regression()
    assert Encoding(-1).examples(cells).target == "y"


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (HOUSES, "prize", "has no column prize; did you mean price?"),
        (HOUSES, 9, "has no column 9; it has 4"),
        (HOUSES.replace("50,1", ",1", 1), "price", "row 2, column size of houses.csv, is missing; fill it in"),
        (HOUSES.replace("50,1", "NA,1", 1), "price", r"is missing \(it reads NA\)"),
        (HOUSES.replace("50,1", "big,1", 1), "price", "row 2, column size of .*, is not a number: it reads 'big'"),
        (HOUSES.replace("50,1", "1e99,1", 1), "price", "is too large: it reads 1e99"),
        (HOUSES + "1,2\n", "price", "row 42 has 2 cells and others have 4"),
        ("a,b\n1,5\n2,5\n3,5\n", "b", r"Every value in column b of houses.csv is 5.0; there is nothing to learn"),
        ("a,a\n1,5\n", "a", "two columns called a"),
        ("a,b\n", "a", "holds no rows"),
        ("", "a", "is empty"),
        (b"\x00\x01\x02", "a", "is not a table of text in UTF-8"),
        (b"\x1f\x8b\x00broken", "a", "cannot be unzipped"),
        (b"PAR1broken", "a", "parquet"),
        ("b\n1\n2\n", "b", "has no column to learn from besides b"),
        ("a,b\n" + "".join(f"{n},name {n}\n" for n in range(30)), "b", "has 30 values in 30 rows: no classes"),
        ("a,b\n" + "".join(f"name {n},{n}.5\n" for n in range(120)), "b", "Column a has 120 categories, more than 100"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, text, target, message):
    with pytest.raises(DataError, match=message) as caught:
        Encoding(target).examples(read_table(written(tmp_path, text)))
    assert "\n" not in str(caught.value)


def test_a_test_file_has_the_same_columns_and_kinds(tmp_path):
    cells, encoding = read_table(written(tmp_path, HOUSES)), Encoding("price")
    examples = encoding.examples(cells, read_table(written(tmp_path, HOUSES, "test.csv")))
    assert (examples.to_learn, len(examples.x)) == (40, 80)
    other = read_table(written(tmp_path, HOUSES.replace("rooms", "doors"), "test.csv"))
    with pytest.raises(DataError, match="it lacks rooms and also has doors"):
        encoding.examples(cells, other)


def test_every_row_is_in_one_fold_and_every_class_in_each():
    random = np.random.default_rng(0)
    classes = np.repeat([0, 1], [30, 10])
    held = folds(40, 5, random, classes)
    assert sorted(held.flatten()) == list(range(40))
    assert (classes[held].sum(1) == 2).all()
    assert others(40, held).shape == (5, 32)
    own = halves(41, 6, random)
    assert own.shape == (6, 20)
    assert not set(own[0]) & set(own[1])
