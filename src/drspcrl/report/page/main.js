// Controls, the state in the address, and drawing everything again when it changes.
const band = (mean, half, n) => mean.map((v, i) => (v === null ? null : [v, half[i] === null ? null : v - half[i], half[i] === null ? null : v + half[i], Array.isArray(n) ? n[i] : n]));

function metricSeries(metric) {
  const here = curves();
  if (!here) return [];
  const count = here.points;
  const steps = Array.from({ length: count }, (_, i) => Math.round(((i + 1) * here.last) / count));
  return here.methods
    .filter((c) => shown(c.m) && c[metric])
    .map((c) => ({ method: c.m, x: steps, values: band(...c[metric]), seeds: c[metric][3] }));
}

const METRICS = {
  epsilon: { title: "Robustness budget ε", symbol: "ε", note: "Radius ε of what is trained against, over the same steps." },
  price: { title: "Price of robustness", symbol: "price", note: "Share of the value that a larger ε would cost, per unit of ε, over the same steps." },
  beta: { title: "Dual variable β", symbol: "β", note: "Dual variable β of the worst case, over the same steps." },
};
const hasMetric = (metric) => DATA.curves.some((c) => c.methods.some((m) => m[metric]));

// What is drawn around means of these estimates, in words.
function aroundMeans(estimates, whole) {
  const few = estimates.filter((e) => e && isFew(e)).length;
  const all = few === estimates.filter(Boolean).length;
  return !few ? whole : all ? `every seed drawn (fewer than ${DATA.few})` : `${whole}; every seed drawn where fewer than ${DATA.few}`;
}

function drawTraining() {
  const here = `${DATA.tasks[state.task]}, ${DATA.algorithms[state.algorithm]}`;
  const returns = metricSeries("episode_return");
  const words = aroundMeans(returns.flatMap((s) => s.values), "Student t 95% band");
  byId("training-note").textContent = returns.length ? `${here}: mean over seeds, ${words}.` : "";
  const { title, symbol, note } = METRICS[state.metric];
  byId("pace-note").textContent = note;
  byId("pace-title").textContent = title;
  const shared = { xLabel: "environment steps", title: (x) => `${x.toLocaleString("en")} steps`, none: "No training curve for this choice" };
  lineChart(byId("return-chart"), returns, { ...shared, label: `Training return, ${here}`, yLabel: "return" });
  lineChart(byId("pace-chart"), metricSeries(state.metric), { ...shared, label: `${symbol} during training, ${here}`, yLabel: symbol, least: 0, none: `No ${symbol} curve for this choice` });
}

function drawRobustness() {
  const here = suite();
  const host = byId("robustness-chart");
  const kind = here && here.perturbations[state.perturbation];
  if (!kind) return nothing(host, "These runs have not been evaluated: drspcrl evaluate");
  const places = here.settings.map(([p], i) => (p === state.perturbation ? i : -1)).filter((i) => i >= 0);
  const levels = places.map((i) => here.settings[i][1]);
  const series = [];
  for (const e of entries().filter((row) => shown(row.m))) {
    series.push({ method: e.m, x: [0, ...levels], values: [e.nominal, ...places.map((i) => e.cells[i])], markers: true });
    if (e.paper) series.push({ method: e.m, x: levels, values: places.map((i) => e.paper[i]), markers: true, faint: true, dash: "4 4", tag: "paper" });
  }
  const words = aroundMeans(series.filter((s) => !s.faint).flatMap((s) => s.values), "Student t 95% bars");
  byId("robustness-note").textContent = `${DATA.tasks[state.task]}, ${DATA.algorithms[state.algorithm]}: mean over seeds, ${words}${DATA.compare ? "; dashed: the paper" : ""}.`;
  const nameAt = (x) => (x === 0 ? "Unperturbed" : `${kind.name}, ${kind.symbol ? `${kind.symbol} = ` : "level "}${x}`);
  lineChart(host, series, { label: `Return under ${kind.name}`, xLabel: kind.label, yLabel: "return", title: nameAt, xTicks: [0, ...levels], none: "No evaluation for this choice" });
}

