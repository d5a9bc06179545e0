"""Tables and figure of Experiment 5, from its rows, beside the numbers that others published."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from sbnn.data.uci import DATASETS
from sbnn.model.methods import SCORES
from sbnn.report.style import DASHES, by_score, line, panels, plain_ticks
from sbnn.runs.rows import largest_droprate, mean_and_error, paired

# The paper's two tables, and the dropout authors' own re-run of 2018. `spread` is as published: the standard error, but
# for SVBNN and HS-BNN, it seems, the standard deviation. On protein the rivals have 100 units, the paper 50.
PUBLISHED = pd.read_csv(Path(__file__).with_name("paper") / "uci.csv", dtype={"rmse": str, "spread": str})
RIVALS = {
    "SVBNN": "published, ± s.d.",
    "HS-BNN": "published, ± s.d.",
    "Dropout 2016": "published",
    "PBP": "published",
    "Dropout 2018": "published",
}
WIDTHS = {"year": 100}  # the paper's networks have 50 units on every other dataset
NOT_RUN = "not run"
OVERLAP = 1 / 9  # of the benchmark's splits: rows tested on over rows trained on
DECIMALS = {"kin8nm": 3, "naval": 4}  # where two would hide all there is to see

# What each method and recipe is called in print.
NAMES = {
    ("sBNN", "paper"): "sBNN as stated",
    ("sBNN", "tuned"): "sBNN tuned",
    ("NN", "ours"): "NN",
    ("NN_Dr", "ours"): "MC dropout",
    ("BbB", "ours"): "BbB",
}
CURVE = ["dataset", "hidden", "method", "recipe", "score", "droprate"]


def summary(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean and standard error over the splits, along every pruning curve."""
    return mean_and_error(rows[rows.metric == metric], CURVE)


def cell(curves: pd.DataFrame, dataset: str, hidden: int, method: str, recipe: str, score: str, droprate: float):
    """One line of a summary, or None if it was not run."""
    wanted = [dataset, hidden, method, recipe, score, droprate]
    found = curves[(curves[CURVE] == wanted).all(axis=1)]
    return None if found.empty else found.iloc[0]


def networks(rows: pd.DataFrame) -> list[tuple[str, int | None]]:
    """Every dataset of the benchmark with each width it was run at, in the paper's order; None if it was not run."""
    widths = rows.groupby("dataset")["hidden"].unique()
    return [(name, width) for name in DATASETS for width in (sorted(widths[name]) if name in widths else [None])]


def published(dataset: str, method: str, droprate: float = 0.0) -> tuple[float, float] | None:
    """RMSE and spread (0 where none is given) as numbers."""
    rmse, _, spread = _printed(dataset, method, droprate).partition(" ± ")
    return (float(rmse), float(spread or 0)) if rmse else None


def pruning(rows: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, Figure]]:
    curves = summary(rows, "rmse")
    tables = {
        "comparison": comparison(rows, curves),
        "rmse_by_droprate": rmse_by_droprate(rows, curves),
        "datasets": datasets(rows),
        "calibration": calibration(rows),
        "prunable": prunable(curves),
        "paired": paired_differences(rows),
    }
    return tables, {"rmse_by_droprate": figure(rows, curves)}


