"""How the scripts here measure, and say it: a line for people, or with --json a line for programs."""

import importlib.metadata
import json
import platform
import statistics
import time


def versions(*packages):
    found = {p: importlib.metadata.version(p) for p in packages}
    return {"python": platform.python_version(), **found}


def timed(call, options, synchronise):
    """Milliseconds of a call: the median over groups of calls, synchronised after each group."""
    for _ in range(options.warmup):
        call()
    synchronise()
    group = max(1, min(options.group_steps, options.steps))
    times = []
    for _ in range(max(1, options.steps // group)):
        begin = time.perf_counter()
        for _ in range(group):
            call()
        synchronise()
        times.append((time.perf_counter() - begin) * 1e3 / group)
    return statistics.median(times)


def compiling(parser):
    """The option of torch.compile."""
    words = "the network by torch.compile in this mode, which happens in the first step, not timed"
    parser.add_argument("--compile", nargs="?", const="default", choices=("default", "reduce-overhead"), help=words)


def compiled(network, options):
    """The network as a function, by torch.compile if that is asked for."""
    if not options.compile:
        return network
    import torch

    call = torch.compile(network, mode=None if options.compile == "default" else options.compile)

    def step(*inputs):
        if options.compile == "reduce-overhead" and not torch.is_grad_enabled():
            torch.compiler.cudagraph_mark_step_begin()
        return call(*inputs)

    return step


def graphed(step):
    """A step in a CUDA graph, warmed up and captured on a side stream; each call replays it and returns the one result."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay():
        graph.replay()
        return result

    return replay


def row(name, seconds, package_versions, as_json):
    if as_json:
        print(json.dumps({"row": name, "seconds": seconds, "versions": package_versions}), flush=True)
    else:
        scaled = f"{seconds * 1e3:.3f} ms" if seconds < 1 else f"{seconds:.2f} s"
        print(f"{name:<75} {scaled:>12}", flush=True)


def cannot_compile(error):
    """Why torch.compile failed, in one line: what is below the name of the compiler it is the error of."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "raised:" not in line] or [type(error).__name__]
    return f"torch.compile cannot: {told[0][:200]}"
