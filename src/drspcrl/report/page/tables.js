// Sortable tables. A column is {label, text?, value(row), cell(row)}.
const sorting = new WeakMap();

function sortable(table, columns, rows, first) {
  const order = sorting.get(table) || { column: first, down: !columns[first].text };
  sorting.set(table, order);
  const header = element("tr");
  columns.forEach((column, i) => {
    const active = i === order.column;
    const button = element("button", { type: "button" }, column.label);
    const head = element("th", { scope: "col", class: column.text ? "text" : "", "aria-sort": active ? (order.down ? "descending" : "ascending") : "none" }, button);
    button.addEventListener("click", () => {
      sorting.set(table, { column: i, down: active ? !order.down : !column.text });
      sortable(table, columns, rows, first);
      table.querySelectorAll("th button")[i].focus();
    });
    header.append(head);
  });
  const column = columns[order.column] || columns[0];
  const sorted = [...rows].sort((a, b) => compare(column.value(a), column.value(b), order.down));
  const body = element("tbody");
  for (const row of sorted) {
    const line = element("tr");
    columns.forEach((c, i) => line.append(i ? element("td", { class: c.text ? "text" : "" }, ...c.cell(row)) : element("th", { scope: "row" }, ...c.cell(row))));
    body.append(line);
  }
  table.replaceChildren(element("thead", {}, header), body);
}

// Missing values stay at the end, whichever way the column is sorted.
function compare(a, b, down) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "string" ? a.localeCompare(b) : a - b;
  return down ? -order : order;
}

// Ranks are counted over all methods, shown or not, so that a choice never promotes one.
function rankIn(estimates, estimate) {
  if (!estimate) return 0;
  return 1 + estimates.filter((other) => other && other[0] > estimate[0]).length;
}

function estimateCell(estimate, rank, paper) {
  const parts = [];
  const value = element("span", { class: rank === 1 ? "best" : rank === 2 ? "second" : "" }, estimate ? decimal(estimate[0]) : "–");
  parts.push(value);
  if (!estimate) value.setAttribute("title", "missing: no run has it");
  else {
    const half = halfWidth(estimate);
    if (half !== null) parts.push(element("span", { class: "ci" }, `±${decimal(half)}`));
    value.setAttribute("title", `n = ${estimate[3]} seeds`);
  }
  if (paper) parts.push(element("span", { class: "paper" }, `paper ${decimal(paper[0])} ±${decimal(halfWidth(paper))}`));
  return parts;
}

const methodColumn = {
  label: "Method", text: true,
  value: (row) => DATA.methods[row.m].label,
  cell: (row) => [swatch(row.m), DATA.methods[row.m].label],
};
const seedsOf = (row) => Math.max(0, ...[row.nominal, ...row.cells].filter(Boolean).map((e) => e[3]));
const seedsColumn = { label: "Seeds", value: seedsOf, cell: (row) => [String(seedsOf(row))] };

function numberColumn(label, rows, pick, pickPaper = () => null) {
  const sameGroup = (row) => rows.filter((r) => r.a === row.a && r.t === row.t).map(pick);
  return {
    label,
    value: (row) => (pick(row) ? pick(row)[0] : null),
    cell: (row) => estimateCell(pick(row), rankIn(sameGroup(row), pick(row)), pickPaper(row)),
  };
}

function drawCells() {
  const here = suite();
  const rows = entries();
  const table = byId("cells");
  if (!rows.length) return table.replaceChildren();
  const kind = here.perturbations[state.perturbation];
  const columns = [methodColumn, seedsColumn, numberColumn("Nominal", rows, (r) => r.nominal)];
  here.settings.forEach(([p, level], i) => {
    if (p !== state.perturbation) return;
    const paperCell = (r) => (r.paper ? r.paper[i] : null);
    columns.push(numberColumn(`${kind.symbol ? `${kind.symbol} = ` : ""}${level}`, rows, (r) => r.cells[i], paperCell));
  });
  columns.push(numberColumn("M, all settings", rows, (r) => r.mean));
  sortable(table, columns, rows.filter((r) => shown(r.m)), columns.length - 1);
}

function drawMeans() {
  const here = suite();
  const table = byId("means");
  if (!here || !here.entries.length) return table.replaceChildren();
  const rows = here.entries;
  const columns = [
    { label: "Task", text: true, value: (r) => DATA.tasks[r.t], cell: (r) => [DATA.tasks[r.t]] },
    { label: "Algorithm", text: true, value: (r) => DATA.algorithms[r.a], cell: (r) => [DATA.algorithms[r.a]] },
    methodColumn,
    seedsColumn,
    numberColumn("Nominal", rows, (r) => r.nominal),
    ...here.perturbations.map((p, i) => numberColumn(p.label, rows, (r) => r.parts[i])),
    numberColumn("M, all settings", rows, (r) => r.mean),
  ];
  sortable(table, columns, rows.filter((r) => shown(r.m)), 0);
}
