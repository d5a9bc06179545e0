"""Experiments' reports by name."""

from importlib import import_module
from importlib.util import find_spec

from sbnn.errors import SbnnError
from sbnn.report.base import Report


def report_of(experiment: str) -> Report:
    """The report in the module that is named like the experiment."""
    if find_spec(f"sbnn.report.{experiment}") is None:
        raise SbnnError(f"experiment={experiment} has no report; write one in sbnn/report/{experiment}.py.")
    return import_module(f"sbnn.report.{experiment}").REPORT
