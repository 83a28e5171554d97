"""What compare.py rests on: medians, merging of files, the table and its markers. Standard library only.

    python3 -m unittest discover -s peers -p 'test_*.py'
"""

import contextlib
import io
import itertools
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import compare  # noqa: E402
import compare_measured  # noqa: E402
import compare_networks  # noqa: E402
import compare_rows  # noqa: E402
import compare_table  # noqa: E402
import report  # noqa: E402
import sides  # noqa: E402
from compare_results import Results  # noqa: E402
from compare_row import Batch, Row, Side, entry, measured, process  # noqa: E402

TOP = {"machine": {"cores": 2, "processor": "X"}, "commit": "abc", "date": "today", "threads": 2, "rounds": 3}


def outcome(*lines, **more):
    return sides.Outcome(list(lines), **more)


def row(name="r", ours=1.0, peers=(), **more):
    return {"row": name, "title": name, "group": "G", "unit": "s", "ours": {"seconds": ours}, "peers": list(peers), **more}


def runs(pid):
    """Whether there is such a process, and it has not ended unnoticed."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Numbers(unittest.TestCase):
    def test_number_is_the_median_of_the_lines_that_match(self):
        side = Side("X", (), {"mode": "a"}, "ms", 1e-3)
        runs = [outcome({"mode": "b", "ms": 1}, {"mode": "a", "ms": ms}) for ms in (30, 10, 500)]
        self.assertAlmostEqual(measured(side, runs)["seconds"], 0.030)

    def test_round_that_failed_is_left_out_and_all_failed_give_the_reason(self):
        side = Side("X", ())
        good, bad = outcome({"seconds": 2.0}), outcome(failure="ended with 1: no memory")
        self.assertEqual(measured(side, [bad, good])["seconds"], 2.0)
        self.assertEqual(measured(side, [bad, bad]), {"missing": "ended with 1: no memory"})

    def test_peer_that_says_it_is_missing_has_no_number(self):
        side = Side("X", ())
        self.assertEqual(measured(side, [outcome({"row": "r", "missing": "no emlp"})]), {"missing": "no emlp"})
        self.assertEqual(measured(Side("X", (), {"form": "a"}), [outcome()])["missing"], "printed no line with seconds, form = a")

    def test_time_of_the_process_does_not_stand_in_for_a_number(self):
        whole = {"row": sides.PROCESS, "seconds": 9.0}
        self.assertEqual(measured(Side("X", ()), [outcome({"missing": "no escnn"}, whole)]), {"missing": "no escnn"})
        self.assertEqual(measured(process("X"), [outcome(whole)])["seconds"], 9.0)

    def test_what_another_line_misses_is_not_missing_here(self):
        runs = [outcome({"form": "a", "missing": "memory"}, {"form": "b", "seconds": 3.0})]
        self.assertEqual(measured(Side("X", (), {"form": "b"}), runs)["seconds"], 3.0)
        self.assertEqual(measured(Side("X", (), {"form": "a"}), runs), {"missing": "memory"})

    def test_ratio_is_theirs_over_ours_and_a_failed_comparison_says_why(self):
        def disagree(ours, theirs):
            raise ValueError("expected an array [2], found [3]")

        ours, theirs = Side("reynolds", ("a",)), Side("X", ("b",))
        runs = {("a",): [outcome({"seconds": 2.0})], ("b",): [outcome({"seconds": 5.0})]}
        found = entry(Row("r", "G", "t", ours, (theirs,), disagree), lambda side: runs[side.command], lambda side: "c")
        self.assertEqual(found["peers"][0]["ratio"], 2.5)
        self.assertEqual(found["peers"][0]["agreement_missing"], "ValueError: expected an array [2], found [3]")

    def test_compiling_is_that_of_the_round_that_compiled_and_stands_beside_the_number(self):
        runs = [outcome({"seconds": 1.0, "compile_seconds": seconds}) for seconds in (20.0, 3.0, 2.0)]
        found = measured(Side("X", (), also=("compile_seconds",)), runs)
        self.assertEqual(compare_table.theirs(found, "s")[0], "1.00 s (compiled in 20.0 s)")

    def test_a_failed_compilation_says_why(self):
        error = RuntimeError("backend='inductor' raised:\nInvalidCxxCompiler: No working C++ compiler found\n\nSet TORCHDYNAMO_VERBOSE=1")
        self.assertEqual(report.cannot_compile(error), "torch.compile cannot: InvalidCxxCompiler: No working C++ compiler found")

    def test_results_of_the_last_run_that_went_well_are_compared_and_no_folder_is_told(self):
        ours, theirs = Side("reynolds", ("a",)), Side("X", ("b",))

        def compared(agree):
            good, bad = outcome({"seconds": 1.0}, text="good"), outcome(failure="ended with 1")
            runs = {("a",): [good, good], ("b",): [good, bad]}
            row = Row("r", "G", "t", ours, (theirs,), agree)
            return entry(row, lambda side: runs[side.command], lambda side: "c")["peers"][0]

        self.assertEqual(compared(lambda ours, theirs: 0.5 if theirs.text == "good" else 9.0)["agreement"], 0.5)
        missing = compared(lambda ours, theirs: open("/nowhere/at/all.npz"))["agreement_missing"]
        self.assertEqual(missing, "all.npz: No such file or directory")

    def test_process_has_time_and_memory_and_its_failure_says_the_last_words(self):
        with tempfile.TemporaryDirectory() as folder:
            code = "print('{\"row\": 1}'); print('{broken'); bytearray(64 << 20)"
            whole = sides.run([sys.executable, "-c", code], 1, pathlib.Path(folder))
            self.assertEqual([line["row"] for line in whole.lines], [1, sides.PROCESS])
            found = measured(process("X"), [whole])
            self.assertGreater(found["memory_mib"], 64)
            failed = sides.run([sys.executable, "-c", "raise SystemExit('out of luck')"], 1, pathlib.Path(folder))
            self.assertEqual(failed.failure, "ended with 1: out of luck")
            self.assertEqual(sides.complaint("warning\nerror: no such option\nfor more, --help"), "error: no such option")
            self.assertEqual(sides.run(["/nowhere/at-all"], 1, pathlib.Path(folder)).failure, "/nowhere/at-all: No such file or directory")

    def test_memory_of_a_small_program_is_its_own_where_the_driver_holds_500_mb(self):
        held = b"x" * 500_000_000
        found = sides.run(["true"], 1, pathlib.Path()).lines[-1]
        self.assertEqual(len(held), 500_000_000)
        self.assertTrue(1 < found["memory_mib"] < 16, found)

    def test_program_that_runs_is_ended_with_the_driver_and_what_it_started_too(self):
        with tempfile.TemporaryDirectory() as folder:
            pids = pathlib.Path(folder) / "pids"
            child = "import subprocess; child = subprocess.Popen(['sleep', '600'])"
            code = f"import os, pathlib, time; {child}; pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{child.pid}} '); time.sleep(600)"

            def stop(_):
                while not (pids.exists() and pids.read_text().endswith(" ")):
                    time.sleep(0.01)
                raise KeyboardInterrupt

            with unittest.mock.patch.object(sides.subprocess.Popen, "wait", stop), self.assertRaises(KeyboardInterrupt):
                sides.run([sys.executable, "-c", code], 1, pathlib.Path(folder))
            for pid in pids.read_text().split():
                until = time.monotonic() + 10
                while runs(pid) and time.monotonic() < until:
                    time.sleep(0.01)
                self.assertFalse(runs(pid), pid)

    def test_all_sides_have_one_allocator_unless_the_user_chose(self):
        self.assertEqual(sides.environment(1)["MALLOC_MMAP_MAX_"], os.environ.get("MALLOC_MMAP_MAX_", "0"))
        with unittest.mock.patch.dict(os.environ, {"MALLOC_MMAP_MAX_": "7"}):
            self.assertEqual(sides.environment(1)["MALLOC_MMAP_MAX_"], "7")


class File(unittest.TestCase):
    def test_rows_are_merged_ordered_and_survive_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "new" / "compare.json"
            results = Results.open(path, TOP)
            for name in ("b", "old", "a"):
                results.put(row(name))
            results.save()
            again = Results.open(path, TOP | {"commit": "def"})
            again.put(row("a", ours=7.0))
            again.keep(["a", "b"])
            again.save()
            found = json.loads(path.read_text())
            self.assertEqual([(row["row"], row["ours"]["seconds"]) for row in found["rows"]], [("a", 7.0), ("b", 1.0)])
            self.assertEqual(found["commit"], "def")
            self.assertEqual([file.name for file in path.parent.iterdir()], ["compare.json"])

    def test_versions_of_all_sides_stand_at_the_top(self):
        with tempfile.TemporaryDirectory() as folder:
            results = Results.open(pathlib.Path(folder) / "compare.json", TOP)
            for number, numpy in enumerate(("1.26.4", "1.23.5", "1.26.4")):
                results.put(row(str(number), peers=[{"who": "X", "seconds": 1.0, "versions": {"torch": "2.11.0", "numpy": numpy}}]))
            results.save()
            found = json.loads(results.path.read_text())["versions"]
            self.assertEqual(found, {"numpy": "1.23.5 and 1.26.4", "torch": "2.11.0"})


class Table(unittest.TestCase):
    def text(self, *rows):
        results = Results("unused", TOP)
        for found in rows:
            results.put(found)
        return "\n".join(compare_table.table(results))

    def test_lost_row_is_marked_and_counted_but_not_against_a_reference(self):
        lost = {"who": "X", "seconds": 0.5, "ratio": 0.5}
        text = self.text(row(peers=[lost, {"who": "sum", "seconds": 0.1, "ratio": 0.1, "reference": True}]))
        self.assertEqual(text.count(compare_table.LOSES), 1)
        self.assertIn("1 comparisons, 0 won, 1 lost", text)
        self.assertIn("| sum (for scale) | 100 ms | 0.100 |", text)

    def test_missing_peer_says_why_and_does_not_break_the_table(self):
        text = self.text(row(peers=[{"who": "EMLP", "missing": "no module | six\nat all"}]))
        self.assertIn("not run: no module \\| six at all", text)
        self.assertEqual({line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("|")}, {7})

    def test_peer_that_is_checked_elsewhere_says_so_but_not_a_reference(self):
        sides = [Side("X", ("b",), checked="golden test"), Side("sum", ("b",), checked="golden test", reference=True)]
        found = entry(Row("r", "G", "t", Side("reynolds", ("a",)), tuple(sides)), lambda side: [outcome({"seconds": 1.0})], lambda side: "c")
        text = self.text(found)
        self.assertIn("| X | 1.00 s | 1.00 | golden test |", text)
        self.assertIn("| sum (for scale) | 1.00 s | 1.00 | – |", text)

    def test_copies_that_are_a_floor_have_their_size(self):
        found = row(ours=3.0) | {"ours": {"seconds": 3.0, "copy_seconds": 2.0, "weights": 1_004_400.0}}
        self.assertIn("3.00 s (1.50 × copying 4.02 MB)", self.text(found))
        self.assertEqual([compare_table.size(count) for count in (576, 262_144, 4e8, 1e9)], ["576 B", "262 kB", "400 MB", "1.00 GB"])

    def test_penalty_grows_by_decades(self):
        sizes = [row(f"penalty-1e{n}", ours=seconds, peers=[{"who": "tape", "seconds": 2 * seconds}]) for n, seconds in ((7, 0.02), (6, 0.001))]
        self.assertIn("reynolds 20.0; tape 20.0.", self.text(*sizes))

    def test_times_have_three_digits(self):
        found = [compare_table.seconds(value) for value in (1234.5, 123.4, 1.0, 0.0123, 45.6e-6, 7e-9)]
        self.assertEqual(found, ["1,234 s", "123 s", "1.00 s", "12.3 ms", "45.6 µs", "7.00 ns"])

    def test_a_text_is_split_at_its_one_pair_of_markers(self):
        before, after = compare_table.split("a\n<!-- results:x -->\nold\n<!-- /results:x -->\nb\n", "x")
        self.assertEqual((before, after), ("a\n<!-- results:x -->", "<!-- /results:x -->\nb\n"))
        for text in ("", "<!-- /results:x -->\n<!-- results:x -->\n"):
            with self.assertRaisesRegex(ValueError, "results:x"):
                compare_table.split(text, "x")

    def test_rounds_and_threads_that_differ_are_a_range(self):
        self.assertIn("2 threads on both sides, medians of 3 alternating rounds.", self.text(row()))
        found = self.text(row("a", rounds=1, threads=1), row("b", rounds=11, threads=2))
        self.assertIn("1 to 2 threads on both sides, medians of 1 to 11 alternating rounds.", found)

    def test_commits_are_named_once_and_the_rows_of_the_commonest_not_at_all(self):
        def at(commit, minute, *names):
            return [row(name, commit=commit, date=f"2026-11-16 05:{minute + n:02} UTC") for n, name in enumerate(names)]

        self.assertIn("Measured at abc (today): all rows.", self.text(row("a"), row("b")))
        found = self.text(*at("3ef1752", 19, "a", "b", "c"), *at("5fc8971", 35, "d"), *at("5fc8972", 40, "e", "f"))
        others = "e, f (5fc8972, 2026-11-16 05:40–05:41 UTC) and d (5fc8971, 2026-11-16 05:35 UTC)"
        self.assertIn(f"Measured at 3ef1752 (2026-11-16 05:19–05:21 UTC): all rows but {others}.", found)
        self.assertEqual(compare_table.dates(["2026-11-15 23:59 UTC", "2026-11-16 00:01 UTC"]), "2026-11-15 23:59 – 2026-11-16 00:01 UTC")


class Runs(unittest.TestCase):
    """compare.py from its options to its file, on two rows whose programs print a number."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "compare-cpu.json"

    def run_with(self, *options, seconds=1, stopped_at=None, commit="new"):
        """The exit code and what was said, with rows a, b and slow, which wants --clone; the run is stopped when it comes to the row `stopped_at`."""

        def make(name, **more):
            def interrupt(_):
                if name == stopped_at:
                    raise KeyboardInterrupt

            side = Side("reynolds", (sys.executable, "-c", f'print(\'{{{{"seconds": {seconds}}}}}\')'))
            return Batch((Row(name, "G", name, side, ()),), (interrupt,), **more)

        said = io.StringIO()
        arguments = ["compare.py", "--reynolds", sys.executable, "--threads", "1", "--rounds", "1", "--out", str(self.folder), *options]
        with (
            unittest.mock.patch.object(sys, "argv", arguments),
            unittest.mock.patch.object(compare_rows, "batches", lambda *_: [make("a"), make("b"), make("slow", clone=True)]),
            unittest.mock.patch.dict(os.environ, {"REYNOLDS_COMMIT": commit}),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(said),
        ):
            try:
                return compare.main(), said.getvalue()
            except KeyboardInterrupt:
                return 130, said.getvalue()
            except SystemExit as end:
                return end.code, said.getvalue()

    def found(self):
        return [(row["row"], row["ours"]["seconds"], row["commit"]) for row in json.loads(self.path.read_text())["rows"]]

    def refused(self, *options):
        """The one line that is said, after which nothing was measured."""
        code, said = self.run_with(*options)
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertRegex(said, "expected .*, found ")
        return said

    def test_rows_stay_until_they_are_measured_anew(self):
        self.assertEqual(self.run_with(commit="old")[0], 0)
        self.assertEqual(self.run_with(seconds=2, stopped_at="b")[0], 130)
        self.assertEqual(self.found(), [("a", 2, "new"), ("b", 1, "old")])
        self.assertEqual(self.run_with("--resume", seconds=3)[0], 0)
        self.assertEqual(self.found(), [("a", 2, "new"), ("b", 3, "new")])
        self.assertEqual(self.run_with("--fresh", stopped_at="b")[0], 130)
        self.assertEqual(self.found(), [("a", 1, "new")])

    def test_file_of_another_machine_is_begun_anew_where_all_is_measured_and_refused_else_as_one_of_another_device_or_size_is(self):
        self.run_with()
        whole = json.loads(self.path.read_text())
        others = {"machine": whole["machine"] | {"cores": 999}, "device": "cuda:7", "quick": True}
        for (key, other), named in zip(others.items(), ("999 cores", "cuda:7", "--quick"), strict=True):
            self.path.write_text(json.dumps(whole | {key: other}))
            for options in (("--only", "a"), ("--resume",), *([] if key == "machine" else [()])):
                said = self.refused(*options)
                self.assertTrue(named in said and "compare-cpu.json" in said and "--fresh" in said, said)
            self.assertEqual(json.loads(self.path.read_text())[key], other)
            code, said = self.run_with(*([] if key == "machine" else ["--fresh"]))
            self.assertEqual((code, "begun anew" in said), (0, key == "machine"), said)
            self.assertEqual(json.loads(self.path.read_text())[key], whole[key])

    def test_rows_that_want_clone_are_not_passed_over_in_silence(self):
        self.assertIn("--clone", self.refused("--only", "slow"))
        self.assertEqual(self.run_with("--only", "slow", "--clone")[0], 0)
        self.assertEqual([name for name, *_ in self.found()], ["slow"])

    def test_a_file_of_something_else_is_refused_before_anything_is_measured(self):
        self.run_with()
        whole = json.loads(self.path.read_text())
        for broken in ({"rows": whole["rows"]}, whole | {"rows": [{"row": "a"}]}):
            self.path.write_text(json.dumps(broken))
            self.assertIn("compare-cpu.json", self.refused())

    def test_places_that_cannot_be_written_are_found_before_anything_is_measured(self):
        file = self.folder / "file"
        file.write_text("")
        self.assertIn("--out", self.refused("--out", str(file / "below")))
        self.path.mkdir()
        self.assertIn("compare-cpu.json", self.refused())


