// The charts: lines with bands, points with crosses, and the probability of improvement.
function runsOf(points) {
  // Split where a value is missing, so that no line is drawn across a gap.
  const pieces = [[]];
  for (const point of points) {
    if (point.some((v) => v === null || !Number.isFinite(v))) pieces.push([]);
    else pieces[pieces.length - 1].push(point);
  }
  return pieces.filter((piece) => piece.length);
}

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

// series: {method, x, values: [estimate or null], markers, dash, faint, tag}
function lineChart(host, series, options) {
  if (!series.length) return nothing(host, options.none);
  const all = series.flatMap((s) => s.values.filter(Boolean));
  const xs = [...new Set(series.flatMap((s) => s.x))].sort((a, b) => a - b);
  const frame = new Frame(host, {
    ...options,
    xDomain: options.xDomain || extent(xs, 0.02),
    yDomain: options.yDomain || fitted(all, 0.05, options.least, series.flatMap((s) => (s.seeds || []).flat())),
  });
  const order = [...series].sort((a, b) => (a.method === DATA.focus) - (b.method === DATA.focus));
  for (const s of order) drawBand(frame, s);
  for (const s of order) drawSeeds(frame, s);
  for (const s of order) drawLine(frame, s);
  frame.hover(xs.map((x) => lineStop(frame, series, x, options)).filter((stop) => stop.rows.length));
}

function drawBand(frame, s) {
  if (s.markers) return;
  const points = s.values.map((e, i) => (e && drawnInterval(e) ? [s.x[i], e[1], e[2]] : [null]));
  for (const piece of runsOf(points)) {
    const upper = piece.map(([x, , high]) => [frame.x(x), frame.y(high)]);
    const lower = piece.map(([x, low]) => [frame.x(x), frame.y(low)]).reverse();
    frame.inside.append(shape("path", { d: `${path([...upper, ...lower])}Z`, fill: colour(s.method), opacity: 0.13 }));
  }
}

function drawSeeds(frame, s) {
  for (const seed of s.seeds || []) {
    for (const piece of runsOf(seed.map((v, i) => [s.x[i], v]))) {
      const d = path(piece.map(([x, y]) => [frame.x(x), frame.y(y)]));
      frame.inside.append(shape("path", { d, fill: "none", stroke: colour(s.method), "stroke-width": 1, opacity: 0.35, class: "seed" }));
    }
  }
}

const dot = (method, x, y) => shape("circle", { cx: x, cy: y, r: 2.6, fill: colour(method), opacity: 0.5, class: "seed" });

function drawLine(frame, s) {
  const focus = s.method === DATA.focus;
  const points = s.values.map((e, i) => (e ? [s.x[i], e[0]] : [null]));
  for (const piece of runsOf(points)) {
    const d = path(piece.map(([x, y]) => [frame.x(x), frame.y(y)]));
    frame.inside.append(shape("path", { d, fill: "none", stroke: colour(s.method), "stroke-width": focus ? 2.6 : 1.7, "stroke-linejoin": "round", "stroke-dasharray": s.dash ?? DATA.methods[s.method].dash, opacity: s.faint ? 0.55 : 1, class: "series" }));
  }
  if (!s.markers) return;
  s.values.forEach((e, i) => {
    if (!e) return;
    const at = frame.x(s.x[i]);
    if (drawnInterval(e) && !s.faint) frame.inside.append(shape("line", { x1: at, x2: at, y1: frame.y(e[1]), y2: frame.y(e[2]), stroke: colour(s.method), opacity: 0.6, class: "interval" }));
    if (!s.faint) for (const seed of seedsIn(e)) frame.inside.append(dot(s.method, at, frame.y(seed)));
    if (!s.faint) frame.inside.append(marker(s.method, at, frame.y(e[0]), focus ? 4 : 3.6));
  });
}

function lineStop(frame, series, x, options) {
  const rows = [];
  for (const s of series) {
    const place = s.x.indexOf(x);
    if (place >= 0 && s.values[place]) rows.push({ method: s.method, estimate: s.values[place], format: options.format, tag: s.tag });
  }
  rows.sort((a, b) => b.estimate[0] - a.estimate[0]);
  return { x: frame.x(x), title: options.title(x), rows };
}

// points: {method, x: estimate, y: estimate, seeds: [[x, y]]}
function crossChart(host, points, options) {
  if (!points.length) return nothing(host, options.none);
  const frame = new Frame(host, { ...options, xDomain: fitted(points.map((p) => p.x), 0.06), yDomain: fitted(points.map((p) => p.y), 0.08) });
  for (const { method, seeds } of points) for (const [x, y] of seeds) frame.inside.append(dot(method, frame.x(x), frame.y(y)));
  for (const { method, x, y } of points) {
    const paint = { stroke: colour(method), "stroke-width": 1.6, opacity: 0.55 };
    if (drawnInterval(x)) frame.inside.append(shape("line", { x1: frame.x(x[1]), x2: frame.x(x[2]), y1: frame.y(y[0]), y2: frame.y(y[0]), ...paint }));
    if (drawnInterval(y)) frame.inside.append(shape("line", { x1: frame.x(x[0]), x2: frame.x(x[0]), y1: frame.y(y[1]), y2: frame.y(y[2]), ...paint }));
  }
  for (const { method, x, y } of points) frame.inside.append(marker(method, frame.x(x[0]), frame.y(y[0]), 5));
  frame.hover(points.map(({ method, x, y }) => ({
    x: frame.x(x[0]), y: frame.y(y[0]), title: `${DATA.methods[method].label}: unperturbed, then all settings`,
    rows: [{ method, estimate: x }, { method, estimate: y }],
  })));
}

// rows: {method, estimate}
function dotChart(host, rows, options) {
  if (!rows.length) return nothing(host, options.none);
  const height = Math.max(200, 62 + 30 * rows.length);
  const frame = new Frame(host, { ...options, height, left: 118, xDomain: [-0.02, 1.02], xTicks: [0, 0.25, 0.5, 0.75, 1] });
  const step = (frame.box.bottom - frame.box.top) / rows.length;
  frame.svg.append(shape("line", { x1: frame.x(0.5), x2: frame.x(0.5), y1: frame.box.top, y2: frame.box.bottom, class: "cursor" }));
  const stops = rows.map(({ method, estimate }, i) => {
    const y = frame.box.top + step * (i + 0.5);
    const label = DATA.methods[method].label;
    const name = label.length > 16 ? `${label.slice(0, 15)}…` : label;
    frame.svg.append(shape("text", { x: frame.box.left - 10, y: y + 4, "text-anchor": "end", class: "axis" }, name));
    if (estimate[1] !== null) frame.svg.append(shape("line", { x1: frame.x(estimate[1]), x2: frame.x(estimate[2]), y1: y, y2: y, stroke: colour(method), "stroke-width": 4, "stroke-linecap": "round", opacity: 0.35, class: "interval" }));
    frame.svg.append(marker(method, frame.x(estimate[0]), y, 4.6));
    return { x: frame.x(estimate[0]), y, title: options.title(label), rows: [{ method, estimate, format: (v) => v.toFixed(2) }] };
  });
  frame.hover(stops);
}
