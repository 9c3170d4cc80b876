// Elements, numbers and the state of the page. Text from run folders only ever becomes textContent.
const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const minus = (text) => text.replace("-", "−");

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return minus(`${+(value / 1e6).toPrecision(3)}M`);
  if (size >= 1e4) return minus(`${+(value / 1e3).toPrecision(3)}k`);
  return minus(`${+value.toPrecision(4)}`);
}

function decimal(value) {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return minus(value.toLocaleString("en", { maximumFractionDigits: 0 }));
  return minus(size >= 10 ? value.toFixed(1) : size === 0 ? "0" : `${+value.toPrecision(3)}`);
}

const percent = (value) =>
  value === null ? "–" : minus(`${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}%`);

// An estimate travels as [value, low, high, n].
const halfWidth = (e) => (e && e[1] !== null && e[2] !== null ? (e[2] - e[1]) / 2 : null);

// Of few seeds a fifth part holds the seeds themselves: they are drawn, and no interval.
const isFew = (e) => e[3] < DATA.few;
const drawnInterval = (e) => (e[1] === null || e[2] === null || isFew(e) ? null : [e[1], e[2]]);
const seedsIn = (e) => (isFew(e) && e[4] ? e[4] : []);
const reachOf = (e) => drawnInterval(e) || seedsIn(e);

const dark = () => document.documentElement.dataset.theme === "dark";
const colour = (method) => (dark() ? DATA.methods[method].dark : DATA.methods[method].light);

const POLYGONS = {
  s: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  "^": [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]],
  v: [[0, 1.2], [1.15, -0.9], [-1.15, -0.9]],
  "<": [[-1.2, 0], [0.9, 1.15], [0.9, -1.15]],
  ">": [[1.2, 0], [-0.9, 1.15], [-0.9, -1.15]],
  D: [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]],
  d: [[0, -1.4], [0.85, 0], [0, 1.4], [-0.85, 0]],
  P: [[-0.45, -1.25], [0.45, -1.25], [0.45, -0.45], [1.25, -0.45], [1.25, 0.45], [0.45, 0.45], [0.45, 1.25], [-0.45, 1.25], [-0.45, 0.45], [-1.25, 0.45], [-1.25, -0.45], [-0.45, -0.45]],
};
POLYGONS.X = POLYGONS.x = POLYGONS.P.map(([x, y]) => [(x - y) * 0.75, (x + y) * 0.75]);
const ring = (corners, start, radius) =>
  Array.from({ length: corners }, (_, i) => {
    const angle = start + (2 * Math.PI * i) / corners;
    const r = radius[i % radius.length];
    return [r * Math.sin(angle), -r * Math.cos(angle)];
  });
POLYGONS["*"] = ring(10, 0, [1.75, 0.72]);
POLYGONS.h = ring(6, 0, [1.25]);
POLYGONS.H = ring(6, Math.PI / 6, [1.25]);
POLYGONS.p = ring(5, 0, [1.3]);
POLYGONS[8] = ring(8, Math.PI / 8, [1.2]);
POLYGONS["."] = ring(16, 0, [0.7]);

function marker(method, x, y, size = 4) {
  const look = DATA.methods[method];
  const paint = { fill: colour(method), stroke: "var(--card)", "stroke-width": 1 };
  const corners = POLYGONS[look.marker];
  if (!corners) return shape("circle", { cx: x, cy: y, r: size * 1.1, ...paint });
  const points = corners.map(([dx, dy]) => `${(x + size * dx).toFixed(2)},${(y + size * dy).toFixed(2)}`);
  return shape("polygon", { points: points.join(" "), ...paint });
}

function swatch(method) {
  const look = DATA.methods[method];
  const icon = shape("svg", { width: 24, height: 12, viewBox: "0 0 24 12", class: "swatch", "aria-hidden": "true" });
  icon.append(shape("line", { x1: 1, y1: 6, x2: 23, y2: 6, stroke: colour(method), "stroke-width": 2, "stroke-dasharray": look.dash }));
  icon.append(marker(method, 12, 6, 3.3));
  return icon;
}

const state = { task: 0, algorithm: 0, perturbation: 0, suite: 0, metric: "epsilon", focus: DATA.focus, hidden: new Set(), at: "" };
const shown = (method) => !state.hidden.has(method);
const suite = () => DATA.suites[state.suite] || null;

function entries() {
  const here = suite();
  if (!here) return [];
  return here.entries.filter((e) => e.a === state.algorithm && e.t === state.task);
}

function curves() {
  return DATA.curves.find((c) => c.a === state.algorithm && c.t === state.task) || null;
}

function aggregate() {
  const here = suite();
  return here ? here.aggregates.find((x) => x.a === state.algorithm) || null : null;
}
