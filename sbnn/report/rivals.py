"""All networks of ours where most weights are gone: pruned at the end, and pruned while they were trained."""

import pandas as pd
from matplotlib.figure import Figure

from sbnn.report.compression import GRADUAL, PUBLISHED, TITLES, measured_curves
from sbnn.report.image_curves import LABEL
from sbnn.report.names import called
from sbnn.report.style import INK, left, legend_below, look, panels, plain_ticks, weights_left

FROM = 0.9  # the droprate at which the figure begins
HEADROOM = 4  # the highest error shown, in units of the lowest


def rivals(rows: pd.DataFrame) -> Figure:
    """A panel for each network: means as lines, one standard error over seeds as bands, others' networks as points."""
    shown = [name for name in TITLES if name in set(rows.network)]
    drawn, axes = panels(len(shown), width=4.9, height=4.0)
    for ax, name in zip(axes, shown, strict=True):
        here, lowest = rows[(rows.network == name) & (rows.droprate >= FROM)], []
        for metric, dash in (("error", "-"), (GRADUAL, "--")):
            found = measured_curves(here, metric)
            for (method, recipe), curve in found.groupby(["method", "recipe"], sort=False):
                own, (colour, marker) = left(curve.sort_values("droprate")), look(method, recipe)
                ends = {"color": colour, "marker": marker, "ls": dash, "markersize": 4, "lw": 1.1}
                ax.plot(own.left, own["mean"], label=called(method, recipe), **ends)
                if (own.seeds > 1).all():
                    ax.fill_between(own.left, own["mean"] - own.se, own["mean"] + own.se, color=colour, alpha=0.2, lw=0)
                lowest.append(own["mean"].min())
        theirs = PUBLISHED[(PUBLISHED.network == name) & (PUBLISHED.sparsity >= 100 * FROM)]
        ax.plot(100 - theirs.sparsity, theirs.error, ls="", marker="x", color=INK, label="published")
        low = min([*lowest, *theirs.error], default=1.0)
        ax.set(yscale="log", title=TITLES[name], ylim=(0.93 * low, HEADROOM * low))
        weights_left(ax, [*here.droprate, *theirs.sparsity / 100], most=100 * (1 - FROM))
        plain_ticks(ax)
    axes[0].set_ylabel(LABEL)
    legend_below(drawn, axes, columns=5)
    return drawn
