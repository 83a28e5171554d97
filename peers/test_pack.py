"""What `scripts/gpu.sh pack` takes along of the data; the builds are left out. Standard library and bash only.

    python3 -m unittest discover -s peers -p 'test_*.py'
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "gpu.sh"
# Leaves what a build would.
CARGO = "#!/bin/sh\nmkdir -p target/release && touch target/release/reynolds target/release/reynolds-train\n"


class Pack(unittest.TestCase):
    def packed(self, *files):
        """What lies under carry/ct and carry/medmnist, and what was said, where the data are these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "scripts").mkdir()
            shutil.copy(SCRIPT, root / "scripts")
            for name, text in (("cargo", CARGO), ("git", "#!/bin/sh\necho abc\n"), ("strip", "#!/bin/sh\n")):
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


if __name__ == "__main__":
    unittest.main()
