"use strict";
// What the report does in a browser. Three parts: tables (every table of the page), figures (drawn by Plotly from
// the runs in #runs), and the controls above them. The state of the controls stands in the address, so that a link
// leads to the same view. Without this script the page shows its static figures and tables.

const $ = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
  if (!sorted.length) return NaN;
  return sorted.length % 2 ? sorted[half] : sorted[half - 1] / 2 + sorted[half] / 2;
};

const digits = (value, count = 3) => {
  if (!Number.isFinite(value)) return "-";
  const short = Number(value.toPrecision(count));
  return Math.abs(short) < 1e-3 && short ? short.toExponential() : String(short);
};

// ---------------------------------------------------------------------- tables

const LINES = 200; // shown at once; what is copied and downloaded is whole

function cellOf(td) {
  const note = td.querySelector("small"), text = (td.firstChild ? td.firstChild.textContent : "").trim();
  const bare = text.replace(/^[>≥~\s]+/, ""), number = /^[-+]?(\d|\.\d)/.test(bare) ? Number(bare) : NaN;
  const failed = td.classList.contains("failed") || text === "-" || text === "" || text.startsWith(">");
  const bold = Boolean(td.querySelector("strong"));
  return { text, number, failed, bold, note: note ? note.textContent : "", hint: td.title };
}

// Numbers by value, words by letters; failures stand behind everything, up or down.
function compare(a, b, sign) {
  if (a.failed !== b.failed) return a.failed ? 1 : -1;
  const known = Number.isFinite(a.number), other = Number.isFinite(b.number);
  if (known && other) return sign * (a.number - b.number);
  if (known !== other) return known ? -1 : 1;
  return sign * a.text.localeCompare(b.text, undefined, { numeric: true });
}

const whole = (cell) => cell.text + (cell.note ? ` ${cell.note}` : "");

function csv(heads, lines) {
  const inert = (text) => (/^[=+@\t\r]|^-[^\d.]/.test(text) && text !== "-" ? `'${text}` : text);
  const quoted = (text) => `"${inert(text).replaceAll('"', '""')}"`;
  const value = (cell) => (Number.isFinite(cell.number) ? String(cell.number) : quoted(whole(cell)));
  const names = heads.map((head) => quoted([head.group, head.name].filter(Boolean).join(" ")));
  return [names, ...lines.map((line) => line.map(value))].map((line) => line.join(",")).join("\n") + "\n";
}

const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
Object.assign(LATEX, { "<": "$<$", ">": "$>$", "|": "$|$", "[": "{[}", "*": "{*}" });

function latex(heads, lines) {
  const escaped = (text) => text.replace(/[&%$#_{}\\~^<>|[*]/g, (letter) => LATEX[letter] || `\\${letter}`);
  const bold = (cell) => (cell.bold ? `\\textbf{${escaped(whole(cell))}}` : escaped(whole(cell)));
  const names = heads.map((head) => escaped([head.group, head.name].filter(Boolean).join(" ")));
  const body = lines.map((line) => `${line.map(bold).join(" & ")} \\\\`);
  const align = heads.map((head) => (head.numeric ? "r" : "l")).join("");
  const rules = ["\\toprule", `${names.join(" & ")} \\\\`, "\\midrule", ...body, "\\bottomrule"];
  return [`% \\usepackage{booktabs}`, `\\begin{tabular}{${align}}`, ...rules, "\\end{tabular}", ""].join("\n");
}

function save(name, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text])) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function copy(text, button) {
  const before = button.dataset.name || (button.dataset.name = button.textContent);
  const done = (said) => {
    button.textContent = said;
    setTimeout(() => (button.textContent = before), 1500);
  };
  if (!navigator.clipboard) return done("not allowed here");
  navigator.clipboard.writeText(text).then(() => done("copied"), () => done("not allowed here"));
}

// A table: `data` has name, heads ({name, group, numeric, hidden}) and lines of cells, as `cellOf` returns them.
class Grid {
  constructor(host, changed = () => {}) {
    this.changed = changed;
    this.column = null; // by name, so that it outlives other columns
    this.down = false;
    this.words = "";
    this.limit = LINES;
    this.chosen = {}; // columns that the reader shows or hides, by name
    this.filter = element("input", { type: "search", placeholder: "filter lines", className: "filter" });
    this.filter.addEventListener("input", () => ((this.words = this.filter.value.toLowerCase()), this.draw(), this.changed()));
    this.columns = element("details", { className: "columns" }, element("summary", {}, "columns"));
    this.box = element("div", { className: "choice" });
    this.columns.append(this.box);
    const button = (name, act) => {
      const made = element("button", { type: "button", textContent: name });
      made.addEventListener("click", () => act(made));
      return made;
    };
    this.bar = element("div", { className: "bar" }, this.filter, this.columns);
    this.bar.append(button("copy", (made) => copy(this.text("\t"), made)));
    this.bar.append(button("CSV", () => save(`${this.data.name}.csv`, this.text(","))));
    this.bar.append(button("LaTeX", () => save(`${this.data.name}.tex`, latex(this.heads(), this.lines()))));
    this.said = element("span", { className: "said" });
    this.said.setAttribute("aria-live", "polite");
    this.more = button("show all", () => ((this.limit = Infinity), this.draw()));
    this.scroll = element("div", { className: "scroll", tabIndex: 0 });
    this.bar.append(this.said, this.more);
    host.replaceChildren(this.bar, this.scroll);
  }

