// Curves of error by what is left of the weights, the scoreboard's filters, and the table of contents.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const BOX = { height: 400, left: 62, right: 16, top: 14, bottom: 46 }; // in pixels; as wide as the page
const PRINTED = ["1 4", "8 3 1 3"]; // the paper's own curves, one or two a network
const OWN = "each method's own";
const MARKS = [100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1];

function make(tag, attributes = {}, ...children) {
  const drawn = ["svg", "g", "line", "path", "circle", "text"].includes(tag);
  const node = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// A curve's colour and dashes, as in the plot.
const swatch = ({ colour, dash }) => make("svg", { class: "swatch", style: `stroke: ${colour}; fill: ${colour}` },
  make("line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-width": 2, "stroke-dasharray": dash }),
  make("circle", { cx: 13, cy: 5, r: 3 }));

const short = (value) => String(Number(value.toPrecision(3)));

function choice(label, options, onChange) {
  const select = make("select", {}, ...options.map((text, i) => make("option", { value: i }, text)));
  select.addEventListener("change", onChange);
  return [make("label", {}, `${label} `, select), select];
}

function plot(figure) {
  const { unit, panels, first: shownFirst } = JSON.parse(figure.querySelector("script").textContent);
  const every = panels.flatMap((p) => p.series.map((s) => s.method));
  const hidden = new Set(every.filter((name) => !shownFirst.includes(name)));
  let width;
  let seen; // curves, marks and scales of what is drawn
  let at = null; // the place on the axis that is read out
  const scores = [OWN, ...new Set(panels.flatMap((p) => p.series.map((s) => s.score)).filter(Boolean))];
  const [panelLabel, panel] = choice("network", panels.map((p) => p.title), draw);
  const [scoreLabel, score] = choice("ranked by", scores, draw);
  const logarithmic = make("input", { type: "checkbox", checked: "" });
  logarithmic.addEventListener("change", draw);
  const methods = make("form", { "aria-label": "methods" });
  const stage = make("div", { class: "stage", tabindex: 0, role: "group", "aria-live": "polite",
    "aria-label": `${unit} by weights left; arrow keys read the values out` });
  const caption = figure.querySelector("figcaption");
  caption.before(make("form", {}, panelLabel, scoreLabel, make("label", {}, logarithmic, " logarithmic")), methods, stage);
  stage.addEventListener("pointermove", (event) => read(nearest(event.clientX - stage.getBoundingClientRect().left)));
  stage.addEventListener("pointerdown", (event) => read(nearest(event.clientX - stage.getBoundingClientRect().left)));
  stage.addEventListener("pointerleave", () => read(null));
  stage.addEventListener("blur", () => read(null));
  stage.addEventListener("focus", () => { if (at === null && stage.matches(":focus-visible")) read(0); });
  stage.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    read(at === null ? 0 : Math.min(seen.places.length - 1, Math.max(0, at + step)));
  });
  draw();
  new ResizeObserver(() => { if (stage.clientWidth !== width) draw(); }).observe(stage);

  // Of a method's scores its own is the first: inclusion for sBNN, snr for BbB, magnitude for a deterministic network.
  function chosen(all) {
    const wanted = scores[score.value];
    const first = new Map();
    for (const s of all) if (!first.has(s.method)) first.set(s.method, s);
    return all.filter((s) => s.score === null || (wanted === OWN ? first.get(s.method) === s : s.score === wanted));
  }

  function draw() {
    width = stage.clientWidth;
    at = null;
    const all = panels[panel.value].series;
    const there = chosen(all);
    there.filter((s) => s.note === "printed").forEach((s, i) => { s.dash = PRINTED[i]; });
    listMethods(all, there);
    const shown = there.filter((s) => !hidden.has(s.method));
    const log = logarithmic.checked;
    const points = shown.flatMap((s) => s.points).filter((p) => !log || p[1] > 0);
    stage.replaceChildren();
    if (points.length) stage.append(picture(shown, points, log));
  }

  function listMethods(all, there) {
    methods.replaceChildren();
    for (const name of new Set(all.map((s) => s.method))) {
      const box = make("input", { type: "checkbox" });
      box.checked = !hidden.has(name);
      box.addEventListener("change", () => { hidden[box.checked ? "delete" : "add"](name); draw(); });
      const own = there.find((s) => s.method === name);
      const shown = own ?? all.find((s) => s.method === name);
      const label = make("label", own ? {} : { class: "without" }, box, swatch(shown), name);
      if (shown.note !== "printed") label.append(make("small", {}, ` ${shown.note}`));
      methods.append(label);
    }
  }

  function picture(shown, points, log) {
    const places = [...new Set(points.map((p) => p[0]))].sort((a, b) => b - a);
    const least = Math.log10(places.at(-1));
    const scale = (v) => (log ? Math.log10(v) : v);
    let low = Math.min(...points.map((p) => p[1]));
    let high = Math.max(...points.map((p) => p[1]));
    [low, high] = log ? [low / 1.08, high * 1.08] : [0, high * 1.05];
    const x = (left) => BOX.left + 6 + ((2 - Math.log10(left)) / (2 - least || 1)) * (width - BOX.left - BOX.right - 12);
    const y = (v) => BOX.height - BOX.bottom
      - ((scale(v) - scale(low)) / (scale(high) - scale(low) || 1)) * (BOX.height - BOX.top - BOX.bottom);
    seen = { shown, places, x, y, log };
    const svg = make("svg", { viewBox: `0 0 ${width} ${BOX.height}`, role: "img", "aria-label": unit });
    axes(svg, x, y, low, high, log, 10 ** least);
    for (const s of shown) svg.append(curve(s, x, y, low, high, log));
    return svg;
  }

  function axes(svg, x, y, low, high, log, least) {
    const bottom = BOX.height - BOX.bottom;
    for (const value of ticks(low, high, log)) {
      svg.append(make("line", { class: "grid", x1: BOX.left, x2: width - BOX.right, y1: y(value), y2: y(value) }),
        make("text", { x: BOX.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
    }
    for (const mark of MARKS.filter((m) => m >= 0.99 * least)) {
      svg.append(make("line", { class: "grid", x1: x(mark), x2: x(mark), y1: BOX.top, y2: bottom }),
        make("text", { x: x(mark), y: bottom + 18, "text-anchor": "middle" }, String(mark)));
    }
    const middle = (BOX.left + width) / 2;
    svg.append(make("text", { x: middle, y: BOX.height - 8, "text-anchor": "middle" }, "weights left, %"),
      make("text", { transform: `translate(14 ${bottom / 2}) rotate(-90)`, "text-anchor": "middle" }, unit));
  }

  function curve(s, x, y, low, high, log) {
    const group = make("g", { style: `stroke: ${s.colour}; fill: ${s.colour}` });
    const inside = (v) => Math.min(high, Math.max(low, v));
    const points = s.points.filter((p) => !log || p[1] > 0).sort((a, b) => b[0] - a[0]);
    const path = points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join("");
    group.append(make("path", { d: path, fill: "none", "stroke-width": 1.8, "stroke-dasharray": s.dash }));
    for (const [left, v, se] of points) {
      if (se) group.append(make("line", { x1: x(left), x2: x(left), y1: y(inside(v - se)), y2: y(inside(v + se)) }));
      group.append(make("circle", { cx: x(left), cy: y(v), r: 3.5 }));
    }
    return group;
  }

  function nearest(position) {
    if (!seen) return null;
    const away = seen.places.map((left) => Math.abs(seen.x(left) - position));
    return away.indexOf(Math.min(...away));
  }

  // All values at one place, the lowest first: points that coincide are told apart by their lines of text.
  function read(place) {
    at = place;
    stage.querySelectorAll(".tip, .guide").forEach((node) => node.remove());
    if (place === null || !seen || !stage.firstChild) return;
    const left = seen.places[place];
    const found = seen.shown.flatMap((s) => s.points.filter((p) => p[0] === left).map((p) => ({ s, p })));
    found.sort((a, b) => a.p[1] - b.p[1]);
    const lines = found.map(({ s, p: [, value, se] }) => make("div", {},
      swatch(s), `${s.method}${s.score === null ? "" : `, by ${s.score}`}: ${short(value)}${se === null ? "" : ` ± ${short(se)}`}`));
    const tip = make("div", { class: "tip" }, make("b", {}, `${short(left)} % of the weights left`), ...lines);
    const across = seen.x(left);
    const guide = { class: "guide", x1: across, x2: across, y1: BOX.top, y2: BOX.height - BOX.bottom };
    stage.querySelector("svg").append(make("line", guide));
    stage.append(tip);
    const beside = across + 12 + tip.offsetWidth < width ? across + 12 : across - 12 - tip.offsetWidth;
    tip.style.left = `${Math.max(0, beside)}px`;
  }
}

// Round values between two ends, fewer where they would crowd.
function ticks(low, high, log) {
  if (!log || high / low < 3) {
    const step = 10 ** Math.floor(Math.log10((high - low) / 4 || 1));
    const wide = [1, 2, 5, 10].map((k) => k * step).find((s) => (high - low) / s <= 6);
    return Array.from({ length: 12 }, (_, i) => (Math.ceil(low / wide) + i) * wide).filter((v) => v <= high);
  }
  const factors = high / low > 1000 ? [1] : high / low > 20 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 6, 8];
  const found = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++) {
    for (const f of factors) if (f * 10 ** k >= low && f * 10 ** k <= high) found.push(f * 10 ** k);
  }
  return found;
}

