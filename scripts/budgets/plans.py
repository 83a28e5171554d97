"""Which networks to train, in order of importance: cohorts of jobs with equal numbers of steps."""

from training import Job

RATES = (3e-4, 1e-3, 3e-3)
STRICT_RATES = (1e-3, 3e-3, 1e-2)
RATE = (1e-3, 3e-3)  # the middle ones
TUNED = (1e-3, 3e-3, 1e-2)
STRICT_TOP = (3e-2,)
SEEDS = (1, 2)


def each(data, train, channels, steps, rows, uprights, rates=RATES, seeds=SEEDS, **options):
    """Jobs for all combinations; `rows`: pairs of a row's name and its options."""
    return [Job(data, train, channels, row, upright, rate, steps, seed, **setting, **options)
            for row, setting in rows for upright in uprights for rate in rates for seed in seeds]


NONE = ("none", {})
STRICT = ("strict", {})


def decay(strength):
    return ("weight decay", {"weight_decay": strength})


def turned(probability):
    return ("augmentation", {"augmentation": probability})


def others(data, train, channels, steps, rate=1e-3, **options):
    """Weight decay and augmentation at one learning rate."""
    one = {"rates": (rate,), **options}
    return (each(data, train, channels, steps, [decay(0.1), decay(1.0)], (0.5, 1.0), **one)
            + each(data, train, channels, steps, [turned(0.5), turned(1.0)], (0.5,), **one)
            + each(data, train, channels, steps, [turned(0.25), turned(0.5)], (1.0,), **one))


def ends(data, train, channels, steps, none_at, strict_at, **options):
    """None and strict at three learning rates each; equivariant weights are fewer and their best rate is higher."""
    return (each(data, train, channels, steps, [NONE], none_at, RATES, **options)
            + each(data, train, channels, steps, [STRICT], strict_at, STRICT_RATES, **options))


def usual(data, train, channels, steps, none_at, strict_at, rates=RATE, **options):
    """None and strict at the middle learning rate."""
    return (each(data, train, channels, steps, [NONE], none_at, rates[:1], **options)
            + each(data, train, channels, steps, [STRICT], strict_at, rates[1:], **options))


def few(train, channels, steps):
    """All rows: none and strict at every learning rate where b = 0.5, at one elsewhere."""
    return (ends("mnist", train, channels, steps, (0.5,), (0.5,)) + usual("mnist", train, channels, steps, (1.0,), (1.0,))
            + others("mnist", train, channels, steps))


def longer(train, channels, steps):
    """None, augmentation and strict; and the ends at a constant learning rate."""
    return (usual("mnist", train, channels, steps, (0.5,), (0.5,)) + each("mnist", train, channels, steps, [turned(1.0)], (0.5,), RATE[:1])
            + usual("mnist", train, channels, steps, (0.5,), (0.5,), schedule="constant"))


def first():
    """Call 1: the three sizes of MNIST at 32 channels, ModelNet10 at a glance, then wider and longer."""
    small = ("modelnet10", 400, 32, 3_000)
    return [
        ends("mnist", 50_000, 32, 15_000, (1.0, 0.5), (0.0, 1.0)),
        few(500, 32, 3_000),
        few(5_000, 32, 6_000),
        each(*small, [NONE, turned(1.0)], (0.5, 1.0), (3e-4, 1e-3), batch=32) + each(*small, [STRICT], (0.5, 1.0), (1e-3, 3e-3), batch=32),
        ends("mnist", 500, 32, 3_000, (0.5,), (0.5,), norm="layer"),
        ends("mnist", 5_000, 32, 6_000, (0.5,), (0.5,), norm="layer"),
        longer(500, 32, 9_000),
        longer(5_000, 32, 18_000),
        few(500, 64, 3_000),
        few(5_000, 64, 6_000),
        usual("mnist", 50_000, 32, 15_000, (1.0, 0.5), (0.0, 1.0), norm="layer"),
        ends("mnist", 500, 128, 3_000, (0.5, 1.0), (0.5, 1.0)) + each("mnist", 500, 128, 3_000, [turned(1.0)], (0.5,), RATE[:1]),
        usual("mnist", 50_000, 64, 15_000, (1.0,), (0.0,)),
        others("mnist", 50_000, 32, 15_000),
        usual("mnist", 50_000, 32, 30_000, (1.0,), (0.0,)),
    ]


def wide(train, channels, steps):
    """The rows at b = 0.5, and none at b = 1: 18 networks."""
    at = "mnist", train, channels, steps
    return (each(*at, [NONE], (0.5,)) + each(*at, [STRICT], (0.5,), STRICT_RATES[:2]) + each(*at, [turned(1.0), decay(0.1), decay(1.0)], (0.5,), RATE[:1])
            + each(*at, [NONE], (1.0,), RATE[:1]))


def three(data, train, channels, steps, **options):
    """None, augmentation and strict at b = 0.5 and one learning rate: 6 networks."""
    at = data, train, channels, steps
    return usual(*at, (0.5,), (0.5,), **options) + each(*at, [turned(1.0)], (0.5,), RATE[:1], **options)