  // The order, the words and the columns that the reader chose, as a link keeps them.
  get view() {
    const { column, down, words, chosen } = this;
    return column || words || Object.keys(chosen).length ? JSON.stringify({ column, down, words, chosen }) : "";
  }

  set view(said) {
    let found = {};
    try { found = JSON.parse(said || "{}"); } catch { /* not a link of ours */ }
    const { column = null, down = false, words = "", chosen = {} } = found;
    Object.assign(this, { column, down, words: String(words), chosen: { ...chosen } });
    this.filter.value = this.words;
  }

  show(data) {
    this.data = data;
    this.filter.setAttribute("aria-label", `Filter the lines of ${data.name}`);
    this.scroll.setAttribute("aria-label", data.name);
    this.scroll.setAttribute("role", "region");
    this.box.replaceChildren(
      ...data.heads.map((head) => {
        const box = element("input", { type: "checkbox", checked: this.seen(head) });
        box.addEventListener("change", () => ((this.chosen[keyOf(head)] = box.checked), this.draw(), this.changed()));
        return element("label", {}, box, ` ${keyOf(head)}`);
      }),
    );
    this.draw();
  }

  seen(head) {
    return this.chosen[keyOf(head)] ?? !head.hidden;
  }

  heads() {
    return this.data.heads.filter((head) => this.seen(head));
  }

  lines() {
    const places = this.data.heads.flatMap((head, n) => (this.seen(head) ? [n] : []));
    const at = this.data.heads.findIndex((head) => keyOf(head) === this.column);
    const found = this.data.lines.filter((line) => line.some((cell) => whole(cell).toLowerCase().includes(this.words)));
    if (at >= 0) found.sort((a, b) => compare(a[at], b[at], this.down ? -1 : 1)); // a stable sort
    return found.map((line) => places.map((n) => line[n]));
  }

  text(separator) {
    const made = csv(this.heads(), this.lines());
    if (separator === ",") return made;
    const names = this.heads().map(keyOf);
    return [names, ...this.lines().map((line) => line.map(whole))].map((line) => line.join("\t")).join("\n");
  }

  // Up, down, and back to the order of the page.
  sort(name) {
    if (this.column !== name) [this.column, this.down] = [name, false];
    else if (!this.down) this.down = true;
    else [this.column, this.down] = [null, false];
    this.draw();
    this.changed();
    this.scroll.querySelector(`th button[data-key="${CSS.escape(name)}"]`)?.focus();
  }

  draw() {
    const heads = this.heads(), lines = this.lines(), shown = lines.slice(0, this.limit);
    const top = heads.map((head) => {
      const key = keyOf(head), button = element("button", { type: "button", textContent: head.name });
      button.dataset.key = key;
      button.addEventListener("click", () => this.sort(key));
      const cell = element("th", { scope: "col", className: head.numeric ? "" : "words" }, button);
      const order = this.down ? "descending" : "ascending";
      cell.setAttribute("aria-sort", this.column === key ? order : "none");
      return cell;
    });
    const groups = [];
    for (const { group = "" } of heads) {
      if (groups.length && groups.at(-1).textContent === group) groups.at(-1).colSpan += 1;
      else groups.push(element(group ? "th" : "td", { colSpan: 1, textContent: group }));
    }
    const grouped = heads.some((head) => head.group);
    const head = element("thead", {}, ...(grouped ? [element("tr", { className: "groups" }, ...groups)] : []));
    head.append(element("tr", {}, ...top));
    const body = element("tbody");
    for (const line of shown) {
      const row = element("tr");
      line.forEach((cell, n) => {
        const classes = [heads[n].numeric ? "" : cell.text.length > 48 ? "words long" : "words", cell.failed ? "failed" : "", cell.own ? "own" : ""];
        const made = element(n ? "td" : "th", { className: classes.join(" ").trim(), title: cell.hint || "" });
        if (!n) made.scope = "row";
        made.append(cell.bold ? element("strong", {}, cell.text) : cell.text);
        if (cell.note) made.append(" ", element("small", {}, cell.note));
        row.append(made);
      });
      body.append(row);
    }
    const titled = this.scroll.closest("section")?.querySelector("h2").textContent === this.data.name;
    const caption = element("caption", { className: titled ? "unseen" : "" }, this.data.name);
    this.scroll.replaceChildren(element("table", {}, caption, head, body));
    this.said.textContent = `${shown.length} of ${this.data.lines.length} lines`;
    this.more.hidden = shown.length === lines.length;
  }
}

const keyOf = (head) => [head.group, head.name].filter(Boolean).join(" ");