class Rows(unittest.TestCase):
    def test_names_are_unique_and_every_command_can_be_filled_in(self):
        places = dict.fromkeys(("reynolds", "python", "peers", "work", "fresh", "threads", "device", "bench-so2"), "x")
        for quick in (False, True):
            for device, compiled in itertools.product(("cpu", "cuda:0"), (False, True)):
                batches = compare_rows.batches(quick, device, 2, compiled)
                names = [row.id for batch in batches for row in batch.rows]
                self.assertEqual(len(names), len(set(names)))
                for side in (side for batch in batches for side in batch.sides()):
                    self.assertTrue(all(part.format_map(places) for part in side.command))

    def test_training_steps_and_penalties_are_compared_or_say_where(self):
        for device in ("cpu", "cuda:0"):
            for row in (row for batch in compare_rows.batches(False, device, 2) for row in batch.rows):
                if row.section in (compare_rows.PENALTY, compare_networks.TRAINING):
                    self.assertTrue(all(row.agree or peer.checked or peer.reference for peer in row.peers), row.id)

    def test_convolutions_are_compared_with_channels_last_and_penalties_with_torch_compile_on_both_devices(self):
        for device, compiled in itertools.product(("cpu", "cuda:0"), (False, True)):
            for row in (row for batch in compare_rows.batches(False, device, 2, compiled) for row in batch.rows):
                named = lambda words: sum(words in peer.who for peer in row.peers)  # noqa: E731
                if row.section == compare_networks.TRAINING and not row.id.startswith("so2"):
                    self.assertGreater(named("channels last"), 0, row.id)
                if row.section == compare_rows.PENALTY and row.peers:
                    self.assertEqual(named("torch.compile"), 2, row.id)
                if row.id in ("medmnist-ours", "ct-dicdnet"):
                    self.assertEqual(named("torch.compile"), int(compiled) if device == "cpu" else 2, row.id)
                if device != "cpu" and row.section == compare_networks.TRAINING and row.id != "medmnist-scnn":
                    self.assertEqual((named("reduce-overhead"), named("CUDA graph")), (1, 1), row.id)

    def test_every_network_is_measured_with_the_penalty_and_without(self):
        for device, networks in (("cpu", 5), ("cuda:0", 3)):
            rows = [row for batch in compare_networks.batches(False, device, 2) for row in batch.rows if row.unit == "s"]
            named = lambda words: {row.title.replace(words, "") for row in rows if words in row.title}  # noqa: E731
            with_it, without = named(" with the penalty"), named(" without the penalty")
            self.assertEqual((with_it, len(with_it)), (without, networks))
            self.assertLessEqual({"ct-dicdnet", "ct-dicdnet-penalty"}, {row.id for row in rows})

    def test_a_clone_is_compared_up_to_the_same_kind_of_result(self):
        script = (pathlib.Path(__file__).parent / "first_result.sh").read_text()
        batch, = compare_rows.clones()
        self.assertTrue(batch.clone)
        self.assertEqual({row.id: len(row.peers) for row in batch.rows}, {"clone-projection": 2, "clone": 0})
        for side in batch.sides():
            self.assertRegex(script, rf"(?m)^    ([a-z-]+ \| )*{side.command[2]}( \| [a-z-]+)*\)$")

    def test_the_numbers_of_the_readme_are_of_rows_and_peers_that_exist(self):
        for where, device in (("cpu", "cpu"), ("gpu", "cuda:0")):
            known = {(row.id, peer.who) for batch in compare_rows.batches(False, device, 2) for row in batch.rows for peer in row.peers}
            for _, name, who, place in compare_measured.ROWS:
                self.assertTrue(place != where or (name, who) in known, f"{name}, {who}")

    def test_a_number_of_the_readme_is_ours_and_their_multiple(self):
        results = Results("unused", TOP)
        usual = {"who": "symm-learning", "seconds": 1e-3, "ratio": 50.0}
        scale = {"who": "sum", "seconds": 1e-6, "ratio": 0.05, "reference": True}
        results.put(row("dense-c4", ours=2e-5, peers=[usual, scale]))
        found = compare_measured.lines({"cpu": results})
        self.assertIn("| 20.0 µs | – | 1.00 ms, 50.0 × ours: symm-learning | `make compare` |", found[2])
        results.put(row("dense-c4", ours=2e-5, peers=[usual, {"who": "X", "seconds": 1e-5, "ratio": 0.5}, scale]))
        found = compare_measured.lines({"cpu": results})
        self.assertIn(f"| 20.0 µs | 1.00 ms, 50.0 × ours: symm-learning | 10.0 µs, 0.500 × ours ({compare_table.LOSES}): X |", found[2])
        self.assertEqual(sum("| not measured |" in line for line in found), 3)


if __name__ == "__main__":
    unittest.main()
