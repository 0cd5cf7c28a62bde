"""Pages in a headless Chromium without network.

What it complains of, and what a reader would see as unrendered.
"""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
REASON = "no Chromium is installed (Debian: apt install chromium)"

# one page looks at the others, in frames; a page that needs the network fails
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--hide-scrollbars", "--window-size=1200,900"),
    *("--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND"),
    *("--enable-logging=stderr", "--virtual-time-budget=60000"),
)

# Loads the pages one after the other into a frame and writes down what is wrong with each. Text in
# code may be LaTeX.
_LOOK = r"""<!doctype html><meta charset="utf-8"><title>look</title><body><script>
const pages = %s;
const raw = /\$[^$\n]+\$|\\[([]|\\[a-zA-Z]{2,}|\\[\])]/;
function look(window) {
  const found = [], document = window.document;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); )
    if (!node.parentElement.closest("pre, code, script, style, .highlight") && raw.test(node.data))
      found.push("raw LaTeX: " + node.data.trim().slice(0, 80));
  for (const math of document.querySelectorAll("math")) {
    const box = math.getBoundingClientRect(), text = math.textContent.trim();
    if (!text || box.width < 1 || box.height < 1)
      found.push("empty formula: " + math.getAttribute("alttext"));
  }
  for (const node of document.querySelectorAll("merror, .MathJax_Error, .math"))
    found.push("formula not rendered: " + node.textContent.trim().slice(0, 80));
  const remote = "[src^=http], link[href^=http]:not([rel=canonical])";
  for (const node of document.querySelectorAll(remote))
    found.push("needs the network: " + (node.getAttribute("src") || node.getAttribute("href")));
  for (const image of document.images)
    if (!image.naturalWidth) found.push("image missing: " + image.getAttribute("src"));
  return {found, formulas: document.querySelectorAll("math").length};
}
// What a reader cannot reach: what is beside the window, or opened by a box that takes no focus.
function reached(window) {
  const found = [], document = window.document;
  if (document.documentElement.scrollWidth > window.innerWidth) found.push("wider than the window");
  const menus = "label[for^=__]:not(.overlay), label[for^=toctree]";
  for (const label of document.querySelectorAll(menus)) {
    const box = document.getElementById(label.htmlFor);
    box.focus();
    if (label.checkVisibility({visibilityProperty: true}) && document.activeElement !== box)
      found.push("no key opens " + (box.ariaLabel || box.id));
  }
  return found;
}
async function all() {
  const report = {};
  for (const page of pages) {
    const frame = document.createElement("iframe");
    frame.width = 1200; frame.height = 900; frame.src = page;
    const loaded = new Promise((done) => (frame.onload = done));
    document.body.append(frame);
    await loaded;
    for (const image of frame.contentDocument.images)
      if (!image.complete)  // lazy, and not yet in sight
        await new Promise((done) => {
          image.onload = image.onerror = done; image.loading = "eager";
        });
    report[page] = look(frame.contentWindow);
    for (const width of [1400, 1366, 420]) {
      frame.width = width;
      report[page].found.push(...reached(frame.contentWindow).map((each) => `${width}: ${each}`));
    }
    frame.remove();
  }
  const result = document.createElement("pre");
  result.id = "report"; result.textContent = JSON.stringify(report);
  document.body.append(result);
}
all();
</script></body>"""


def findings(page: Path, name: str) -> tuple[Any, list[str]]:
    """What a script left as JSON in <pre id=name> of the page, and what the console says."""
    assert CHROMIUM is not None
    profile = page.with_name("_profile")
    try:
        command = [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    finally:
        shutil.rmtree(profile, ignore_errors=True)
    match = re.search(rf'<pre id="{name}">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, (
        f"the script did not come to its end:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    )
    return json.loads(html.unescape(match[1])), [
        line for line in done.stderr.splitlines() if "CONSOLE" in line
    ]


def look(
    folder: Path, pages: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, int], list[str]]:
    """What is wrong with each page, its number of formulas, and what the console says of all."""
    harness = folder / "_look.html"
    harness.write_text(_LOOK % json.dumps(list(pages)), "utf-8")
    try:
        report, console = findings(harness, "report")
    finally:
        harness.unlink()
    return (
        {page: entry["found"] for page, entry in report.items() if entry["found"]},
        {page: entry["formulas"] for page, entry in report.items()},
        console,
    )
