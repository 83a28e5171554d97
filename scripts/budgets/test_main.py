import unittest
from types import SimpleNamespace

from main import Speeds, speed
from plans import PLANS
from training import Job


class Main(unittest.TestCase):
    def test_measuring_asks_for_no_step_beyond_the_last(self):
        with self.assertRaises(ValueError):
            speed(SimpleNamespace(unroll=5), [Job("mnist", 400, 32, "none", 1.0, 1e-3, 1000, 0)], 200)

    def test_a_cohort_has_equal_numbers_of_steps_and_no_network_twice(self):
        for build in PLANS.values():
            for jobs in build():
                self.assertEqual((len({(job.data, job.steps) for job in jobs}), len(set(jobs))), (1, len(jobs)))

    def test_a_wider_network_is_foreseen_to_take_longer(self):
        narrow, wide = ([Job("mnist", 400, channels, "none", 1.0, 1e-3, 1000, 0)] for channels in (32, 64))
        speeds = Speeds()
        speeds.saw(narrow, 1000, 10)
        self.assertAlmostEqual(speeds.foresee(wide) - 8, 4 * (speeds.foresee(narrow) - 8))


if __name__ == "__main__":
    unittest.main()