// A table that stands in the page becomes one that sorts, filters and downloads.
function enliven(scroll) {
  const table = scroll.querySelector("table"), [top] = [...table.tHead.rows].slice(-1);
  const heads = [...top.cells].map((cell) => ({
    name: cell.textContent.trim(), group: cell.dataset.group || "", numeric: !cell.classList.contains("words"),
  }));
  const lines = [...table.tBodies].flatMap((body) => [...body.rows].map((row) => [...row.cells].map(cellOf)));
  const host = element("div", { className: "grid" });
  scroll.replaceWith(host);
  new Grid(host).show({ name: table.caption?.textContent || scroll.dataset.name || "table", heads, lines });
}

for (const scroll of document.querySelectorAll(".scroll.sortable")) if (!scroll.closest("#winners")) enliven(scroll);

for (const button of document.querySelectorAll("button.copy"))
  button.addEventListener("click", () => {
    getSelection().selectAllChildren($(button.dataset.from)); // at least: Ctrl-C
    copy($(button.dataset.from).textContent, button);
  });

// ---------------------------------------------------------------------- runs

const data = $("runs") && JSON.parse($("runs").textContent);
const MEASURES = {
  time: "seconds", cpu: "CPU seconds", evaluations: "evaluations",
  time_to: "seconds to the tolerance", evaluations_to: "evaluations to the tolerance",
};
const FILTERS = ["problem", "size", "tolerance", "seed"];
const VIEWS = { behind, profile, budget, times, convergence, phases };
const start = { view: "behind", by: "time", lines: "solver", up: "gradient_norm", x: "log", y: "log", hide: "", zoom: "", winners: "", results: "" };
const state = { ...start };
let drawn = [], said = "";

const hidden = () => new Set(state.hide.split(".").filter(Boolean).map(Number));
const name = (solver) => data.solvers[solver].name;
const family = (solver) => data.solvers[solver].family;
const place = (row) => [data.problem[row.problem], data.size[row.size]].filter(Boolean).join(" ");
const title = (row) => `${place(row)} to ${data.tolerance[row.tolerance]}`;
// Plotly reads markup in a text: a name is none, and what we say has no bold (the policy refuses its styles).
const text = (name) => name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const short = (name, most = 44) => text(name.length > most ? `${name.slice(0, most - 1)}…` : name);

function chosen() {
  const off = hidden(), runs = data.runs;
  const wanted = FILTERS.filter((each) => state[each] !== undefined && state[each] !== "");
  return runs.solver.flatMap((solver, n) =>
    off.has(solver) || wanted.some((each) => runs[each][n] !== Number(state[each])) ? [] : [n]);
}

// What a run costs: infinite where it failed, or has no such figure.
const cost = (n, by = state.by) => (data.runs.success[n] ? (data.runs[by][n] ?? Infinity) : Infinity);

function groups(runs, key) {
  const found = new Map();
  for (const n of runs) {
    const at = key(n);
    if (!found.has(at)) found.set(at, []);
    found.get(at).push(n);
  }
  return found;
}

// Rows (problem, size, tolerance), in each the solvers with their runs, the best one, and those tied with it.
function rows() {
  const runs = data.runs, every = groups(chosen(), (n) => `${runs.problem[n]} ${runs.size[n]} ${runs.tolerance[n]}`);
  return [...every.values()].map((mine) => {
    const [first] = mine, solvers = groups(mine, (n) => runs.solver[n]);
    const row = { problem: runs.problem[first], size: runs.size[first], tolerance: runs.tolerance[first], solvers };
    row.least = new Map([...solvers].map(([solver, each]) => [solver, median(each.map((n) => cost(n)))]));
    let able = [...solvers.keys()].filter((solver) => Number.isFinite(row.least.get(solver)));
    const most = Math.max(...able.map((solver) => solvers.get(solver).length));
    able = able.filter((solver) => solvers.get(solver).length === most);
    const solved = (solver) => solvers.get(solver).filter((n) => runs.success[n]).length;
    const rank = (a, b) => solved(b) - solved(a) || row.least.get(a) - row.least.get(b);
    row.best = able.sort(rank)[0];
    const span = (solver, which) => which(...solvers.get(solver).map((n) => cost(n)));
    row.tied = able.filter((each) => each !== row.best && span(each, Math.min) <= span(row.best, Math.max));
    return row;
  });
}

// ---------------------------------------------------------------------- figures

const dashes = { penalty: "solid", Riemannian: "dash", infeasible: "dashdot", other: "dot" };
const shapes = { penalty: "circle", Riemannian: "square", infeasible: "triangle-up", other: "diamond" };
const colored = (kind) => data.families[kind];

// Those that have a line of their own: solvers, or families (each its best solver).
function subjects() {
  const off = hidden(), solvers = data.solvers.map((each, n) => n).filter((n) => !off.has(n));
  if (state.lines === "solver")
    return solvers.map((n) => ({ key: n, name: name(n), color: data.solvers[n].color, own: data.solvers[n].own, family: family(n), of: [n] }));
  return [...groups(solvers, family)].map(([kind, of]) => ({ key: kind, name: kind, color: colored(kind), family: kind, of }));
}

function line(subject, x, y, words, more = {}) {
  const look = { color: subject.color, width: subject.own ? 3.5 : 2, dash: dashes[subject.family], ...more };
  const dots = { color: subject.color, symbol: shapes[subject.family], size: 5 };
  const mode = x.length < 60 ? "lines+markers" : "lines";
  return { x, y, name: text(subject.name), mode, line: look, marker: dots, text: words, hovertemplate: "%{text}<extra></extra>" };
}

