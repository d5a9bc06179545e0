"""A table of numbers as coloured cells, each with its number in it: colours that a colour-blind reader can order."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage


def draw(axes: Axes, cells: pd.DataFrame, form: str = "{:.4g}", **limits: float) -> AxesImage:
    """Rows from the top, columns from the left; what is missing stays white and without a number."""
    image = axes.imshow(cells, cmap="cividis", aspect="auto", **limits)
    axes.set_xticks(range(cells.shape[1]), [str(value) for value in cells.columns])
    axes.set_yticks(range(cells.shape[0]), [str(value) for value in cells.index])
    axes.set(xlabel=cells.columns.name, ylabel=cells.index.name)
    axes.grid(visible=False)
    for (i, j), value in np.ndenumerate(cells.to_numpy()):
        if not math.isnan(value):
            colour = "white" if image.norm(value) < 0.5 else "black"
            axes.text(j, i, form.format(value), ha="center", va="center", color=colour)
    return image
