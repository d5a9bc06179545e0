"""A browser shows the page, light and dark: nothing is cut off, sections open, filters filter, curves switch."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "results"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--virtual-time-budget=20000", "--window-size=1500,1000", "--dump-dom"),
]
DARK = "--blink-settings=preferredColorScheme=0"
LOOK = """<script>
window.addEventListener("load", () => {
const said = {};
const wide = () => document.documentElement.scrollWidth - innerWidth;
const all = (what, where = document) => [...where.querySelectorAll(what)];
const picture = document.querySelector("main img").getBoundingClientRect();
said.width = innerWidth;
said.dark = matchMedia("(prefers-color-scheme: dark)").matches;
said.paper = getComputedStyle(document.body).backgroundColor;
said.picture = [picture.top, picture.bottom, innerHeight];
said.menu = document.querySelector("nav details").open;
said.images = all("img").map((image) => image.complete && image.naturalWidth > 100);
said.sideways = wide();

const table = document.querySelector("details.table");
said.closed = table.getBoundingClientRect().height;
table.querySelector("summary").click();
said.opened = table.getBoundingClientRect().height;

const claims = () => all(".claim:not([hidden])").map((claim) => [claim.dataset.verdict, claim.dataset.experiment]);
const [button, select] = [document.querySelector(".filters button"), document.querySelector(".filters select")];
said.claims = claims();
button.click();
said.pressed = [button.value, claims()];
select.value = "uci_pruning";
select.dispatchEvent(new Event("change"));
said.both = claims();
button.click();
said.chosen = claims();

const plot = all("figure.plot").find((figure) => figure.textContent.includes("RMSE"));
const [network, score] = all("select", plot);
const stage = plot.querySelector(".stage");
const drawn = () => all("path", plot).map((path) => path.getAttribute("d")).join();
const key = (name) => stage.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
said.plots = all("figure.plot .stage > svg").length;
said.first = drawn();
network.value = 2;
network.dispatchEvent(new Event("change"));
said.second = drawn();
score.value = [...score.options].findIndex((option) => option.text === "magnitude");
score.dispatchEvent(new Event("change"));
said.third = drawn();
key("ArrowRight");
said.tip = stage.querySelector(".tip").textContent;
said.lines = all(".tip div", stage).length;
said.curves = all("svg path", stage).length;
key("ArrowRight");
said.next = stage.querySelector(".tip").textContent;
const box = plot.querySelector("form[aria-label] input:checked");
box.click();
said.fewer = all("svg path", stage).length;

all("details").forEach((one) => { one.open = true; });
said.openedSideways = wide();
said.scales = all(".drawn img").map((image) => image.clientWidth / image.naturalWidth);
said.scrolled = all(".drawn").filter((box) => box.scrollWidth > box.clientWidth).length;
said.outside = performance.getEntriesByType("resource").filter((e) => !e.name.startsWith("data:")).length;
parent.postMessage(JSON.stringify(said), "*");
});
</script>"""
# A frame has any width; a window is never narrower than 500 pixels.
FRAME = """<body><iframe src="page.html" width="{}" height="{}" style="border: 0"></iframe><script>
addEventListener("message", (event) => {{
  const said = document.createElement("pre");
  said.textContent = event.data;
  document.body.replaceChildren(said);
}});
</script>"""


@pytest.fixture(scope="module", params=[(1400, 900, []), (1400, 900, [DARK]), (390, 844, []), (390, 844, [DARK])])
def seen(request, tmp_path_factory):
    """What a browser window of a size, light or dark, says of the committed page."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    width, height, scheme = request.param
    folder = tmp_path_factory.mktemp("browser")
    text = (RESULTS / "report.html").read_text()
    (folder / "page.html").write_text(text.replace("</body>", f"{LOOK}</body>"))
    (folder / "frame.html").write_text(FRAME.format(width, height))
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [CHROMIUM, *OPTIONS, *scheme, profile, (folder / "frame.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    said = json.loads(unescape(re.search(r"<pre>(\{.*?\})</pre>", shown, re.DOTALL)[1]))
    assert (said["width"], said["dark"]) == (width, bool(scheme))
    return said


def test_nothing_is_cut_off(seen):
    assert seen["sideways"] <= 0
    assert seen["openedSideways"] <= 0


def test_the_picture_is_on_the_first_screen(seen):
    top, bottom, height = seen["picture"]
    assert bottom - top > 150
    assert bottom <= height


def test_every_picture_is_drawn_and_nothing_is_fetched(seen):
    assert all(seen["images"])
    assert len(seen["images"]) > 15
    assert seen["outside"] == 0


def test_figures_on_a_phone_scroll_and_stay_legible(seen):
    is_phone = seen["width"] < 500
    assert min(seen["scales"]) > (0.99 if is_phone else 0.8)
    assert (seen["scrolled"] > 10) == is_phone


def test_it_follows_the_screen(seen):
    assert (seen["paper"] == "rgb(22, 24, 26)") == seen["dark"]
    assert seen["menu"] == (seen["width"] > 1000)


def test_a_section_opens(seen):
    assert seen["opened"] > seen["closed"] + 50


def test_filters_filter(seen):
    verdict, pressed = seen["pressed"]
    every = seen["claims"]
    assert len(every) > 30
    assert pressed == [claim for claim in every if claim[0] == verdict]
    assert seen["both"] == [claim for claim in pressed if claim[1] == "uci_pruning"]
    assert seen["chosen"] == [claim for claim in every if claim[1] == "uci_pruning"]


def test_curves_switch_and_are_read_out_by_keys(seen):
    assert seen["plots"] == 6
    assert len({seen["first"], seen["second"], seen["third"]}) == 3
    assert seen["tip"].startswith("100 % of the weights left")
    assert re.search(r": \d\S* ± \d", seen["tip"])
    assert seen["next"] != seen["tip"]
    assert 1 < seen["lines"] <= seen["curves"]  # each curve that has a point there, also where points coincide
    assert seen["fewer"] == seen["curves"] - 1