// For each start of a row that all subjects have run, what each of them needed.
function contests() {
  const runs = data.runs, every = subjects(), found = [];
  const starts = groups(chosen(), (n) => FILTERS.map((each) => runs[each][n]).join(" "));
  for (const mine of starts.values()) {
    const costs = every.map((each) => mine.filter((n) => each.of.includes(runs.solver[n])).map((n) => cost(n)));
    if (costs.every((each) => each.length)) found.push(costs.map((each) => Math.min(...each)));
  }
  return { every, found, left: starts.size - found.length };
}

function stairs(relative) {
  const { every, found, left } = contests(), unit = MEASURES[state.by];
  const figures = every.map((_, k) =>
    found.map((costs) => (relative ? costs[k] / Math.min(...costs) : costs[k])).filter(Number.isFinite).sort((a, b) => a - b));
  const finite = figures.flat(), last = 1.3 * Math.max(relative ? 2 : 1e-300, ...finite);
  const traces = every.map((each, k) => {
    const x = figures[k], share = x.map((_, n) => (n + 1) / found.length);
    const said = x.map((at, n) => `${short(each.name)}<br>${(100 * share[n]).toFixed(0)} % of the starts<br>` +
      (relative ? `within ${digits(at)} times the best` : `within ${digits(at)} ${unit}`));
    const low = relative ? 1 : Math.min(...finite) / 1.3;
    const end = `${short(each.name)}<br>solves ${x.length} of ${found.length} starts`;
    return line(each, [low, ...x, last], [0, ...share, x.length / found.length], [end, ...said, end], { shape: "hv" });
  });
  const count = `${found.length} starts, which all of them ran` + (left ? `; ${left} others are left out` : "");
  const caption = relative
    ? `Performance profile: the share of starts that a ${state.lines} solves within a factor of the best one shown, by ${unit} ` +
      `(Dolan and Moré). ${count}. A failed run counts as unsolved.`
    : `Data profile: the share of starts solved within a budget of ${unit} (Moré and Wild). ${count}.`;
  const xaxis = { title: relative ? `${unit} relative to the best` : unit, type: state.x };
  return { traces, caption, xaxis, yaxis: { title: "share of the starts", range: [-0.02, 1.05] } };
}

function profile() { return stairs(true); }
function budget() { return stairs(false); }

// The figure of a subject in a row over the least of the row, from the starts that the subject has.
function ratios(row, of) {
  const mine = of.filter((solver) => row.solvers.has(solver));
  if (!mine.length) return null;
  const rank = (solver) => [-row.solvers.get(solver).length, row.least.get(solver)];
  const order = (a, b) => { const [p, q] = [rank(a), rank(b)]; return p[0] - q[0] || p[1] - q[1]; };
  const able = mine.filter((solver) => Number.isFinite(row.least.get(solver))).sort(order);
  if (!able.length) return Infinity;
  const seeds = new Set(row.solvers.get(able[0]).map((n) => data.runs.seed[n]));
  const over = (solver) => median(row.solvers.get(solver).filter((n) => seeds.has(data.runs.seed[n])).map((n) => cost(n)));
  const all = [...row.solvers.keys()].map(over).filter((value) => !Number.isNaN(value));
  return over(able[0]) / Math.max(Math.min(...all), 1e-300);
}

function behind() {
  const every = subjects(), found = rows().filter((row) => row.best !== undefined), unit = MEASURES[state.by];
  const marks = [], traces = every.map((each, k) => {
    const points = found.map((row) => [row, ratios(row, each.of)]).filter(([, ratio]) => ratio !== null);
    const finite = points.filter(([, ratio]) => Number.isFinite(ratio)), lost = points.length - finite.length;
    if (lost) marks.push({ x: 1.01, xref: "paper", xanchor: "left", y: k, text: `${lost} of ${points.length}`, showarrow: false });
    const middle = median(points.map(([, ratio]) => ratio));
    const y = finite.map((_, n) => k + 0.5 * (((n * 0.618) % 1) - 0.5));
    const words = finite.map(([row, ratio]) => `${short(each.name)}<br>${short(title(row))}<br>${digits(ratio)} times the least`);
    const x = finite.map(([, ratio]) => ratio);
    const dots = { color: each.color, symbol: shapes[each.family], size: 7, opacity: 0.65 };
    const bar = Number.isFinite(middle)
      ? [{ x: [middle, middle], y: [k - 0.38, k + 0.38], mode: "lines", line: { color: each.color, width: 4 },
        text: Array(2).fill(`${short(each.name)}<br>median ${digits(middle)} times the least`) }] : [];
    return [{ x, y, mode: "markers", marker: dots, text: words }, ...bar];
  }).flat().map((trace) => ({ ...trace, hovertemplate: "%{text}<extra></extra>" }));
  if (marks.length) marks.push({ x: 1.01, xref: "paper", xanchor: "left", y: -0.75, text: "not solved", showarrow: false });
  const ticks = { tickvals: every.map((_, k) => k), ticktext: every.map((each) => short(each.name, 24)) };
  const caption = `A dot for each row: the ${unit} of ${state.lines === "solver" ? "a solver" : "the best solver of a family"} ` +
    `over the least of the row among those shown, from the same starts; the bar is the median. ${found.length} rows.` +
    (marks.length ? " Right of the axis: rows not solved." : "");
  const yaxis = { ...ticks, range: [every.length - 0.4, marks.length ? -1.1 : -0.6], showgrid: false, zeroline: false };
  return { traces, caption, marks, height: 130 + 34 * every.length, yaxis, right: marks.length ? 84 : 16,
    xaxis: { title: `${unit} relative to the least of the row`, type: state.x } };
}

