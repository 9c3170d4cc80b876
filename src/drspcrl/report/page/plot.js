// Axes, the frame of a chart, and what hovering or the arrow keys show.
function niceTicks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(+(i * step).toPrecision(12));
  return ticks;
}

function extent(values, pad = 0.05) {
  const finite = values.filter((v) => v !== null && Number.isFinite(v));
  if (!finite.length) return [0, 1];
  let low = finite.reduce((a, b) => Math.min(a, b));
  let high = finite.reduce((a, b) => Math.max(a, b));
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
  const space = pad * (high - low);
  return [low - space, high + space];
}

// Everything that is drawn is inside the frame: a cut interval would be another one than the table's.
function fitted(estimates, pad = 0.05, least = -Infinity, others = []) {
  const ends = estimates.flatMap((e) => [e[0], ...reachOf(e).map((end) => Math.max(end, least))]);
  return extent(ends.concat(others), pad);
}

let frames = 0;

class Frame {
  constructor(host, { label, xLabel, yLabel, xDomain, yDomain, left = 62, height = 290, xTicks, xFormat = short, yFormat = short }) {
    this.host = host;
    this.width = Math.max(260, host.clientWidth);
    this.height = height;
    this.box = { left, right: this.width - 14, top: 10, bottom: height - 42 };
    this.xDomain = xDomain;
    this.yDomain = yDomain;
    this.svg = shape("svg", { viewBox: `0 0 ${this.width} ${height}`, height, role: "img", tabindex: "0", "aria-label": `${label}. Arrow keys step through the values.` });
    this.drawX(xTicks || niceTicks(...xDomain, Math.max(4, Math.floor(this.width / 110))), xFormat, xLabel);
    if (yDomain) this.drawY(yFormat, yLabel);
    const clip = `frame-${frames++}`;
    const { right, top, bottom } = this.box;
    this.svg.append(shape("clipPath", { id: clip }, shape("rect", { x: left - 1, y: top - 1, width: right - left + 8, height: bottom - top + 2 })));
    this.inside = shape("g", { "clip-path": `url(#${clip})` });
    this.svg.append(this.inside);
    host.replaceChildren(this.svg);
  }

  x(value) {
    const [low, high] = this.xDomain;
    return this.box.left + ((value - low) / (high - low)) * (this.box.right - this.box.left);
  }

  y(value) {
    const [low, high] = this.yDomain;
    return this.box.bottom - ((value - low) / (high - low)) * (this.box.bottom - this.box.top);
  }

  drawX(ticks, format, label) {
    const { left, right, top, bottom } = this.box;
    for (const tick of ticks) {
      const at = this.x(tick);
      if (at < left - 1 || at > right + 1) continue;
      this.svg.append(shape("line", { x1: at, x2: at, y1: top, y2: bottom, class: "gridline" }));
      this.svg.append(shape("text", { x: at, y: bottom + 17, "text-anchor": "middle", class: "tick" }, format(tick)));
    }
    this.svg.append(shape("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "baseline" }));
    this.svg.append(shape("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle", class: "axis" }, label));
  }

  drawY(format, label) {
    const { left, right, top, bottom } = this.box;
    for (const tick of niceTicks(...this.yDomain, 5)) {
      const at = this.y(tick);
      if (at < top - 1 || at > bottom + 1) continue;
      this.svg.append(shape("line", { x1: left, x2: right, y1: at, y2: at, class: "gridline" }));
      this.svg.append(shape("text", { x: left - 8, y: at + 4, "text-anchor": "end", class: "tick" }, format(tick)));
    }
    this.svg.append(shape("text", { transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" }, label));
  }

  // A stop is a place that can be pointed at: {x, y?, title, rows: [{method, estimate, format}]}.
  hover(stops) {
    if (!stops.length) return;
    const cursor = shape("line", { class: "cursor", y1: this.box.top, y2: this.box.bottom, visibility: "hidden" });
    const halo = shape("circle", { r: 9, fill: "none", class: "cursor", visibility: "hidden" });
    this.svg.append(cursor, halo);
    let current = -1;
    const show = (index, spoken) => {
      current = index;
      const stop = stops[index];
      const flat = stop.y === undefined;
      cursor.setAttribute("visibility", flat ? "visible" : "hidden");
      halo.setAttribute("visibility", flat ? "hidden" : "visible");
      cursor.setAttribute("x1", stop.x);
      cursor.setAttribute("x2", stop.x);
      halo.setAttribute("cx", stop.x);
      halo.setAttribute("cy", stop.y ?? 0);
      const box = this.svg.getBoundingClientRect();
      const scale = box.width / this.width;
      showTip(stop, box.left + stop.x * scale, box.top + (stop.y ?? this.box.top + 30) * scale);
      if (spoken) byId("live").textContent = tipText(stop);
    };
    const hide = () => {
      current = -1;
      cursor.setAttribute("visibility", "hidden");
      halo.setAttribute("visibility", "hidden");
      byId("tip").hidden = true;
    };
    const nearest = (event) => {
      const box = this.svg.getBoundingClientRect();
      const scale = this.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      const far = (s) => (s.y === undefined ? Math.abs(s.x - x) : Math.hypot(s.x - x, s.y - y));
      show(stops.reduce((best, s, i) => (far(s) < far(stops[best]) ? i : best), 0), false);
    };
    this.svg.addEventListener("pointermove", nearest);
    this.svg.addEventListener("pointerdown", nearest);
    this.svg.addEventListener("pointerleave", hide);
    this.svg.addEventListener("blur", hide);
    this.svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
      if (event.key === "Escape") return hide();
      const target = event.key === "Home" ? 0 : event.key === "End" ? stops.length - 1 : step ? (current < 0 ? 0 : current + step) : null;
      if (target === null) return;
      event.preventDefault();
      show(Math.min(stops.length - 1, Math.max(0, target)), true);
    });
  }
}

function tipCells({ method, estimate, format = decimal, tag }) {
  const half = halfWidth(estimate);
  const symmetric = half !== null && Math.abs(estimate[2] - estimate[0] - half) < 1e-4 * (Math.abs(estimate[0]) + half);
  const seeds = seedsIn(estimate);
  const interval = seeds.length > 1 ? `seeds ${seeds.map((s) => format(s)).join(" · ")}` : half === null ? "no interval" : symmetric ? `± ${format(half).replace("+", "")}` : `${format(estimate[1])} to ${format(estimate[2])}`;
  const name = DATA.methods[method].label;
  return [tag ? `${name} (${tag})` : name, format(estimate[0]), interval, `n = ${estimate[3]}`];
}

const tipText = (stop) => `${stop.title}: ${stop.rows.map((row) => tipCells(row).join(" ")).join("; ")}`;

function showTip(stop, x, y) {
  const tip = byId("tip");
  const table = element("table");
  for (const row of stop.rows) {
    const line = element("tr", {}, element("td", {}, swatch(row.method)));
    for (const text of tipCells(row)) line.append(element("td", {}, text));
    table.append(line);
  }
  tip.replaceChildren(element("strong", {}, stop.title), table);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
  tip.style.left = `${Math.max(6, Math.min(left, innerWidth - width - 6))}px`;
  tip.style.top = `${Math.max(6, Math.min(y - height / 3, innerHeight - height - 6))}px`;
}

function nothing(host, words) {
  host.replaceChildren(element("div", { class: "empty" }, words));
}