// The scoreboard: the verdicts that are pressed, none being all, of one experiment or of all.
function filters(board) {
  const pressed = [...board.querySelectorAll("button")];
  const wanted = board.querySelector("select");
  const show = () => {
    const verdicts = pressed.filter((b) => b.ariaPressed === "true").map((b) => b.value);
    for (const claim of board.querySelectorAll(".claim")) {
      const { verdict, experiment } = claim.dataset;
      claim.hidden = (verdicts.length && !verdicts.includes(verdict)) || (wanted.value && wanted.value !== experiment);
    }
  };
  for (const button of pressed) {
    button.addEventListener("click", () => { button.ariaPressed = String(button.ariaPressed !== "true"); show(); });
  }
  wanted.addEventListener("change", show);
}

// Beside the text where there is room, else a menu that closes when something of it is chosen.
function contents(menu) {
  const wide = matchMedia("(min-width: 75rem)");
  const fit = () => { menu.open = wide.matches; };
  wide.addEventListener("change", fit);
  menu.addEventListener("click", (event) => { if (event.target.matches("a") && !wide.matches) menu.open = false; });
  fit();
}

document.querySelectorAll("figure.plot").forEach(plot);
document.querySelectorAll(".scoreboard").forEach(filters);
document.querySelectorAll("nav details").forEach(contents);