function drawFrontier() {
  const points = entries().filter((e) => shown(e.m) && e.nominal && e.mean).map((e) => ({ method: e.m, x: e.nominal, y: e.mean, seeds: e.points }));
  const words = aroundMeans(points.flatMap((p) => [p.x, p.y]), "Student t 95% bars");
  byId("frontier-note").textContent = `Mean return over all perturbed settings against unperturbed return; up and right is better; ${words}.`;
  crossChart(byId("frontier-chart"), points, { label: "Return under perturbation against unperturbed return", xLabel: "unperturbed return", yLabel: "mean over all settings (M)", none: "No evaluation for this choice" });
}

function drawAggregates() {
  const here = aggregate();
  const name = DATA.algorithms[state.algorithm];
  byId("profile-note").textContent = here ? `${name}, all tasks: share of scores above τ; ${here.scale}; ${bootstrapped(here.profiles.some((p) => p.low), "band")}. ${here.leftOut}` : "";
  const profiles = here ? here.profiles.filter((p) => shown(p.m)).map((p) => ({ method: p.m, x: here.thresholds, values: p.share.map((v, i) => [v, p.low ? p.low[i] : null, p.high ? p.high[i] : null, p.n]) })) : [];
  lineChart(byId("profile-chart"), profiles, { label: `Performance profiles, ${name}`, xLabel: "threshold τ", yLabel: "share of scores > τ", yDomain: [-0.02, 1.02], title: (x) => `τ = ${decimal(x)}`, format: (v) => v.toFixed(2), none: "No scores on a common scale: this needs vanilla's unperturbed return and a known task" });
  const focus = DATA.methods[state.focus];
  const rows = here ? here.improvement.filter((p) => p[0] === state.focus && shown(p[1])).map((p) => ({ method: p[1], estimate: p.slice(2) })) : [];
  const words = bootstrapped(rows.some((row) => row.estimate[1] !== null), "interval");
  byId("improvement-note").textContent = focus ? `${name}, all tasks: how often a run of ${focus.label} beats a run of the other method; ${words}.` : "";
  dotChart(byId("improvement-chart"), rows, { label: "Probability of improvement", xLabel: focus ? `P(${focus.label} > other)` : "", title: (other) => `${focus.label} against ${other}`, none: "No other method to compare with" });
}

const bootstrapped = (whole, what) => (whole ? `bootstrap 95% ${what} over seeds` : `fewer than ${DATA.few} seeds: no ${what}`);

function drawHeadline() {
  const here = suite();
  const cards = (here ? here.headline : []).map(({ title, value, interval, detail, paper }) => {
    const card = element("div", { class: "figure" }, element("h3", {}, title), element("div", { class: "value" }, value));
    for (const line of [interval, detail, paper]) if (line) card.append(element("p", { class: "soft" }, line));
    return card;
  });
  byId("headline").replaceChildren(...cards);
}

function drawTables() {
  const here = suite();
  byId("cells-title").textContent = `Returns: ${DATA.tasks[state.task] ?? ""}, ${DATA.algorithms[state.algorithm] ?? ""}`;
  byId("cells-note").textContent = here && here.perturbations.length ? `${here.perturbations[state.perturbation].name}. Best bold, second underlined among all methods; ± half-width of the 95% interval. Click a heading to sort.` : "";
  drawCells();
  drawMeans();
}

function draw() {
  byId("tip").hidden = true;
  drawChips();
  drawHeadline();
  drawTraining();
  drawRobustness();
  drawFrontier();
  drawAggregates();
  drawTables();
  drawLinks();
  drawWords();
}

function drawCharts() {
  drawTraining();
  drawRobustness();
  drawFrontier();
  drawAggregates();
}