// The end of a name, which tells size and tolerance.
const tail = (name, most = $("figure").clientWidth < 560 ? 20 : 34) =>
  text(name.length > most ? `…${name.slice(1 - most)}` : name);

function times() {
  const every = rows(), found = every.slice(0, 40), unit = MEASURES[state.by];
  const traces = subjects().map((each, k, all) => {
    const best = (row) => Math.min(...each.of.map((solver) => row.least.get(solver) ?? Infinity));
    const points = found.map((row, at) => [row, at, best(row)]).filter(([, , value]) => Number.isFinite(value));
    return { name: text(each.name), mode: "markers", x: points.map(([, , value]) => value),
      y: points.map(([, at]) => at + (all.length > 1 ? 0.6 * (k / (all.length - 1) - 0.5) : 0)),
      marker: { color: each.color, symbol: shapes[each.family], size: 8 },
      text: points.map(([row, , value]) => `${short(each.name)}<br>${short(title(row))}<br>${digits(value)} ${unit}`),
      hovertemplate: "%{text}<extra></extra>" };
  });
  const ticks = { tickvals: found.map((_, at) => at), ticktext: found.map((row) => tail(title(row))) };
  const cut = every.length > found.length ? ` The first ${found.length} of ${every.length} rows: choose a problem for others.` : "";
  return { traces, xaxis: { title: unit, type: state.x }, height: 110 + 30 * found.length,
    yaxis: { ...ticks, range: [found.length - 0.4, -0.6], zeroline: false },
    caption: `${unit[0].toUpperCase()}${unit.slice(1)} of each ${state.lines} in each row, medians over the starts; no dot where it does not solve the row.${cut}` };
}

const UPS = { gradient_norm: "gradient norm, smallest so far", feasibility: "feasibility |C(X)|", cost: "f minus the lowest f found" };

// The runs of one problem, size and start: the first that has traces, unless the reader chooses.
function convergence() {
  const runs = data.runs, across = state.by.startsWith("evaluations") ? "evaluations" : "time";
  const traced = chosen().filter((n) => data.traces[n]);
  if (!traced.length) return { traces: [], caption: "No run of these has a trace.", xaxis: {}, yaxis: {} };
  const same = (n) => ["problem", "size", "seed"].every((each) => runs[each][n] === runs[each][traced[0]]);
  const each = groups(traced.filter(same), (n) => runs.solver[n]), traces = [];
  for (const [solver, found] of each) {
    const n = found.at(-1), { [across]: x, [state.up]: y } = data.traces[n];
    const kept = x.map((at, k) => [at, y[k]]).filter(([a, b]) => a !== null && b !== null && (state.x === "linear" || a > 0) && (state.y === "linear" || b > 0));
    const words = kept.map(([a, b]) => `${short(name(solver))}<br>${digits(b)} after ${digits(a)} ${MEASURES[across]}`);
    traces.push(line({ ...data.solvers[solver] }, kept.map(([a]) => a), kept.map(([, b]) => b), words));
  }
  const [first] = traced, row = { problem: runs.problem[first], size: runs.size[first] };
  const penalty = [...each.keys()].some((solver) => family(solver) === "penalty");
  const note = (penalty ? " Penalty methods: before the last point is restored to the manifold." : "") +
    (across === "time" && state.by === "cpu" ? " Traces have wall seconds only." : "");
  return { traces, xaxis: { title: MEASURES[across], type: state.x }, yaxis: { title: UPS[state.up], type: state.y },
    caption: `Convergence on ${place(row)} from start ${data.seed[runs.seed[first]]}, each solver's run to the tightest tolerance. ` +
      `Choose a problem, size and start above.${note}` };
}

function phases() {
  const runs = data.runs, timed = chosen().filter((n) => data.phases[n]);
  const each = groups(timed, (n) => runs.solver[n]), solvers = [...each.keys()];
  const share = (n, k) => (data.phases[n][k] || 0) / data.runs.time[n];
  const parts = data.phase.map((phase, k) => solvers.map((solver) => median(each.get(solver).map((n) => share(n, k)))));
  const rest = solvers.map((_, at) => Math.max(0, 1 - parts.reduce((sum, part) => sum + part[at], 0)));
  const traces = [...parts, rest].map((x, k) => {
    const phase = data.phase[k] || "rest", words = x.map((value, at) => `${short(name(solvers[at]))}<br>${text(phase)}: ${(100 * value).toFixed(0)} %`);
    return { type: "bar", orientation: "h", x, y: solvers.map((_, at) => at), name: text(phase), text: words, textposition: "none",
      hovertemplate: "%{text}<extra></extra>", marker: { color: data.phase_colors[k] || "#8A8A8A" } };
  });
  const ticks = { tickvals: solvers.map((_, at) => at), ticktext: solvers.map((solver) => short(name(solver), 24)) };
  return { traces, below: 44, height: 190 + 30 * solvers.length, xaxis: { title: "share of the wall time", range: [0, 1] },
    yaxis: { ...ticks, range: [solvers.length - 0.4, -0.6] },
    caption: "Where the time goes: medians over the runs chosen. Cost is the time in the user's functions; the rest is what no phase covers, the solver's own algebra." };
}

