"""results/pay/fig-pay.svg: test accuracy by the probability that an image is upright, a panel a set, number of images and width."""

from statistics import mean, stdev

from pay import NAMES, SEEDS, accuracies, settings

ROWS = {"none": "#7f7f7f", "weight decay": "#bcbd22", "augmentation": "#d62728", "strict": "#2ca02c", "squared": "#1f77b4", "target": "#17becf", "sampled": "#9467bd"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 210, 190, 46, 40, 44


def panels(root):
    """Settings that differ in b only, where there are at least three."""
    found = {}
    for setting in settings(root):
        found.setdefault((setting.data, setting.train, setting.channels), []).append(setting)
    return [group for group in found.values() if len(group) > 2]


def scale(group):
    """Accuracies at the lower and upper end of a panel."""
    means = [mean(accuracies(setting.rows[row])) for setting in group for row in ROWS if row in setting.rows]
    return 5 * (min(means) // 5), 5 * (max(means) // 5 + 1)


def panel(group, left):
    low, high = scale(group)
    across = lambda b: left + 12 + b * (WIDTH - 24)  # noqa: E731
    up = lambda accuracy: TOP + HEIGHT * (high - accuracy) / (high - low)  # noqa: E731
    text = lambda x, y, words, anchor="middle": f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}">{words}</text>'  # noqa: E731
    first = group[0]
    yield text(left + WIDTH / 2, TOP - 12, f"{NAMES[first.data]}, {first.images()}")
    yield f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999999"/>'
    for accuracy in range(int(low), int(high) + 1, 5):
        yield f'<path d="M{left} {up(accuracy):.1f}h{WIDTH}" stroke="#e4e4e4"/>' + text(left - 5, up(accuracy) + 4, accuracy, "end")
    for setting in group:
        yield text(across(setting.upright), TOP + HEIGHT + 15, f"{setting.upright:g}")
    yield text(left + WIDTH / 2, TOP + HEIGHT + 32, "b, probability that an image is upright")
    for row, colour in ROWS.items():
        points = [(across(s.upright), mean(tests := accuracies(s.rows[row])), stdev(tests) / SEEDS**0.5) for s in group if row in s.rows]
        if points:
            yield f'<path d="M{"L".join(f"{x:.1f} {up(y):.1f}" for x, y, _ in points)}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        for x, y, error in points:
            yield f'<path d="M{x:.1f} {up(y - error):.1f}V{up(y + error):.1f}" stroke="{colour}"/><circle cx="{x:.1f}" cy="{up(y):.1f}" r="2.6" fill="{colour}"/>'


def figure(root):
    groups = panels(root)
    width, height = LEFT + len(groups) * (WIDTH + GAP) + 96, TOP + HEIGHT + 44
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="Helvetica, Arial, '
             "'Liberation Sans', 'DejaVu Sans', sans-serif\" fill=\"#1c1c1c\">", f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             f'<text x="8" y="{TOP - 12}" font-size="11">test, %</text>']
    for number, group in enumerate(groups):
        lines += panel(group, LEFT + number * (WIDTH + GAP))
    for number, (row, colour) in enumerate(ROWS.items()):
        x, y = width - 126, TOP + 10 + 18 * number
        lines += [f'<path d="M{x} {y}h18" stroke="{colour}" stroke-width="1.6"/><circle cx="{x + 9}" cy="{y}" r="2.6" fill="{colour}"/>'
                  f'<text x="{x + 24}" y="{y + 4}" font-size="11">{row}</text>']
    return "\n".join([*lines, "</svg>", ""])
