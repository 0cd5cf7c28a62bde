// Runs inside a report: clicks, looks, and leaves its findings in the page.
const wait = (test) => new Promise((done) => {
  const look = () => (test() ? done() : setTimeout(look, 50));
  look();
});
const column = (grid, name) => {
  const at = grid.heads().findIndex((head) => head.name === name);
  return grid.lines().map((line) => line[at].text);
};
const press = (key) => $("figure").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const pick = async (name, value) => {
  const select = document.querySelector(`.controls [name=${name}]`);
  select.value = value;
  select.dispatchEvent(new Event("change"));
  await wait(() => !$("figure")._transitioning);
};
// Texts of a figure that lie on each other, by pixels.
const overlaps = () => {
  const found = [...document.querySelectorAll("#figure svg :not(.hoverlayer *):is(text)")].filter((each) => each.textContent.trim())
    .map((each) => [each.textContent, each.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
  const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const pairs = found.flatMap(([said, box], n) => found.slice(n + 1).filter(([, other]) => !apart(box, other)).map(([other]) => `${said} | ${other}`));
  const wide = $("figure").getBoundingClientRect();
  return pairs.concat(found.filter(([, box]) => box.left < wide.left - 1 || box.right > wide.right + 1).map(([said]) => `outside: ${said}`));
};
const named = (each) => each.getAttribute("aria-label") || each.closest("label")?.textContent.trim() || each.textContent.trim();
async function probing() {
  await wait(() => document.documentElement.dataset.ready);
  document.querySelectorAll("details").forEach((each) => (each.open = true));
  const probe = {};
  const head = () => document.querySelector("[aria-label='numbers'] th button");
  const host = document.querySelector("[aria-label='numbers']");
  const seen = () => [...host.querySelectorAll("tbody tr")].map((row) => row.cells[0].firstChild.textContent);
  probe.numbers = [["none", seen()]];
  for (let step = 0; step < 3; step++) {
    head().click();
    probe.numbers.push([head().closest("th").getAttribute("aria-sort"), seen()]);
  }
  probe.focused = document.activeElement === head();
  probe.winners = rows().map((row) => [data.problem[row.problem], data.size[row.size], data.tolerances[row.tolerance],
    row.best === undefined ? null : name(row.best), row.tied.map(name),
    Object.fromEntries([...row.least].map(([solver, least]) => [name(solver), String(least)]))]);
  probe.behind = rows().filter((row) => row.best !== undefined).map((row) =>
    Object.fromEntries(subjects().map((each) => [each.name, String(ratios(row, each.of) ?? "")])));
  probe.first = { view: state.view, lines: state.lines, hash: location.hash };
  // hover: a mouse over a point
  const point = document.querySelector("#figure .scatterlayer .point").getBoundingClientRect();
  const at = { clientX: point.x + point.width / 2, clientY: point.y + point.height / 2, bubbles: true };
  for (const kind of ["mouseover", "mousemove"]) document.querySelector("#figure .nsewdrag").dispatchEvent(new MouseEvent(kind, at));
  await wait(() => document.querySelector("#figure .hoverlayer text"));
  probe.hover = document.querySelector("#figure .hoverlayer").textContent;
  // keys
  press("ArrowRight");
  probe.spoken = [$("spoken").textContent];
  press("ArrowRight"), press("ArrowDown");
  probe.spoken.push($("spoken").textContent);
  const width = () => { const [a, b] = $("figure")._fullLayout.xaxis.range; return b - a; };
  const before = width();
  press("+");
  await wait(() => width() < before);
  const zoomed = state.zoom;
  press("0");
  await wait(() => Math.abs(width() - before) < 1e-9);
  probe.zoom = [zoomed, state.zoom];
  // hide, isolate
  await pick("view", "profile"), await pick("lines", "solver");
  const lines = () => $("figure").data.map((each) => each.name);
  const all = lines();
  const boxes = [...document.querySelectorAll("#solvers input")];
  boxes[1].click();
  probe.hidden = [all, lines(), location.hash];
  document.querySelector("#solvers .chip:not(.head) .only").click();
  probe.only = lines();
  await pick("view", "behind"); // where all ratios are 1, and the axis has no width
  await update({ hide: "" });
  // in no view does a text lie on another, and the page is not wider than the window
  probe.overlaps = {}, probe.captions = {}, probe.counts = {};
  for (const view of Object.keys(VIEWS)) {
    await pick("view", view);
    const found = overlaps();
    if (found.length) probe.overlaps[view] = found;
    probe.captions[view] = $("caption").textContent;
    probe.counts[view] = $("figure").data.length;
  }
  // filters, measures
  await pick("by", "cpu"), await pick("problem", "1");
  probe.filtered = [...new Set(column(grids.results, "Problem"))];
  probe.unit = grids.winners.data.heads[4].name;
  await pick("problem", "");
  grids.results.filter.value = "rtr";
  grids.results.filter.dispatchEvent(new Event("input"));
  probe.filter = [...new Set(column(grids.results, "Solver"))];
  const many = grids.results.heads().length;
  const box = [...grids.results.box.querySelectorAll("input")].find((each) => each.parentElement.textContent.trim() === "Fval");
  box.click();
  probe.columns = [many, grids.results.heads().length, grids.results.scroll.querySelectorAll("thead tr:last-child th").length];
  probe.csv = grids.results.text(",");
  probe.latex = latex(grids.results.heads(), grids.results.lines());
  grids.results.sort("times best");
  probe.address = location.hash;
  $("reset").click();
  probe.reset = [location.hash, grids.results.view];
  const kept = () => [state.by, grids.results.column, grids.results.words, grids.results.heads().length];
  location.hash = probe.address;
  await wait(() => state.by === "cpu");
  probe.recalled = kept();
  probe.sticky = getComputedStyle(grids.results.scroll.querySelector("tbody th")).position;
  // who reads with a keyboard or a screen reader
  const controls = [...document.querySelectorAll("select, input, button, [tabindex], a[href]")].filter((each) => each.checkVisibility());
  probe.nameless = controls.filter((each) => !named(each)).map((each) => each.outerHTML.slice(0, 120));
  probe.unreachable = controls.filter((each) => (each.focus(), document.activeElement !== each)).map((each) => each.outerHTML.slice(0, 120));
  probe.modebar = [...document.querySelectorAll("#figure .modebar-btn")].map((each) => each.dataset.title);
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  probe.repeated = ids.filter((id, n) => ids.indexOf(id) !== n);
  probe.dead = [...document.querySelectorAll("nav a")].map((a) => a.hash).filter((hash) => !document.querySelector(hash));
  probe.loads = performance.getEntriesByType("resource").map((each) => each.name);
  probe.hacked = window.hacked === 1;
  document.querySelector("button.copy").click();
  probe.selected = getSelection().toString().trim().slice(0, 12);
  probe.wide = document.documentElement.scrollWidth - innerWidth;
  probe.seen = window.seen;
  return probe;
}
probing().catch((error) => ({ error: String(error.stack) })).then((found) => {
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
