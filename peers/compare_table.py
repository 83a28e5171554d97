"""The table of results/compare-*.json in docs/results/performance.md. Standard library only."""

from compare_row import COMPILING

LOSES = "**loses**"
DISAGREES = "**disagrees**"
TOLERANCE = 1e-4  # of the largest value: the programs compute in single precision, in other orders
PENALTY = "penalty-1e"


def seconds(value):
    """A time with three digits and a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value / 1e-9)} ns"


def digits(value):
    """Three significant digits, never as a power."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def amount(value, unit):
    return seconds(value) if unit == "s" else f"{digits(value)} {unit}"


def size(count):
    """Bytes with three digits."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{digits(count / scale)} {unit}"
    return f"{count:.0f} B"


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def ours(row):
    """Our number, and its distance from the floor where one was measured."""
    found = row["ours"]
    if "seconds" not in found:
        return f"not measured: {cell(found['missing'])}"
    more = []
    if found.get("copy_seconds"):
        what = f" {size(4 * found['weights'])}" if "weights" in found else ""
        more.append(f"{digits(found['seconds'] / found['copy_seconds'])} × copying{what}")
    if found.get("adam_seconds"):
        more.append(f"{found['seconds'] / found['adam_seconds']:.0%} of Adam's step")
    if found.get("memory_mib") and row["unit"] == "s":
        more.append(f"{found['memory_mib']:.0f} MiB")
    return amount(found["seconds"], row["unit"]) + (f" ({', '.join(more)})" if more else "")


def theirs(peer, unit):
    """A peer's number, the ratio with its verdict, and the agreement: three cells."""
    if "seconds" not in peer:
        return f"not run: {cell(peer['missing'])}", "–", "–"
    more = [f"{peer['memory_mib']:.0f} MiB"] if peer.get("memory_mib") and unit == "s" else []
    more += [f"compiled in {seconds(peer[key])}" for key in COMPILING if key in peer]
    ratio = "–"
    if "ratio" in peer:
        ratio = digits(peer["ratio"]) + (f" {LOSES}" if peer["ratio"] < 1 and not peer.get("reference") else "")
    agreement = "–"
    if "agreement" in peer:
        agreement = f"{peer['agreement']:.0e}" if peer["agreement"] else "equal"
        agreement += f" {DISAGREES}" if disagrees(peer) else ""
    elif "agreement_missing" in peer:
        agreement = f"not compared: {cell(peer['agreement_missing'])}"
    elif "checked" in peer:
        agreement = cell(peer["checked"])
    return amount(peer["seconds"], unit) + (f" ({', '.join(more)})" if more else ""), ratio, agreement


def disagrees(peer):
    """Whether two results of the same task differ by more than rounding; NaN does."""
    return "agreement" in peer and not peer["agreement"] <= TOLERANCE


def growth(rows):
    """How the penalty grows with each tenfold of weights, by program: lines of text."""
    measured = (row for row in rows if row["row"].startswith(PENALTY) and not row["row"].endswith("-value"))
    sizes = sorted(measured, key=lambda row: float(row["row"].removeprefix("penalty-")))
    series = {}
    for row in sizes:
        for who, side in [("reynolds", row["ours"]), *((peer["who"], peer) for peer in row["peers"])]:
            if "seconds" in side and not side.get("reference"):
                series.setdefault(who, []).append(side["seconds"])
    factors = {who: [b / a for a, b in zip(times, times[1:])] for who, times in series.items() if len(times) == len(sizes) > 1}
    if not factors:
        return []
    text = "; ".join(f"{who} {', '.join(digits(factor) for factor in found)}" for who, found in factors.items())
    return [f"Growth with each tenfold of weights: {text}.", ""]


def section(name, rows):
    lines = [f"#### {name}", "", "| row | reynolds | peer | theirs | theirs / ours | largest difference |", "|---|---|---|---|---|---|"]
    for row in rows:
        title, here = cell(row["title"]), ours(row)
        for peer in row["peers"]:
            there, ratio, agreement = theirs(peer, row["unit"])
            who = cell(peer["who"]) + (" (for scale)" if peer.get("reference") else "")
            lines.append(f"| {title} | {here} | {who} | {there} | {ratio} | {agreement} |")
            title, here = "–", ""
        if not row["peers"]:
            lines.append(f"| {title} | {here} | none | – | – | – |")
    lines.append("")
    lines += growth(rows)
    notes = dict.fromkeys(row["note"] for row in rows if row.get("note"))
    notes = [note for note in notes if not any(other != note and other.startswith(note) for other in notes)]  # rows of earlier runs said less
    if notes:
        lines += [" ".join(notes), ""]
    return lines


