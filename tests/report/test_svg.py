"""Figures' SVG files are small, and show what was drawn."""

import io
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest

from sbnn.report.svg import FONTS, PATH, STYLE, TEXT, slimmed


@pytest.fixture
def drawn():
    figure, ax = plt.subplots()
    ax.errorbar([1, 2, 3], [0.123456, 0.4, 0.3], yerr=0.1, marker="o", label="error < 1 & more")
    ax.fill_between([1, 3], 0, [0.2, 0.1], alpha=0.3)
    ax.set(yscale="log", xlabel="weights left, %")
    ax.legend()
    file = io.StringIO()
    figure.savefig(file, format="svg")
    plt.close(figure)
    return file.getvalue()


def coordinates(text):
    return [round(float(n), 1) for path in re.findall(r'\sd="([^"]*)"', text) for n in re.findall(r"-?\d+\.?\d*", path)]


def test_nothing_that_is_seen_is_lost(drawn):
    before, after = ElementTree.fromstring(drawn), ElementTree.fromstring(slimmed(drawn))
    assert [text.text for text in after.iter(TEXT)] == [text.text for text in before.iter(TEXT)]
    marks = f"{PATH.removesuffix('path')}use"
    assert len(list(after.iter(marks))) == len(list(before.iter(marks))) > 10
    assert coordinates(slimmed(drawn)) == coordinates(drawn)


def test_every_style_and_reference_is_there_and_written_once(drawn):
    text = slimmed(drawn)
    root = ElementTree.fromstring(text)
    rules = dict(re.findall(r"\.(\w+)\{([^}]*)\}", next(root.iter(STYLE)).text))
    assert {element.get("class") for element in root.iter()} - {None} == set(rules)
    assert len(set(rules.values())) == len(rules)
    styles = [element.get("style") for element in root.iter() if element.get("style")]
    assert len(set(styles)) == len(styles)
    assert not set(styles) & set(rules.values())
    ids = {element.get("id") for element in root.iter()} - {None}
    assert ids == set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert f"text{{font-family:{FONTS}}}" in text


def test_it_is_less_than_half_as_long(drawn):
    assert len(slimmed(drawn)) < len(drawn) / 2