let config; // one object: Plotly makes a new plot for another one
const NOTHING = { x: 0.5, y: 0.5, xref: "paper", yref: "paper", showarrow: false, text: "None of the runs shown has such a figure." };

function draw(light = false) {
  const view = VIEWS[state.view](), style = getComputedStyle(document.documentElement), box = $("figure");
  const [ink, paper, grid, faint] = light ? ["#000", "#fff", "#ccc", "#444"] : ["--ink", "--paper", "--line", "--faint"].map((each) => style.getPropertyValue(each));
  const narrow = box.clientWidth < 560;
  const axis = ({ title = "", ...more }) => ({ gridcolor: grid, linecolor: ink, tickcolor: ink, zeroline: false, automargin: true,
    exponentformat: "e", nticks: narrow ? 5 : 9,
    title: { text: title, standoff: 8 }, ...more });
  const empty = view.traces.every((trace) => !trace.x.length), height = Math.max(view.height || 0, narrow ? 320 : 460);
  const layout = { xaxis: axis(view.xaxis), yaxis: axis(view.yaxis), font: { color: ink, size: narrow ? 11 : 13, family: getComputedStyle(document.body).fontFamily },
    paper_bgcolor: paper, plot_bgcolor: paper, showlegend: Boolean(view.below), barmode: "stack",
    legend: { orientation: "h", x: 0, xref: "container", y: 0, yref: "container", yanchor: "bottom", traceorder: "normal" },
    margin: { l: 50, r: view.right || 16, t: 34, b: 48 + (view.below || 0) }, height, hovermode: "closest", annotations: empty ? [NOTHING] : view.marks || [],
    modebar: { color: faint, activecolor: ink, bgcolor: paper },
    hoverlabel: { bgcolor: paper, bordercolor: ink, font: { color: ink }, align: "left" } };
  const zoomed = state.zoom.split(",").map(Number), ranges = zoomed.length === 4 && zoomed.every(Number.isFinite);
  for (const [axis, way, n] of [[layout.xaxis, "x", 0], [layout.yaxis, "y", 2]]) {
    const range = zoomed.slice(n, n + 2), seen = ranges ? range.map((at) => 10 ** at) : view.traces.flatMap((trace) => trace[way]);
    if (axis.type === "log") tidy(axis, seen);
    if (ranges) axis.range = range;
  }
  drawn = view.traces;
  cursor = null;
  $("caption").textContent = view.caption;
  box.setAttribute("aria-label", `Figure. ${view.caption} Arrow keys read the values, plus and minus zoom, 0 shows all.`);
  config ??= { responsive: true, displaylogo: false, showSendToCloud: false, doubleClick: false, modeBarButtonsToAdd: [
    // Plotly's own button leads back to the ranges of the figure that was drawn first
    { name: "all", title: "Show all", icon: Plotly.Icons.home, click: () => update({ zoom: "" }) },
  ], modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d", "resetScale2d"] };
  return Plotly.react(box, view.traces, layout, config);
}

// Ticks at 1, 2, 5 of a decade where there are few decades; powers of ten else.
function tidy(axis, values) {
  const [least, most] = values.reduce(([low, high], x) => (x > 0 ? [Math.min(low, x), Math.max(high, x)] : [low, high]), [Infinity, 0]);
  if (!most) return;
  const low = Math.log10(least), high = Math.log10(most), span = high - low, step = Math.max(1, Math.ceil(span / axis.nticks));
  axis.range = [low - 0.03 * span - 0.01, high + 0.03 * span + 0.01];
  const marks = span > 3 ? [1] : span > 1.3 ? [1, 3] : span > 0.4 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  axis.tickvals = [];
  for (let power = Math.floor(low); power <= high; power += step) axis.tickvals.push(...marks.map((mark) => Number((mark * 10 ** power).toPrecision(3))));
  axis.ticktext = axis.tickvals.map((value) => digits(value));
}

// ---------------------------------------------------------------------- keys on the figure

let cursor = null;

const zoom = (x, y) => update({ zoom: [...x, ...y].map((at) => at.toPrecision(6)).join() });

function read(event) {
  const box = $("figure"), step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  const axes = box._fullLayout && [box._fullLayout.xaxis, box._fullLayout.yaxis];
  if (step && drawn.length) {
    const [curve, point] = cursor || [0, -step[1]], next = (curve + step[0] + drawn.length) % drawn.length;
    const last = drawn[next].x.length - 1;
    cursor = [next, Math.min(Math.max(point + step[1], 0), last)];
    if (last < 0) return;
    Plotly.Fx.hover(box, [{ curveNumber: next, pointNumber: cursor[1] }]);
    const words = drawn[next].text[cursor[1]].replace(/<br>/g, ", ").replace(/<[^>]*>/g, "");
    $("spoken").textContent = element("textarea", { innerHTML: words }).value;
  } else if (["+", "=", "-"].includes(event.key)) {
    const by = event.key === "-" ? 0.75 : -0.15, range = ([a, b]) => [a - by * (b - a) / 2, b + by * (b - a) / 2];
    zoom(...axes.map((axis) => range(axis.range)));
  } else if (event.key === "0") update({ zoom: "" });
  else return;
  event.preventDefault();
}

// ---------------------------------------------------------------------- tables of the runs

const cell = (value, shown, more = {}) => ({ text: shown, number: value, failed: !Number.isFinite(value), ...more });
const word = (said, more = {}) => ({ text: said, number: NaN, failed: false, ...more });
const FORMS = {
  value: (value) => digits(value, 7), scientific: (value) => value.toExponential(2), seconds: (value) => digits(value),
  count: (value) => digits(value, 9), tolerance: (value) => digits(value),
};

function winners(found) {
  const off = hidden(), solvers = data.solvers.map((_, n) => n).filter((n) => !off.has(n)), unit = MEASURES[state.by];
  const heads = ["Problem", "Size", "tol", "Best"].map((each) => ({ name: each, numeric: each === "tol" }));
  heads.push({ name: unit, numeric: true }, ...solvers.map((n) => ({ name: name(n), numeric: true, group: `${unit} relative to the best` })));
  const lines = found.map((row) => {
    const best = row.best === undefined ? Infinity : row.least.get(row.best);
    const all = row.best === undefined ? ["none"] : [row.best, ...row.tied].map(name);
    const names = all.slice(0, 2).join(" or ") + (all.length > 2 ? ` or ${all.length - 2} more` : "");
    return [word(data.problem[row.problem]), word(data.size[row.size]), cell(data.tolerances[row.tolerance], data.tolerance[row.tolerance]), word(names, { hint: all.join(" or ") }),
      cell(best, digits(best)), ...solvers.map((solver) => {
        const ratio = row.solvers.has(solver) ? row.least.get(solver) / best : NaN;
        return cell(ratio, Number.isFinite(ratio) ? digits(ratio, 2) : "-", { bold: solver === row.best && !row.tied.length, note: lost(row.solvers.get(solver)) });
      })];
  });
  return { name: "Winners", heads, lines };
}

function lost(runs = []) {
  const failed = runs.filter((n) => !data.runs.success[n]);
  const share = failed.length && failed.length < runs.length ? `${failed.length} of ${runs.length} ` : "";
  const kinds = [...new Set(failed.map((n) => data.status[data.runs.status[n]]))];
  return failed.length ? `(${share}${kinds.join(", ")})` : "";
}

function results(found) {
  const heads = ["Solver", "Family", "Problem", "Size"].map((each) => ({ name: each, numeric: false }));
  heads.push({ name: "tol", numeric: true }, { name: "Solved", numeric: true }, { name: "times best", numeric: true });
  heads.push(...data.columns.map((each) => ({ name: each.heading, numeric: true, hidden: each.hidden })));
  const lines = found.flatMap((row) => [...row.solvers].map(([solver, runs]) => {
    const solved = runs.filter((n) => data.runs.success[n]).length, ratio = row.least.get(solver) / (row.least.get(row.best) ?? NaN);
    const own = data.solvers[solver].own, best = solver === row.best && !row.tied.length;
    return [word(name(solver) + (own ? " (yours)" : ""), { own, bold: own }), word(family(solver)), word(data.problem[row.problem]), word(data.size[row.size]),
      cell(data.tolerances[row.tolerance], data.tolerance[row.tolerance]), cell(solved / runs.length, `${solved} of ${runs.length}`, { note: lost(runs) }),
      cell(ratio, digits(ratio), { bold: best }),
      ...data.columns.map((each) => {
        const values = runs.map((n) => data.runs[each.name][n]).filter((value) => value !== null), middle = median(values);
        const [low, high] = [Math.min(...values), Math.max(...values)], wide = each.form === "seconds" && values.length > 1;
        const more = { failed: !solved || !values.length, note: wide ? `(${digits(low)} to ${digits(high)})` : "" };
        return cell(middle, values.length ? FORMS[each.form](middle) : "-", more);
      })];
  }));
  return { name: "Results", heads, lines };
}

// ---------------------------------------------------------------------- controls

let grids = {};

function readAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  if (![...found.values()].some(Boolean)) return;
  for (const each of [...Object.keys(start), ...FILTERS]) state[each] = found.get(each) ?? start[each] ?? "";
  if (!VIEWS[state.view]) state.view = start.view;
  if (!MEASURES[state.by]) state.by = start.by;
  for (const [each, grid] of Object.entries(grids)) grid.view = state[each];
}

