"""RESULTS.md, docs/results/ and the numbers of README.md, from results/. Standard library only.

    python3 scripts/results/main.py            writes them
    python3 scripts/results/main.py --check    exit code 1 if one of them is not what results/ says
"""

import argparse
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "peers"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import audit  # noqa: E402
import compare_measured  # noqa: E402
import compare_table  # noqa: E402
import pages  # noqa: E402
import pay  # noqa: E402
import pay_figure  # noqa: E402
import performance  # noqa: E402
import verdicts  # noqa: E402
from compare_results import Results  # noqa: E402


def wrapped(text, most=120):
    """Prose in lines of at most so many characters; tables, headings, code and pictures as they are."""
    lines, code = [], False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if code or len(line) <= most or line.startswith(("|", "#", "!")):
            lines.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            lines += textwrap.wrap(line, most, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def texts(root):
    """The text of every file that is made of results/, by its path."""
    found = {f"docs/results/{name}.md": text for name, text in pages.pages(root).items()}
    found["docs/results/performance.md"] = performance.page(root)
    found["docs/results/pay.md"] = pay.page(root)
    found["docs/results/audit.md"] = audit.page(root)
    found["RESULTS.md"] = verdicts.page(root)
    compared = {name: Results.open(root / f"results/compare-{name}.json") for name in ("cpu", "gpu")}
    found = {path: wrapped(text) for path, text in found.items()}
    readme = (root / "README.md").read_text()
    for name, lines in (("measured", compare_measured.lines(compared)), ("verdicts", verdicts.readme(root))):
        before, after = compare_table.split(readme, name)
        readme = "\n".join([before, *lines, after])
    found["README.md"] = readme
    found["results/pay/fig-pay.svg"] = pay_figure.figure(root)
    return found


def main():
    parser = argparse.ArgumentParser(description="Writes RESULTS.md, docs/results/ and the numbers of README.md from results/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file is out of date")
    check = parser.parse_args().check
    stale = [path for path, text in texts(ROOT).items() if not (ROOT / path).is_file() or (ROOT / path).read_text() != text]
    if check:
        for path in stale:
            print(f"{path}: out of date; run `make results`")
        return 1 if stale else 0
    for path in stale:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(texts(ROOT)[path])
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