def many(steps):
    """All images of MNIST, 18 networks."""
    at = "mnist", 50_000, 32, steps
    return (each(*at, [NONE], (0.5, 1.0), RATE) + each(*at, [STRICT], (0.5,), RATE)
            + each(*at, [turned(1.0), decay(0.1)], (0.5,), RATE[:1]) + each(*at, [turned(0.5)], (1.0,), RATE[:1]))


def volumes(train, channels, steps, decays=(0.1, 1.0), upright=True):
    """ModelNet10: 16 networks, or with one weight decay and without b = 1, 12."""
    at = "modelnet10", train, channels, steps
    return (each(*at, [NONE], (0.5,), (3e-4, 1e-3), batch=32) + each(*at, [STRICT], (0.5,), (1e-3, 3e-3), batch=32)
            + each(*at, [turned(1.0), *map(decay, decays)], (0.5,), RATE[:1], batch=32)
            + each(*at, [NONE], (1.0,) if upright else (), RATE[:1], batch=32))


def second():
    """Call 2: all that call 1 did not reach, each with a longer or a shorter training beside it, and ModelNet10."""
    return [
        few(500, 32, 3_000),
        few(5_000, 32, 6_000),
        wide(500, 64, 3_000),
        volumes(3_361, 32, 6_000),
        volumes(400, 32, 3_000),
        wide(5_000, 64, 6_000),
        three("mnist", 500, 32, 1_000),
        three("mnist", 5_000, 32, 2_000),
        longer(500, 32, 9_000),
        three("mnist", 5_000, 32, 18_000),
        many(15_000),
        volumes(3_361, 64, 6_000, (1.0,), False),
        three("modelnet10", 400, 32, 9_000, batch=32),
        three("mnist", 50_000, 32, 5_000),
        volumes(400, 64, 3_000, (1.0,), False),
        three("mnist", 500, 128, 3_000),
        three("modelnet10", 3_361, 32, 18_000, batch=32),
        three("modelnet10", 3_361, 64, 3_000, batch=32),
        three("mnist", 50_000, 64, 15_000),
        three("mnist", 500, 32, 3_000, norm="layer"),
        three("mnist", 5_000, 32, 6_000, norm="layer"),
        three("mnist", 50_000, 32, 30_000),
    ]


def tuned(data, train, channels, upright, rows, steps, **options):
    """Rows at three learning rates, strict at four: the grid from which each takes its own."""
    return [job for row in rows for job in each(data, train, channels, steps, [row], (upright,), TUNED + (STRICT_TOP if row is STRICT else ()), **options)]


def third():
    """Call 3: each row at its own learning rate, at b = 0.5 and 0.9. What call 2 trained is not trained again."""
    decays, turns = [decay(0.1), decay(1.0), decay(10.0)], [turned(0.5), turned(1.0)]
    plain, all_rows = [NONE, STRICT, *decays], [NONE, STRICT, *turns, *decays]
    both = 0.5, 0.9

    def at(data, train, channels, rows, steps, uprights=both, **options):
        return [job for upright in uprights for job in tuned(data, train, channels, upright, rows, steps, **options)]

    cohorts = [
        at("mnist", 500, 32, plain, 3_000),
        at("mnist", 500, 32, turns, 9_000),
        at("mnist", 5_000, 32, all_rows, 6_000, (0.5,)),
        at("mnist", 5_000, 32, all_rows, 6_000, (0.9,)),
        at("modelnet10", 400, 32, all_rows, 3_000, (0.5,), batch=32),
        at("modelnet10", 400, 32, all_rows, 3_000, (0.9,), batch=32),
        at("mnist", 500, 64, plain, 3_000, (0.5,)),
        at("mnist", 500, 64, plain, 3_000, (0.9,)),
        at("mnist", 500, 64, turns, 9_000),
        at("mnist", 5_000, 64, [NONE, STRICT, *turns], 6_000, (0.5,)),
        at("mnist", 5_000, 64, [NONE, STRICT, *turns], 6_000, (0.9,)),
        at("mnist", 5_000, 64, decays, 6_000),
        at("mnist", 500, 32, turns, 3_000),  # augmentation with the steps of the others
        at("mnist", 500, 64, turns, 3_000),
        at("mnist", 50_000, 32, [NONE, STRICT], 15_000, (0.5,)),
        at("mnist", 50_000, 32, turns[1:], 15_000, (0.5,)),
        at("mnist", 50_000, 32, decays[1:2], 15_000, (0.5,)),
        at("mnist", 50_000, 32, decays[:1], 15_000, (0.5,)),
    ]
    done = {job for jobs in second() for job in jobs}
    return [[job for job in jobs if job not in done] for jobs in cohorts]


def tiny():
    """A few steps on a CPU, to see that everything runs."""
    return [each("mnist", 50, 8, 20, [NONE, STRICT, decay(0.1), turned(0.5)], (0.5,), (1e-3,), (1,), batch=8),
            each("modelnet10", 20, 4, 20, [NONE, STRICT], (0.5,), (1e-3,), (1,), batch=4, norm="layer")]


PLANS = {"first": first, "second": second, "third": third, "tiny": tiny}
