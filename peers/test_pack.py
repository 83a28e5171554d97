"""What `scripts/gpu.sh pack` takes along of the data, what `run compare` says at its end, and how tables go on from machine to machine; builds
and programs are left out. Standard library and bash only.

    python3 -m unittest discover -s peers -p 'test_*.py'
"""

import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "gpu.sh"
# Leaves what a build would.
CARGO = "#!/bin/sh\nmkdir -p target/release && touch target/release/reynolds target/release/reynolds-paper target/release/lib_reynolds.so\n"


class Pack(unittest.TestCase):
    def packed(self, *files):
        """What lies under carry/ct and carry/medmnist, and what was said, where the data are these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "scripts").mkdir()
            shutil.copy(SCRIPT, root / "scripts")
            for part in ("reynolds", "tests"):
                (root / "python" / part).mkdir(parents=True)
            nothing = "#!/bin/sh\n"
            for name, text in (("cargo", CARGO), ("git", "#!/bin/sh\necho abc\n"), ("strip", nothing), ("python3", nothing)):
                path = root / "bin" / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
                path.chmod(0o755)
            for file in files:
                path = root / "data" / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("")
            environment = {"PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
            done = subprocess.run(["bash", str(root / "scripts" / "gpu.sh"), "pack"], env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            carry = root / "carry"
            found = [path for part in ("ct", "medmnist") for path in (carry / part).rglob("*") if path.is_file()]
            return {str(path.relative_to(carry)) for path in found}, done.stderr

    def test_what_there_is_is_taken_and_what_is_missing_is_said(self):
        files = {"ct/a.npz", "ct/aapm/phantom.vf", "medmnist/organmnist3d.npz"}
        found, said = self.packed(*files)
        self.assertEqual(found, files)
        for missing in ("ct/aapm/metal_masks.mat: expected a file, found none", "vesselmnist3d.npz"):
            self.assertIn(missing, said)
        self.assertNotIn("phantom.vf", said)

    def test_slices_need_no_files_beside_them_and_no_data_is_no_complaint(self):
        self.assertEqual(self.packed("ct/a.npz")[0], {"ct/a.npz"})
        self.assertEqual(self.packed(), (set(), ""))


def machine(folder, python="#!/bin/sh\n", reynolds=""):
    """A folder like the root of the repository, with these programs."""
    root = pathlib.Path(folder)
    programs = {"scripts/gpu.sh": SCRIPT.read_text(), "bin/python3": python, "bin/nvidia-smi": "#!/bin/sh\n", "carry/reynolds": reynolds}
    for name, text in programs.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (root / "carry" / "commit").write_text("abc\n")
    return root


class Table(unittest.TestCase):
    # Leaves a model more, and says what it was asked.
    REYNOLDS = """#!/bin/bash
echo "$*"
[ "${*: -2:1}" = --resume ] && folder="${*: -1}" || folder="${*: -1}/reproduce/fig-shapes/1"
mkdir -p "$folder" && touch "$folder/$(ls "$folder" | wc -l).json" "$folder/0.safetensors"
"""

    def run_once(self, archive=None):
        """What the program was asked by a machine with this archive of another, and the archive that it leaves."""
        with tempfile.TemporaryDirectory() as folder:
            root = machine(folder, reynolds=self.REYNOLDS)
            if archive:
                (root / "carry" / "shapes.tar.gz").write_bytes(archive)
            environment = {"PATH": f"{root / 'bin'}:{os.environ['PATH']}", "TABLE": "shapes"}
            command = ["bash", str(root / "scripts" / "gpu.sh"), "run", "fig-shapes", str(root / "out")]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.splitlines()[-1], (root / "out" / "shapes.tar.gz").read_bytes()

    def test_an_archive_of_another_machine_goes_on(self):
        said, archive = self.run_once()
        self.assertTrue(said.endswith("--runs carry/tables/shapes"), said)
        said, archive = self.run_once(archive)
        self.assertTrue(said.endswith("--resume carry/tables/shapes/reproduce/fig-shapes/carried"), said)
        with tarfile.open(fileobj=io.BytesIO(archive)) as found:
            self.assertEqual({name for name in found.getnames() if name != "."}, {"./0.json", "./1.json"})


class Compare(unittest.TestCase):
    def said(self, code, *out, **variables):
        """The last line of `run compare` whose compare.py ends with `code`, or is stopped where that is a second that it is asked to sleep."""
        with tempfile.TemporaryDirectory() as folder:
            root = machine(folder, python=f'#!/bin/sh\ncase "$*" in *compare.py*) {code} ;; esac\n')
            environment = {"PATH": f"{root / 'bin'}:{os.environ['PATH']}", **variables}
            command = ["bash", str(root / "scripts" / "gpu.sh"), "run", "compare", *out]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
            return done.returncode, (done.stderr.splitlines() or [""])[-1].rstrip()

    def test_last_line_of_a_run_that_was_stopped_is_the_command_that_goes_on(self):
        stopped = "exec sleep 30"
        self.assertEqual(self.said(stopped, STOP="0.1"), (0, "STOP=0.1 COMPARE_ARGS='--resume' scripts/gpu.sh run compare"))
        found = self.said(stopped, "there", STOP="0.1", ROUNDS="1", COMPARE_ARGS="--fresh --only ct-*")
        self.assertEqual(found, (0, "STOP=0.1 ROUNDS=1 COMPARE_ARGS='--resume --only ct-*' scripts/gpu.sh run compare there"))
        found = self.said(stopped, STOP="0.1", COMPARE_ARGS="--resume")
        self.assertEqual(found, (0, "STOP=0.1 COMPARE_ARGS='--resume' scripts/gpu.sh run compare"))

    def test_a_run_that_ended_by_itself_needs_no_other(self):
        self.assertEqual(self.said("exit 0"), (0, ""))
        self.assertEqual(self.said("exit 2"), (2, ""))
        self.assertIn("not all of our side was measured", self.said("exit 1")[1])


if __name__ == "__main__":
    unittest.main()
