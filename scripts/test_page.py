#!/usr/bin/env python3
"""Draws the page of an audit in headless Chromium at three widths: python3 scripts/test_page.py PAGE...

At each width nothing may reach beyond the window, in light and dark the script must run to its end, and a click must sort and show an arrow.
Needs Chromium: apt install chromium (Debian, Ubuntu: chromium-browser), or CHROMIUM=/path/to/it.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WIDTHS = [400, 1280, 1700]
NAMES = ["chromium", "chromium-browser", "google-chrome"]
# The page stands in a frame of exactly this width: windows have a least one.
FRAME = """<!doctype html><body style="margin:0"><iframe id="f" src="{page}" style="border:0;width:{width}px;height:2000px"></iframe><script>
document.getElementById("f").addEventListener("load", event => {{
  const inner = event.target.contentDocument, root = inner.documentElement;
  const head = inner.querySelector("table.sortable th:nth-child(2)");
  head?.click();
  const wide = [...inner.querySelectorAll(".wide")].map(box => box.scrollWidth - box.clientWidth);
  document.body.dataset.found = JSON.stringify({{
    ready: inner.body.dataset.ready ?? "none", beyond: root.scrollWidth - {width}, tables: Math.max(0, ...wide),
    sorted: head ? head.getAttribute("aria-sort") : "no table", script: !!inner.querySelector("script"),
    verdict: inner.querySelector(".verdict")?.getBoundingClientRect().top ?? -1,
    strip: inner.querySelectorAll(".strip i").length, kernels: inner.querySelectorAll(".kernel svg").length,
  }});
}});
</script>"""


def browser():
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        sys.exit("no Chromium here: apt install chromium, or CHROMIUM=/path/to/it make test-page")
    return found


def drawn(program, page, width, folder, dark):
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(page=page.resolve().as_uri(), width=width))
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom",
               f"--user-data-dir={folder / 'profile'}", "--window-size=1800,2100", "--virtual-time-budget=4000"]
    command += ["--force-dark-mode", "--enable-features=WebContentsForceDark"] if dark else []
    done = subprocess.run([*command, frame.as_uri()], capture_output=True, text=True, timeout=120)
    match = re.search(r'data-found="([^"]*)"', done.stdout)
    if not match:
        sys.exit(f"{page}: the browser drew nothing at {width} px: {done.stderr[-500:]}")
    return json.loads(match.group(1).replace("&quot;", '"'))


def main():
    program, failed = browser(), False
    for name in sys.argv[1:]:
        page = pathlib.Path(name)
        for width in WIDTHS:
            for dark in [False, True]:
                with tempfile.TemporaryDirectory() as folder:
                    found = drawn(program, page, width, pathlib.Path(folder), dark)
                # A table of eleven columns may scroll on a telephone; elsewhere it fits.
                good = found["beyond"] <= 0 and (width < 1000 or found["tables"] <= 0)
                good &= not found["script"] or (found["ready"] == "1" and found["sorted"] == "descending")
                good &= 0 <= found["verdict"] < 400
                failed |= not good
                print(f"{page.name} {width} px{' dark' if dark else ''}: {'fits' if good else 'FAILS'} {found}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
