"""What a run ends with: its claims within the terminal's width, and how its fits went."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from sbnn.report.claims import COLUMNS, NOT_RUN, REPRODUCED
from sbnn.report.closing import claims_of, cut, page_of
from sbnn.report.folders import copy_trained
from sbnn.report.history import DRAWN, figure, table_of, write_tensorboard
from sbnn.training.history import History


def history(*fits, epochs=(1, 2), included=0.25):
    measures = [torch.tensor([4.0 / epoch, 1.0, 0.5 / epoch, included]) for epoch in epochs]
    return table_of({fit: History(1, list(epochs), [1.0 * e for e in epochs], measures) for fit in fits})


def test_claims_that_were_not_run_are_not_spoken_of():
    line = dict.fromkeys(COLUMNS, "")
    run = {**line, "id": "1a", "claim": "it rises", "ours": "0.9", "verdict": REPRODUCED}
    verdicts = pd.DataFrame([run, {**line, "id": "1b", "verdict": NOT_RUN}])
    assert claims_of(verdicts, 80) == ["1a  reproduced      it rises: 0.9"]
    assert claims_of(verdicts, 20) == ["1a  reproduced…"]
    assert claims_of(verdicts[1:], 80) == ["No claim is judged: this run leaves out what they are about."]


@pytest.mark.parametrize("width", [1, 7, 8, 20])
def test_lines_are_cut_to_the_width(width):
    short = cut("A line.", width)
    assert len(short) <= width
    assert short == "A line." or short.endswith("…")


def test_the_page_is_named_as_one_would_type_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert page_of(tmp_path / "results") == "Open results/report.html"
    assert page_of(Path("results")) == "Open results/report.html"
    assert page_of(tmp_path.parent / "elsewhere") == f"Open {tmp_path.parent}/elsewhere/report.html"


def test_every_epoch_of_every_fit_is_a_line():
    table = history("a", "b")
    assert list(table) == ["fit", "epoch", "loss", "penalty", "error", "included", "seconds"]
    assert table[["fit", "epoch", "loss"]].to_numpy().tolist() == [["a", 1, 4], ["a", 2, 2], ["b", 1, 4], ["b", 2, 2]]
    assert len(table_of({})) == 0


def test_the_figure_has_a_panel_a_measure_and_a_line_a_fit():
    drawn = figure(history("a", "b"))
    assert [ax.get_ylabel() for ax in drawn.axes] == ["loss", "training error", "share with p > 1/2"]
    assert [line.get_ydata().tolist() for line in drawn.axes[0].lines] == [[4, 2], [4, 2]]
    assert len(figure(history("a", included=float("nan"))).axes) == 2  # no method here has a p
    many = figure(history(*(f"fit {n}" for n in range(30))))
    assert len(many.axes[0].lines) == DRAWN
    assert f"{DRAWN} of 30" in many.get_suptitle()


def test_drawing_again_keeps_what_training_left(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "tensorboard" / "a").mkdir(parents=True)
    new.mkdir()
    for name in ("rows.csv", "history.csv", "tensorboard/a/events", "table.csv"):
        (old / name).write_text(name)
    copy_trained(old, new)
    files = {str(path.relative_to(new)) for path in new.rglob("*") if path.is_file()}
    assert files == {"rows.csv", "history.csv", "tensorboard/a/events"}


def test_tensorboard_reads_what_the_table_says(tmp_path):
    pytest.importorskip("tensorboard", reason="make extra EXTRA=tensorboard installs it")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    write_tensorboard(history("a", "b", included=float("nan")), tmp_path)
    events = EventAccumulator(str(tmp_path / "b")).Reload()
    assert set(events.Tags()["scalars"]) == {"loss", "penalty", "error"}
    first, last = events.Scalars("loss")
    assert [(one.step, one.value) for one in (first, last)] == [(1, 4.0), (2, 2.0)]
    assert last.wall_time - first.wall_time == pytest.approx(1.0, abs=1e-3)
