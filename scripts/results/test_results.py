"""The pages are those of results/, and their parts do what they say."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import main  # noqa: E402
import table  # noqa: E402
import verdicts  # noqa: E402


class Pages(unittest.TestCase):
    def test_every_page_is_what_results_say(self):
        for path, text in main.texts(main.ROOT).items():
            file = main.ROOT / path
            self.assertTrue(file.is_file() and file.read_text() == text, f"{path}: out of date; run `make results`")

    def test_every_link_leads_somewhere(self):
        import re
        for path, text in main.texts(main.ROOT).items():
            for link in re.findall(r"\]\(([^)#:]+)\)", text):
                self.assertTrue(((main.ROOT / path).parent / link).exists(), f"{path}: {link}")

    def test_pages_and_lines_are_short_enough(self):
        for name, most in (("README", 130), ("ARCHITECTURE", 150), ("CONTRIBUTING", 80)):
            self.assertLessEqual(len((main.ROOT / f"{name}.md").read_text().splitlines()), most, name)
        for path in [*main.ROOT.glob("*.md"), *main.ROOT.glob("docs/**/*.md"), *main.ROOT.glob("*/README.md")]:
            code = False
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code ^= line.startswith("```")
                self.assertTrue(code or len(line) <= 120 or line.startswith(("|", "!", "<!--")), f"{path}:{number}: {len(line)} characters")


class Parts(unittest.TestCase):
    def test_a_cell_has_its_spread_where_there_are_several_seeds(self):
        row = {"seeds": "3", "psnr_mean": "41.234", "psnr_sd": "0.1", "mode": "plain", "gain": "-1.5", "none_mean": "", "none_sd": ""}
        self.assertEqual(table.cell(row, "psnr", 1), "41.2 ± 0.1")
        self.assertEqual(table.cell({**row, "seeds": "1"}, "psnr", 1), "41.2")
        self.assertEqual([table.cell(row, "mode", None), table.cell(row, "gain", 2), table.cell(row, "none", 1)], ["plain", "-1.50", "–"])

    def test_rows_of_a_sweep_are_one_for_each_setting(self):
        rows = [{"k": "1", "m": "2"}, {"k": "1", "m": "4"}, {"k": "3", "m": "5"}]
        found = [(row["k"], table.cell(row, "m", 1)) for row in table.over_seeds(rows, ["k"], ["m"])]
        self.assertEqual(found, [("1", "3.0 ± 1.4"), ("3", "5.0")])

    def test_every_committed_claim_has_a_verdict_and_an_undecided_one_a_reason(self):
        found = [check for _, _, check in verdicts.checks(main.ROOT)]
        self.assertGreater(len(found), 50)
        for check in found:
            self.assertIn(check["verdict"], (verdicts.HELD, verdicts.FELL, verdicts.OPEN), check)
            self.assertEqual("reason" in check, check["verdict"] == verdicts.OPEN, check)
            self.assertFalse(check["held"] and check["verdict"] == verdicts.FELL, check)


if __name__ == "__main__":
    unittest.main()
