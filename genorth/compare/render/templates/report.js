"use strict";
// Tables sort within each block (tbody) by a click on a head: up, down, and back to the order of the page.

function entry(cell) {
  // The number, or the words; what stands behind them in <small> is a note. Failures sort behind everything.
  const text = cell.firstChild ? cell.firstChild.textContent.trim() : "";
  const bare = text.replace(/^[>\u2265~\s]+/, "");
  const number = /^[-+]?(\d|\.\d)/.test(bare) ? Number(bare) : NaN;
  const last = cell.classList.contains("failed") || text === "-" || text === "" || text.startsWith(">");
  return { last, number, text };
}

function compare(a, b, sign) {
  if (a.last !== b.last) return a.last ? 1 : -1;
  const known = Number.isFinite(a.number), other = Number.isFinite(b.number);
  if (known && other) return sign * (a.number - b.number);
  if (known !== other) return known ? -1 : 1;
  return sign * a.text.localeCompare(b.text, undefined, { numeric: true });
}

function sort(table, heads, column) {
  const next = { none: "ascending", ascending: "descending", descending: "none" };
  const order = next[heads[column].getAttribute("aria-sort")] || "ascending";
  heads.forEach((head, n) => head.setAttribute("aria-sort", n === column ? order : "none"));
  table.classList.toggle("sorted", order !== "none");
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("label"));
    const before = (a, b) => a.dataset.place - b.dataset.place;
    if (order === "none") rows.sort(before);
    else {
      const sign = order === "ascending" ? 1 : -1;
      rows.sort((a, b) => compare(entry(a.cells[column]), entry(b.cells[column]), sign) || before(a, b));
    }
    rows.forEach((row) => body.append(row));
  }
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  for (const body of table.tBodies) [...body.rows].forEach((row, place) => (row.dataset.place = place));
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => sort(table, heads, column)));
}

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.from);
    getSelection().selectAllChildren(text);
    if (!navigator.clipboard) return; // selected at least: Ctrl-C
    navigator.clipboard.writeText(text.textContent).then(() => (button.textContent = "copied"), () => {});
  });
}
