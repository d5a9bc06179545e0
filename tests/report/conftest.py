from functools import cache
from pathlib import Path

import pytest

from sbnn.report.results import Results


@pytest.fixture(scope="session")
def results_of():
    """The committed results of an experiment, read and tabulated once: results_of("uci_pruning")."""
    return cache(lambda name: Results(Path(__file__).parents[2] / "results" / name))