function drawChips() {
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.method : undefined;
  const chips = DATA.methods.map((method, i) => {
    const chip = element("button", { type: "button", class: "chip", "aria-pressed": String(shown(i)), "data-method": i, title: `${shown(i) ? "Hide" : "Show"} ${method.label}: ${method.words}` }, swatch(i), element("span", {}, method.label));
    chip.addEventListener("click", () => {
      if (shown(i)) state.hidden.add(i);
      else state.hidden.delete(i);
      changed();
    });
    return chip;
  });
  byId("methods").replaceChildren(...chips);
  if (focused !== undefined && chips[focused]) chips[focused].focus();
}

function fill(select, labels, value) {
  select.replaceChildren(...labels.map((label, i) => element("option", { value: i }, label)));
  select.value = String(value);
}

function fillPerturbations() {
  const here = suite();
  const labels = here ? here.perturbations.map((p) => p.label) : [];
  if (state.perturbation >= labels.length) state.perturbation = 0;
  fill(byId("perturbation"), labels, state.perturbation);
}

function changed() {
  const parts = ["task", "algorithm", "perturbation", "suite", "focus"].map((key) => `${key}=${state[key]}`);
  parts.push(`metric=${state.metric}`, `hidden=${[...state.hidden].join(".")}`);
  if (state.at) parts.push(`at=${state.at}`);
  try {
    history.replaceState(null, "", `#${parts.join("&")}`);
  } catch {
    // Some viewers forbid it for pages from disk; the page works without.
  }
  draw();
}

function restore() {
  const given = new URLSearchParams(location.hash.slice(1));
  const limits = { task: DATA.tasks.length, algorithm: DATA.algorithms.length, perturbation: 99, suite: DATA.suites.length, focus: DATA.methods.length };
  for (const [key, limit] of Object.entries(limits)) {
    const value = Number(given.get(key) ?? NaN);
    if (Number.isInteger(value) && value >= 0 && value < limit) state[key] = value;
  }
  const metrics = Object.keys(METRICS).filter(hasMetric);
  state.metric = metrics.includes(given.get("metric")) ? given.get("metric") : metrics[0] || "epsilon";
  const at = given.get("at");
  if ([...document.querySelectorAll("section.card[id]")].some((card) => card.id === at)) state.at = at;
  for (const part of (given.get("hidden") || "").split(".")) if (/^\d+$/.test(part) && +part < DATA.methods.length) state.hidden.add(+part);
}

function setUpControls() {
  fill(byId("task"), DATA.tasks, state.task);
  fill(byId("algorithm"), DATA.algorithms, state.algorithm);
  fill(byId("suite"), DATA.suites.map((s) => s.name), state.suite);
  fill(byId("focus"), DATA.methods.map((m) => m.label), state.focus);
  fillPerturbations();
  byId("suite-label").hidden = DATA.suites.length < 2;
  for (const key of ["task", "algorithm", "perturbation", "suite", "focus"]) {
    byId(key).addEventListener("change", (event) => {
      state[key] = Number(event.target.value);
      if (key === "suite") fillPerturbations();
      changed();
    });
  }
  const buttons = [...document.querySelectorAll("[data-metric]")];
  const press = () => buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.metric === state.metric)));
  for (const button of buttons) button.hidden = !hasMetric(button.dataset.metric);
  for (const button of buttons) button.addEventListener("click", () => { state.metric = button.dataset.metric; press(); changed(); });
  press();
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}

function setUpTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const paper = matchMedia("print");
  try { chosen = localStorage.getItem("drspcrl-theme"); } catch { /* storage may be closed to pages from disk */ }
  const apply = () => { document.documentElement.dataset.theme = printing ? "light" : chosen || (system.matches ? "dark" : "light"); };
  // Paper is light, and every list is open on it.
  let printing = paper.matches;
  const print = (begins) => {
    printing = begins;
    apply();
    if (begins) document.querySelectorAll("details").forEach((details) => { details.open = true; });
    draw();
  };
  paper.addEventListener("change", () => print(paper.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  apply();
  system.addEventListener("change", () => { apply(); draw(); });
  byId("theme").addEventListener("click", () => {
    chosen = dark() ? "light" : "dark";
    try { localStorage.setItem("drspcrl-theme", chosen); } catch { /* as above */ }
    apply();
    draw();
  });
}

function writeNotes() {
  byId("subtitle").textContent = DATA.subtitle;
  for (const name of ["banner", "note"]) {
    byId(name).textContent = DATA[name];
    byId(name).hidden = !DATA[name];
  }
  const host = byId("notes");
  host.append(element("p", {}, "Command: ", element("code", {}, DATA.command)));
  for (const text of DATA.about) host.append(element("p", {}, text));
  for (const { title, items, open } of DATA.lists) {
    const details = element("details", open ? { open: "" } : {}, element("summary", {}, `${title} (${items.length})`));
    details.append(element("ul", {}, ...items.map((item) => element("li", {}, item))));
    host.append(details);
  }
}

function fileLinks(file) {
  return file.endings.flatMap((ending) => [" ", element("a", { href: `${file.path}.${ending}`, download: "" }, ending.toUpperCase())]);
}

// Under every part: a link to it with the present choice, and the files that show the same.
function drawLinks() {
  for (const line of document.querySelectorAll(".links")) {
    const kinds = line.dataset.files.replace("@metric", state.metric).split(" ");
    const card = line.closest("section");
    const here = element("a", { href: `#at=${card.id}`, class: "here" }, "Link to this");
    here.addEventListener("click", (event) => {
      event.preventDefault();
      state.at = card.id;
      changed();
      byId("live").textContent = "The address of this page now leads here.";
    });
    const fits = (file) => kinds.includes(file.kind) && (file.a < 0 || file.a === state.algorithm) && (file.s < 0 || file.s === state.suite);
    const files = DATA.files.filter(fits).map((file) => element("span", { title: file.title }, `${file.path.startsWith("tables/") ? "Table" : "Figure"}:`, ...fileLinks(file)));
    line.replaceChildren(here, ...files);
  }
}

function drawWords() {
  const parts = [["Task", DATA.tasks[state.task]], ["Algorithm", DATA.algorithms[state.algorithm]], ["Suite", suite() ? suite().name : ""], ["Perturbation", suite() && suite().perturbations[state.perturbation] ? suite().perturbations[state.perturbation].name : ""]];
  byId("choice").textContent = parts.filter(([, value]) => value).map(([name, value]) => `${name}: ${value}`).join(" · ");
  const words = DATA.methods.flatMap((method, i) => [element("dt", {}, swatch(i), method.label), element("dd", {}, method.words)]);
  byId("method-words").replaceChildren(...words);
}

// Policies trained elsewhere have no curves: two empty cards would say nothing.
function hideCurves() {
  if (DATA.curves.length) return;
  byId("training").parentElement.hidden = true;
  document.querySelector(".skip").setAttribute("href", "#robustness");
}

function writeFiles() {
  byId("file-list").append(...DATA.files.map((file) => element("li", {}, `${file.title}${file.s > 0 ? ` (${DATA.suites[file.s].name})` : ""}:`, ...fileLinks(file))));
  byId("files").hidden = !DATA.files.length;
}

function writeStress() {
  const { columns, rows, notes } = DATA.stress;
  if (!rows.length && !notes.length) return;
  const line = (tag, cells) => element("tr", {}, ...cells.map((cell) => element(tag, tag === "th" ? { scope: "col" } : {}, cell)));
  if (rows.length) byId("stress-table").append(element("thead", {}, line("th", columns)), element("tbody", {}, ...rows.map((row) => line("td", row))));
  byId("stress-notes").append(...notes.map((note) => element("p", { class: "soft" }, note)));
  byId("stress").hidden = false;
}

setUpTheme();
restore();
setUpControls();
writeNotes();
writeStress();
writeFiles();
hideCurves();
draw();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address keeps the choice
  const first = byId(DATA.curves.length ? "training" : "robustness");
  first.scrollIntoView();
  first.querySelector("svg, a").focus();
});
if (state.at) byId(state.at).scrollIntoView();
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  requestAnimationFrame(drawCharts);
});
document.documentElement.dataset.ready = "true";
