"""Tables in Markdown, from CSV or from lists."""

import csv
import math
import statistics

MISSING = "–"


def markdown(head, rows):
    """Lines of a table."""
    line = lambda cells: "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"  # noqa: E731
    return [line(head), "|" + "---|" * len(head), *map(line, rows)]


def read(path):
    """Rows of a CSV file as dictionaries."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(text, digits):
    """A number with so many decimals, or a dash."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return MISSING
    if not math.isfinite(value):
        return MISSING
    if digits is None:
        return f"{value:.3g}"
    return f"{value:,.{digits}f}"


def cell(row, field, digits):
    """"0.91 ± 0.02" where the row has a mean and a deviation over several seeds, else the field as it is."""
    if f"{field}_mean" not in row:
        text = row.get(field) or MISSING
        return number(text, digits) if digits is not None and text != MISSING else text
    mean, deviation = number(row[f"{field}_mean"], digits), number(row.get(f"{field}_sd"), digits)
    several = row.get("seeds") not in (None, "", "1")
    return f"{mean} ± {deviation}" if several and MISSING not in (mean, deviation) else mean


def over_seeds(rows, keys, metrics):
    """Rows that agree in `keys` as one, with mean and standard deviation of the metrics."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    for values, group in groups.items():
        row = dict(zip(keys, values), seeds=str(len(group)))
        for metric in metrics:
            numbers = [float(one[metric]) for one in group]
            row[f"{metric}_mean"] = str(statistics.fmean(numbers))
            row[f"{metric}_sd"] = str(statistics.stdev(numbers)) if len(numbers) > 1 else ""
        yield row


def table(rows, columns):
    """`columns`: (head, field, decimals or None for text)."""
    return markdown([head for head, _, _ in columns], [[cell(row, field, digits) for _, field, digits in columns] for row in rows])


def day(time):
    """2026-11-19 of 20261119T081500Z."""
    return f"{time[:4]}-{time[4:6]}-{time[6:8]}"