def summary(rows):
    """How many comparisons there are, how many are lost, and the rows that are."""
    compared = [(row, peer) for row in rows for peer in row["peers"] if "ratio" in peer and not peer.get("reference")]
    lost = [(row, peer) for row, peer in compared if peer["ratio"] < 1]
    missing = sum("seconds" not in peer for row in rows for peer in row["peers"])
    text = f"{len(compared)} comparisons, {len(compared) - len(lost)} won, {len(lost)} lost, {missing} without a peer's number."
    failed = [row["row"] for row in rows if "seconds" not in row["ours"]]
    if failed:
        text += f" **Ours not measured: {', '.join(failed)}.**"
    wrong = [row["row"] for row in rows if any(disagrees(peer) for peer in row["peers"])]
    if wrong:
        text += f" **Results differ: {', '.join(wrong)}.**"
    if lost:
        text += " Lost: " + "; ".join(f"{row['row']} to {peer['who']} ({digits(peer['ratio'])})" for row, peer in lost) + "."
    return text


def machine(found):
    parts = [f"{found['cores']} cores of {found['processor']}", f"{found['memory_gib']} GiB" if "memory_gib" in found else "", found.get("gpu", "")]
    return ", ".join(part for part in parts if part)


def span(numbers, noun):
    """`3 rounds`, or `1 to 3 rounds` where they differ."""
    low, high = min(numbers), max(numbers)
    return count(low, noun) if low == high else f"{low} to {count(high, noun)}"


def dates(found):
    """`2026-11-16 05:19 UTC` to `2026-11-16 05:32 UTC` as `2026-11-16 05:19–05:32 UTC`."""
    low, high = min(found), max(found)
    if low == high:
        return low
    day, zone = high.split(" ")[0], " UTC"
    return f"{low.removesuffix(zone)}–{high.removeprefix(f'{day} ')}" if low.startswith(day) else f"{low.removesuffix(zone)} – {high}"


def origins(rows, top):
    """At which commits and when the rows were measured: those of the commit with most of them are not named."""
    groups = {}
    for row in rows:
        groups.setdefault(row.get("commit", top["commit"]), []).append(row)
    when = lambda commit: dates([row.get("date", top["date"]) for row in groups[commit]])  # noqa: E731
    most, *others = sorted(groups, key=lambda commit: -len(groups[commit])) or [top["commit"]]
    named = [f"{', '.join(row['row'] for row in groups[commit])} ({commit}, {when(commit)})" for commit in others]
    return f"Measured at {most} ({when(most) if rows else top['date']}): all rows" + (f" but {' and '.join(named)}" if named else "")


def table(results):
    """All of the text between the markers, as lines."""
    top, rows = results.top, list(results.rows.values())
    threads, rounds = ([row.get(key, top[key]) for row in rows] or [top[key]] for key in ("threads", "rounds"))
    lines = [
        f"Machine: {machine(top['machine'])}. {span(threads, 'thread')} on both sides, medians of {span(rounds, 'alternating round')}"
        + (", **small sizes (--quick)**" if top.get("quick") else "")
        + f". Versions: {', '.join(f'{name} {version}' for name, version in top.get('versions', {}).items()) or 'none reported'}.",
        "",
        f"{origins(rows, top)}.",
        "",
        summary(rows),
        "",
    ]
    if top.get("allocator"):
        found = " and ".join(f"`{name}={value}`" for name, value in top["allocator"].items())
        lines += [f"All programs, ours and the peers', run with {found}: reynolds sets them for itself, and PyTorch gains from them too.", ""]
    for name in dict.fromkeys(row["group"] for row in rows):
        lines += section(name, [row for row in rows if row["group"] == name])
    return lines[:-1]


def split(text, name):
    """What stands before and after the place of `name` in a text of Markdown, with its markers, or raises ValueError."""
    begin, end = f"<!-- results:{name} -->", f"<!-- /results:{name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        found = f"{text.count(begin)} and {text.count(end)}" if text.count(begin) * text.count(end) != 1 else "the second first"
        raise ValueError(f"expected one pair of markers {begin} and {end}, found {found}")
    return text[: text.index(begin) + len(begin)], text[text.index(end) :]