function address() {
  const found = Object.entries(state).filter(([each, value]) => value !== "" && value !== undefined && value !== start[each]);
  return `#${new URLSearchParams(found.length ? found : [["view", state.view]])}`;
}

function update(changes = {}) {
  Object.assign(state, Object.keys(changes).length ? { zoom: "" } : {}, changes); // another figure is seen whole
  for (const select of document.querySelectorAll(".controls select")) select.value = state[select.name] ?? "";
  for (const [each, views] of Object.entries({ up: ["convergence"], y: ["convergence"], lines: ["behind", "profile", "budget", "times"],
    x: Object.keys(VIEWS).filter((view) => view !== "phases") }))
    document.querySelector(`.controls [name=${each}]`).closest("label").hidden = !views.includes(state.view);
  const off = hidden();
  for (const box of document.querySelectorAll("#solvers input")) {
    const mine = box.dataset.of.split(".").map(Number), on = mine.filter((n) => !off.has(n)).length;
    [box.checked, box.indeterminate] = [on > 0, on > 0 && on < mine.length];
  }
  if (Object.keys(changes).length) history.replaceState(null, "", address());
  const found = rows();
  grids.winners.show(winners(found));
  grids.results.show(results(found));
  return draw();
}

function toggle(of, only = false) {
  const off = only ? new Set(data.solvers.keys()) : hidden(), on = of.some((n) => !off.has(n));
  for (const n of of) (on ? off.add(n) : off.delete(n));
  return update({ hide: [...off].sort((a, b) => a - b).join(".") });
}

