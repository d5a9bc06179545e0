"""A figure's SVG file in less than half the bytes: without what nobody sees, and every style written once."""

import re
from collections import Counter
from itertools import pairwise
from string import ascii_lowercase
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = "system-ui,sans-serif"  # the reader's own
GROUP, PATH, TEXT, STYLE = (f"{{{SVG}}}{tag}" for tag in ("g", "path", "text", "style"))
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def slimmed(drawn: str) -> str:
    """What Matplotlib drew. It looks the same but for the fonts, and for ends of lines, which are not squared off."""
    root = ElementTree.fromstring(drawn)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn))
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        element.attrib |= {key: shortened(key, value) for key, value in element.attrib.items()}
        if element.get("transform", "").startswith("rotate(-0"):
            del element.attrib["transform"]
        if element.tag not in (TEXT, STYLE):
            element.text = None
        element.tail = None
    flatten(root)
    name_styles(root)
    return f'<?xml version="1.0" encoding="utf-8"?>{ElementTree.tostring(root, "unicode")}'


def shortened(key: str, value: str) -> str:
    """An attribute with one decimal, and without blanks that mean nothing."""
    value = re.sub(r"-?\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), value)
    if key == "d":
        return re.sub(r"\s*([A-Za-z])\s*", r"\1", value).strip()
    if key != "style":
        return value
    value = re.sub(r"(font: [^;]*?px) [^;]*", rf"\1 {FONTS}", value)
    kept = [part.strip() for part in value.split(";") if not re.match(r"\s*(font-family|stroke-linecap: square)", part)]
    return ";".join(part.replace(": ", ":", 1) for part in kept)


def flatten(parent: Element) -> None:
    """Groups that say nothing give way to what is in them; paths in a row that look alike, as error bars, are one."""
    for child in parent:
        flatten(child)
    flat = [own for child in parent for own in (child if child.tag == GROUP and not child.attrib else [child])]
    parts = flat[:1]
    for child, following in pairwise(flat):
        if child.tag == following.tag == PATH and look(child) == look(following):
            parts[-1].set("d", parts[-1].get("d", "") + following.get("d", ""))
        else:
            parts.append(following)
    parent[:] = parts


def look(path: Element) -> dict[str, str]:
    return {key: value for key, value in path.attrib.items() if key != "d"}


def name_styles(root: Element) -> None:
    """Styles that stand more than once go into the style sheet, under names of a letter or two."""
    counts = Counter(element.get("style") for element in root.iter() if element.get("style"))
    names = [*ascii_lowercase, *(a + b for a in ascii_lowercase for b in ascii_lowercase)]
    named = dict(zip((style for style, count in counts.items() if count > 1), names, strict=False))
    for element in root.iter():
        if (style := element.get("style")) in named:
            del element.attrib["style"]
            element.set("class", named[style])
    (sheet,) = root.iter(STYLE)
    rules = [f"text{{font-family:{FONTS}}}", *(f".{name}{{{style}}}" for style, name in named.items())]
    sheet.text = f"{sheet.text or ''}{''.join(rules)}"
