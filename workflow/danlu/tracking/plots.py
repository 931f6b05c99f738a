"""loss.png of a run, and the curves of several runs over each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from danlu import publish
from danlu.errors import DanluError
from danlu.tracking import curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY = "#1f6fb4", "#d9730d", "#3a8a4d", "#777777"
SERIES = (BLUE, ORANGE, GREEN, "#a03a8a", "#8a6d3b", "#0f9b9b", "#c23b3b", "#5a5a5a")


def smooth(values: np.ndarray) -> np.ndarray:
    """Weighted mean of the neighbours, about a thirtieth of the curve wide; it does not lag.

    values: float64 [N]; what is not finite stays out of the mean. Returns float64 [N], NaN
    where no neighbour is finite.
    """
    width = max(1, len(values) // 30)
    distance = np.arange(-2 * width, 2 * width + 1) / width
    kernel = np.exp(-2 * distance**2)
    there = np.isfinite(values)

    def blurred(row: np.ndarray) -> np.ndarray:
        return np.convolve(np.pad(row, 2 * width), kernel, "valid")

    with np.errstate(invalid="ignore", divide="ignore"):
        return blurred(np.where(there, values, 0)) / blurred(there.astype(np.float64))


def plot_loss(run: Path, out: Path) -> None:
    """Draw a run's loss, learning rate and gradient norm.

    Raises DanluError where the run has no curve.
    """
    rows = _rows(run)
    resumes = curve.resumed_after(curve.events(run))
    with _figure(out, height=6.4) as figure:
        top, below = figure.subplots(2, sharex=True, height_ratios=(3, 1))
        step, loss = _column(rows, "step"), _column(rows, "loss")
        top.plot(step, loss, color=BLUE, alpha=0.3, linewidth=0.8)
        top.plot(step, smooth(loss), color=BLUE, linewidth=1.8, label="training loss, smoothed")
        top.set_ylabel("loss (nats per token)")
        top.set_title(f"{run.name}: loss {_final(loss):.3f} after {int(step[-1])} steps")
        rate = top.twinx()
        rate.plot(step, _column(rows, "lr"), color=ORANGE, linewidth=1, linestyle="--")
        rate.set_ylabel("learning rate", color=ORANGE)
        rate.tick_params(axis="y", colors=ORANGE)
        rate.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
        rate.set_ylim(bottom=0)
        below.plot(step, _column(rows, "grad_norm"), color=GREEN, linewidth=0.9)
        below.set_ylabel("gradient norm")
        below.set_xlabel("step")
        for axis in (top, below):
            axis.grid(alpha=0.25, linewidth=0.6)
        for axis in (top, below, rate):
            _tidy(axis)
        for axis in (top, below):
            for resume in resumes:
                axis.axvline(resume, color=GREY, linewidth=0.9, linestyle=":")
        handles = [top.lines[1], rate.lines[0]]
        names = ["training loss, smoothed", "learning rate"]
        if resumes:
            handles.append(top.lines[-1])
            names.append("resumed here")
        # Of the axes drawn last, so that no line crosses it.
        legend = rate.legend(handles, names, loc="upper right", framealpha=0.9)
        legend.get_frame().set_edgecolor("none")


def compare_curves(runs: Sequence[Path], out: Path) -> None:
    """Draw the losses of runs over each other, and how far each is from the first.

    Raises DanluError where a run has no curve.
    """
    with _figure(out, height=6.4) as figure:
        top, below = figure.subplots(2, sharex=True, height_ratios=(3, 1))
        first: dict[float, float] = {}
        for run, color in zip(runs, cycle(SERIES), strict=False):
            rows = _rows(run)
            step, loss = _column(rows, "step"), _column(rows, "loss")
            smoothed = dict(zip(step, smooth(loss), strict=True))
            first = first or smoothed
            label = f"{run.name} ({_final(loss):.3f})"
            top.plot(step, loss, color=color, alpha=0.2, linewidth=0.8)
            top.plot(step, list(smoothed.values()), color=color, linewidth=1.6, label=label)
            shared = [at for at in step if at in first]
            apart = [smoothed[at] - first[at] for at in shared]
            below.plot(shared, apart, color=color, linewidth=1.2)
        top.set_ylabel("loss (nats per token)")
        top.set_title("Training loss, smoothed (its last value)")
        top.legend(loc="upper right", frameon=False)
        below.set_ylabel("less the first's")
        below.set_xlabel("step")
        for axis in (top, below):
            axis.grid(alpha=0.25, linewidth=0.6)
        for axis in (top, below):
            _tidy(axis)


@contextmanager
def _figure(out: Path, height: float) -> Iterator[Figure]:
    """A figure that is written to `out` as PNG: the same bytes for the same curve."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        figure = Figure(figsize=(9, height), layout="constrained")
        yield figure
        with publish.file(out) as aside:
            figure.savefig(aside, format="png", dpi=110, metadata={"Software": None})


def _rows(run: Path) -> list[curve.Row]:
    rows = curve.curve(run)
    if not rows:
        raise DanluError(f"{run / curve.CURVE}: no step yet; train first")
    return rows


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """float64 [N]; NaN where a line does not say."""
    return np.array([np.nan if row.get(name) is None else row[name] for row in rows], np.float64)


def _final(loss: np.ndarray) -> float:
    return float(smooth(loss)[-1])


def _tidy(axis: Axes) -> None:
    axis.spines["top"].set_visible(False)
    axis.margins(x=0.01)