function chips() {
  const box = $("solvers"), kinds = groups(data.solvers.keys(), family);
  const chip = (of, said, color, className) => {
    const input = element("input", { type: "checkbox", checked: true });
    input.dataset.of = of.join(".");
    input.addEventListener("change", () => toggle(of));
    const swatch = element("span", { className: "swatch" });
    swatch.style.borderTop = `3px ${{ solid: "solid", dash: "dashed" }[dashes[family(of[0])]] || "dotted"} ${color}`;
    const only = element("button", { type: "button", textContent: "only", className: "only" });
    only.setAttribute("aria-label", `only ${said}`);
    only.addEventListener("click", () => toggle(of, true));
    return element("div", { className }, element("label", {}, input, swatch, said), only);
  };
  for (const [kind, of] of kinds) {
    const group = element("div", { className: "family" }, chip(of, kind, colored(kind), "chip head"));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", `Family ${kind}`);
    group.append(...of.map((n) => chip([n], name(n) + (data.solvers[n].own ? " (yours)" : ""), data.solvers[n].color, data.solvers[n].own ? "chip own" : "chip")));
    box.append(group);
  }
  const all = element("button", { type: "button", textContent: "show all" });
  all.addEventListener("click", () => update({ hide: "" }));
  box.append(all);
}

function controls() {
  for (const each of FILTERS) {
    const select = document.querySelector(`.controls [name=${each}]`);
    select.append(element("option", { value: "" }, "all"), ...data[each].map((said, n) => element("option", { value: n }, String(said) || "-")));
    select.closest("label").hidden = data[each].length < 2;
  }
  for (const select of document.querySelectorAll(".controls select"))
    select.addEventListener("change", () => update({ [select.name]: select.value }));
  $("link").addEventListener("click", (event) => copy(location.href.split("#")[0] + address(), event.target));
  $("reset").addEventListener("click", () => {
    for (const grid of Object.values(grids)) grid.view = "";
    update({ ...start, ...Object.fromEntries(FILTERS.map((each) => [each, ""])) });
  });
}

// Plotly stands in the page, packed; the policy of the page lets exactly this text run.
async function unpack() {
  const letters = atob($("plotly").textContent), packed = new Uint8Array(letters.length);
  for (let n = 0; n < letters.length; n++) packed[n] = letters.charCodeAt(n);
  const whole = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = await new Response(whole).text();
  // the styles of its maps, which the policy refuses and nothing here needs: it takes them to be there
  for (const [, id] of script.matchAll(/getElementById\("([0-9a-f]{40,})"\)/g)) document.head.append(element("style", { id }));
  document.head.append(element("script", { textContent: script }));
}

async function begin() {
  Object.assign(start, { view: data.view, lines: data.view === "behind" ? "family" : "solver" });
  Object.assign(state, start);
  $("explorer").hidden = false;
  const keep = (each) => () => ((state[each] = grids[each].view), history.replaceState(null, "", address()));
  grids = Object.fromEntries(["winners", "results"].map((each) => [each, new Grid($(each), keep(each))]));
  readAddress();
  chips();
  controls();
  await unpack();
  await update();
  $("figure").addEventListener("keydown", read);
  $("figure").on("plotly_doubleclick", () => update({ zoom: "" }));
  $("figure").on("plotly_relayout", (changes) => {
    const { xaxis, yaxis } = $("figure")._fullLayout;
    if (Object.keys(changes).some((each) => /axis\.range/.test(each))) zoom(xaxis.range, yaxis.range);
  });
  addEventListener("hashchange", () => { readAddress(); update(); });
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  if (location.hash.includes("=")) $("explorer").scrollIntoView();
  document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds
}

if (data) begin();