def datasets(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's table of characteristics, with where our copy came from."""
    lines = []
    for name, hidden in networks(rows):
        d, own = DATASETS[name], rows[rows.dataset == name]
        lines.append(
            {
                "dataset": name,
                "title": d.title,
                "N": d.rows,
                "p": d.features,
                "hidden": hidden or NOT_RUN,
                "weights": (d.features + 2) * hidden + 1 if hidden else NOT_RUN,
                "splits": f"{own.replicate.nunique()} of {d.splits}" if hidden else NOT_RUN,
                "source": own.source.iloc[0] if hidden else NOT_RUN,
            }
        )
    return pd.DataFrame(lines)


def rmse_by_droprate(rows: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """The paper's table, theirs and ours side by side, ± standard error over the splits."""
    columns = curves[["method", "recipe", "score"]].drop_duplicates().itertuples(index=False, name=None)
    columns = sorted(columns, key=lambda c: (list(NAMES).index(c[:2]), list(DASHES).index(c[2])))
    lines = []
    for name, hidden in networks(rows):
        for droprate in sorted(curves.droprate.unique()):
            cells = {"dataset": name, "hidden": hidden or NOT_RUN, "droprate": droprate}
            cells["sBNN (paper)"] = _of_paper(name, hidden, droprate)
            for method, recipe, score in columns:
                found = cell(curves, name, hidden, method, recipe, score, droprate)
                cells[f"{NAMES[method, recipe]}, {score}"] = _measured(found, name)
            lines.append(cells)
    return pd.DataFrame(lines)


def comparison(rows: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """RMSE ± standard error of full networks and of sBNN at 50 %, beside what others published."""
    ours = {
        "sBNN as stated": ("sBNN", "paper", "inclusion", 0.0),
        "sBNN tuned": ("sBNN", "tuned", "inclusion", 0.0),
        "sBNN-50 as stated (inclusion)": ("sBNN", "paper", "inclusion", 0.5),
        "sBNN-50 tuned (inclusion)": ("sBNN", "tuned", "inclusion", 0.5),
        "sBNN-50 tuned (snr)": ("sBNN", "tuned", "snr", 0.5),
        "NN (ours)": ("NN", "ours", "magnitude", 0.0),
        "NN-50 by magnitude (ours)": ("NN", "ours", "magnitude", 0.5),
        "MC dropout (ours)": ("NN_Dr", "ours", "magnitude", 0.0),
        "BbB (ours)": ("BbB", "ours", "snr", 0.0),
        "BbB-50 by snr (ours)": ("BbB", "ours", "snr", 0.5),
    }
    lines = []
    for name, hidden in networks(rows):
        line = {"dataset": name, "hidden": hidden or NOT_RUN}
        line["sBNN (paper)"], line["sBNN-50 (paper)"] = _of_paper(name, hidden, 0.0), _of_paper(name, hidden, 0.5)
        for label, wanted in ours.items():
            line[label] = _measured(cell(curves, name, hidden, *wanted), name)
        line |= {f"{rival} ({note})": _printed(name, rival, 0.0) for rival, note in RIVALS.items()}
        lines.append(line)
    return pd.DataFrame(lines)


# The comparison on one screen: the paper's number, ours by both recipes, and the strongest published rival.
HEADLINE = [
    "dataset", "hidden", "sBNN (paper)", "sBNN as stated", "sBNN tuned", "sBNN-50 tuned (snr)",
    "Dropout 2018 (published)",
]  # fmt: skip


def closing(rows: pd.DataFrame) -> pd.DataFrame:
    """The table a run ends with."""
    return comparison(rows, summary(rows, "rmse"))[HEADLINE]


def _of_paper(dataset: str, hidden: int | None, droprate: float) -> str:
    return _printed(dataset, "sBNN", droprate) if _as_wide(dataset, hidden) else ""


def papers_curve(dataset: str, hidden: int | None) -> pd.DataFrame:
    """The paper's RMSE by droprate, beside networks as wide as its are; no line beside others."""
    p = PUBLISHED[(PUBLISHED.dataset == dataset) & (PUBLISHED.method == "sBNN")].astype({"rmse": float})
    return p if _as_wide(dataset, hidden) else p.iloc[:0]


def _as_wide(dataset: str, hidden: int | None) -> bool:
    """As the paper's network; None is one that was not run."""
    return hidden in (None, WIDTHS.get(dataset, 50))


def _printed(dataset: str, method: str, droprate: float) -> str:
    p = PUBLISHED
    found = p[(p.dataset == dataset) & (p.method == method) & (p.droprate == droprate)]
    if found.empty:
        return ""
    spread = found.spread.iloc[0]
    return found.rmse.iloc[0] if pd.isna(spread) else f"{found.rmse.iloc[0]} ± {spread}"


def _measured(found: pd.Series | None, dataset: str) -> str:
    if found is None:
        return NOT_RUN
    digits = DECIMALS.get(dataset, 2)
    se = "" if pd.isna(found["se"]) else f" ± {found['se']:.{digits + (digits > 2)}f}"
    return f"{found['mean']:.{digits}f}{se}"


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Test negative log-likelihood and coverage of the 95 % interval along every pruning curve."""
    nll, coverage = summary(rows, "nll"), summary(rows, "coverage")
    table = nll.rename(columns={"mean": "nll", "se": "nll_se"})
    return table.assign(coverage=coverage["mean"], coverage_se=coverage["se"])


def prunable(curves: pd.DataFrame) -> pd.DataFrame:
    """How much can go before the mean RMSE rises by 5 %, score by score."""
    curves = curves.assign(dataset=pd.Categorical(curves.dataset, list(DATASETS)))
    index = ["method", "recipe", "dataset", "hidden", "score"]
    lines = curves.pivot_table(index=index, columns="droprate", values="mean", observed=True)
    found = largest_droprate(lines).rename("prunable").reset_index()
    return found.pivot_table(index=index[:-1], columns="score", values="prunable", observed=True).reset_index()


def paired_differences(rows: pd.DataFrame) -> pd.DataFrame:
    """RMSE of the tuned sBNN less each rival's, and of itself with half of its weights less that of all of them."""
    rmse = rows[rows.metric == "rmse"].set_index("replicate")

    def of(dataset: str, hidden: int, method: str, recipe: str, score: str, droprate: float = 0.0) -> pd.Series:
        wanted = [dataset, hidden, method, recipe, score, droprate]
        return rmse[(rmse[CURVE] == wanted).all(axis=1)]["value"]

    lines = []
    for name, hidden in (network for network in networks(rows) if network[1]):
        tuned = of(name, hidden, "sBNN", "tuned", "inclusion")
        line = {"dataset": name, "hidden": hidden, "splits": rmse[rmse.dataset == name].index.nunique()}
        for (method, recipe), label in NAMES.items():
            if (method, recipe) != ("sBNN", "tuned"):
                score = SCORES[method][0]
                line[f"tuned − {label}"] = paired(tuned, of(name, hidden, method, recipe, score), OVERLAP)
        line["tuned at 50 % (snr) − full"] = paired(of(name, hidden, "sBNN", "tuned", "snr", 0.5), tuned, OVERLAP)
        lines.append(line)
    return pd.DataFrame(lines)


def figure(rows: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """RMSE by droprate, a panel per network; logarithmic, because a network that breaks is wrong by a factor."""
    shown = networks(rows)
    drawn, axes = panels(4, -(-(len(shown) + 1) // 4), width=2.7, height=2.2, sharex=True)
    for ax, (name, hidden) in zip(axes, shown, strict=False):
        p = papers_curve(name, hidden)
        p = p[p.rmse > 0]  # naval's 0.00 has no place on a logarithmic axis
        ax.plot(p.droprate, p.rmse, color="black", marker="x", ls=(0, (1, 2)), label="sBNN (paper)")
        own = curves[(curves.dataset == name) & (curves.hidden == hidden)]
        for (method, recipe), label in NAMES.items():
            for score, curve in own[(own.method == method) & (own.recipe == recipe)].groupby("score", sort=False):
                look = f"{method}_paper" if recipe == "paper" else method
                line(ax, curve, "droprate", look, f"{label}, {score}", **by_score(score), markersize=2.5, lw=1)
        width = f"{hidden} units" if hidden else NOT_RUN
        ax.set(title=f"{name}, {width}" + (" (paper: 0.00 to 10 %)" if name == "naval" else ""), yscale="log")
        plain_ticks(ax)
    _legend(axes[len(shown)], axes)
    for ax in axes[len(shown) :]:
        ax.axis("off")
    for ax in axes[::4]:
        ax.set_ylabel("RMSE, target's units")
    for ax in axes[max(0, len(shown) - 4) : len(shown)]:
        ax.set_xlabel("share of weights pruned")
        ax.tick_params(labelbottom=True)
    return drawn


def _legend(place: Axes, axes: list[Axes]) -> None:
    """One legend for all panels, in the first empty one."""
    entries = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    lines = [handle[0] if isinstance(handle, ErrorbarContainer) else handle for handle in entries.values()]
    place.legend(lines, entries.keys(), loc="center left", fontsize=7, title="mean ± s.e. over splits")
