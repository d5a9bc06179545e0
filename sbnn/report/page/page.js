// Error-by-droprate plots: hover or focus a point for value ± standard error, choose network, score and methods.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const BOX = { height: 400, left: 62, right: 16, top: 14, bottom: 46 }; // in pixels; as wide as the page
const RADIUS = matchMedia("(pointer: coarse)").matches ? 7 : 4;
const PRINTED = ["1 4", "8 3 1 3"]; // the paper's own curves, one or two a network
const DASHES = { inclusion: "", snr: "6 4", magnitude: "2 3" };
const OWN = "each method's own";

function make(tag, attributes = {}, ...children) {
  const node = ["svg", "g", "line", "path", "circle", "text"].includes(tag)
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const short = (value) => String(Number(value.toPrecision(3)));
const percent = (droprate) => `${Number((100 * droprate).toFixed(2))} %`;

function choice(label, options, onChange) {
  const select = make("select", {}, ...options.map((text, i) => make("option", { value: i }, text)));
  select.addEventListener("change", onChange);
  return [make("label", {}, `${label} `, select), select];
}

function plot(figure) {
  const { unit, panels } = JSON.parse(figure.querySelector("script").textContent);
  const hidden = new Set();
  let width;
  const scores = [OWN, ...new Set(panels.flatMap((p) => p.series.map((s) => s.score)).filter(Boolean))];
  const [panelLabel, panel] = choice("network", panels.map((p) => p.title), draw);
  const [scoreLabel, score] = choice("ranked by", scores, draw);
  const logarithmic = make("input", { type: "checkbox", checked: "" });
  logarithmic.addEventListener("change", draw);
  const methods = make("form", { "aria-label": "methods" });
  const stage = make("div", { class: "stage" });
  figure.append(make("form", {}, panelLabel, scoreLabel, make("label", {}, logarithmic, " logarithmic")), methods, stage,
    make("figcaption", {}, "Error as weights are pruned, ± standard error; hover over a point, or tap it."));
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
    const all = panels[panel.value].series;
    const there = chosen(all);
    listMethods(all, there);
    there.filter((s) => s.score === null).forEach((s, i) => { s.place = i; });
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
      const colour = all.find((s) => s.method === name).colour;
      const swatch = make("span", { class: "swatch", style: `background: ${colour}` });
      const label = make("label", there.some((s) => s.method === name) ? {} : { class: "without" }, box, swatch, name);
      methods.append(label);
    }
  }

  function picture(shown, points, log) {
    const deep = Math.max(...points.map((p) => p[0])) > 0.96; // then each decade of what is left is as wide
    const reach = (d) => (deep ? -Math.log10(1 - d) : d);
    const furthest = Math.max(...points.map((p) => reach(p[0]))) || 1;
    const scale = (v) => (log ? Math.log10(v) : v);
    let low = Math.min(...points.map((p) => p[1]));
    let high = Math.max(...points.map((p) => p[1]));
    [low, high] = log ? [low / 1.08, high * 1.08] : [0, high * 1.05];
    const x = (d) => BOX.left + (reach(d) / furthest) * (width - BOX.left - BOX.right);
    const y = (v) => BOX.height - BOX.bottom
      - ((scale(v) - scale(low)) / (scale(high) - scale(low) || 1)) * (BOX.height - BOX.top - BOX.bottom);
    const svg = make("svg", { viewBox: `0 0 ${width} ${BOX.height}`, role: "img", "aria-label": unit });
    axes(svg, x, y, low, high, log, [...new Set(points.map((p) => p[0]))].sort((a, b) => a - b));
    for (const s of shown) svg.append(curve(s, x, y, low, high, log));
    return svg;
  }

  function axes(svg, x, y, low, high, log, droprates) {
    const bottom = BOX.height - BOX.bottom;
    for (const value of ticks(low, high, log)) {
      svg.append(make("line", { class: "grid", x1: BOX.left, x2: width - BOX.right, y1: y(value), y2: y(value) }),
        make("text", { x: BOX.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
    }
    let last = -Infinity;
    for (const d of droprates) {
      if (x(d) - last < 34) continue;
      last = x(d);
      svg.append(make("text", { x: x(d), y: bottom + 18, "text-anchor": "middle" }, percent(d).replace(" %", "")));
    }
    svg.append(make("text", { x: (BOX.left + width) / 2, y: BOX.height - 8, "text-anchor": "middle" },
      "weights pruned, %"),
    make("text", { transform: `translate(14 ${bottom / 2}) rotate(-90)`, "text-anchor": "middle" }, unit));
  }

  function curve(s, x, y, low, high, log) {
    const group = make("g", { stroke: s.colour, fill: s.colour });
    const inside = (v) => Math.min(high, Math.max(low, v));
    const points = s.points.filter((p) => !log || p[1] > 0).sort((a, b) => a[0] - b[0]);
    const path = points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join("");
    group.append(make("path", { d: path, fill: "none", "stroke-width": 1.8,
      "stroke-dasharray": s.score === null ? PRINTED[s.place] : DASHES[s.score] }));
    for (const [d, value, se] of points) {
      if (se) {
        group.append(make("line", { x1: x(d), x2: x(d), y1: y(inside(value - se)), y2: y(inside(value + se)) }));
      }
      const error = se === null ? "" : ` ± ${short(se)}`;
      const by = s.score === null ? "" : `, by ${s.score}`;
      const words = `${s.method}${by}: ${short(value)}${error} at ${percent(d)}`;
      const dot = make("circle", { cx: x(d), cy: y(value), r: RADIUS, tabindex: 0, "aria-label": words });
      for (const event of ["pointerenter", "focus"]) dot.addEventListener(event, () => tip(words, x(d), y(value)));
      for (const event of ["pointerleave", "blur"]) dot.addEventListener(event, () => tip(null));
      group.append(dot);
    }
    return group;
  }

  function tip(words, left, top) {
    stage.querySelector(".tip")?.remove();
    if (words === null) return;
    const box = make("div", { class: "tip", style: `top: ${top + 10}px` }, words);
    stage.append(box);
    box.style.left = `${Math.max(0, Math.min(left + 10, stage.clientWidth - box.offsetWidth))}px`;
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

document.querySelectorAll("figure.plot").forEach(plot);
