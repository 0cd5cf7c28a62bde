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

# loads the pages one after the other into a frame and writes down what is wrong with each
_LOOK = Path(__file__).with_name("look.html")


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
    harness.write_text(_LOOK.read_text("utf-8") % json.dumps(list(pages)), "utf-8")
    try:
        report, console = findings(harness, "report")
    finally:
        harness.unlink()
    return (
        {page: entry["found"] for page, entry in report.items() if entry["found"]},
        {page: entry["formulas"] for page, entry in report.items()},
        console,
    )
