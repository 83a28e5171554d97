"""How rows are tuned."""

import dataclasses
import unittest

from pay import BASELINES, SETTINGS, STRENGTHS, TUNING_SEEDS, chosen, tuning, tuning_further


def trained(job, accuracy):
    return {**dataclasses.asdict(job), "curve": {"validation_accuracy": [0.1, accuracy]}}


class Tuning(unittest.TestCase):
    def test_every_row_is_tuned_over_its_strengths_and_rates(self):
        setting = SETTINGS[0]
        first = [trained(job, 0.5 + (0.2 if job.strength == 1.0 else 0.0) + job.augmentation / 10) for job in tuning(setting)]
        best = chosen(first)
        self.assertEqual(set(best), set(setting.rows) - {"squared and augmentation"})
        self.assertEqual((best["augmentation"]["augmentation"], best["squared"]["strength"], best["squared"]["strength_at_edge"]), (1.0, 1.0, False))
        further = tuning_further(setting, best)
        self.assertEqual({(job.strength, job.rate) for job in further if job.row == "squared"}, {(1.0, setting.rates[1])})
        both = [job for job in further if job.row == "squared and augmentation"]
        self.assertEqual({job.strength for job in both}, set(STRENGTHS["squared and augmentation"]))
        self.assertEqual({job.augmentation for job in both}, {1.0})
        best = chosen(first + [trained(job, 0.99) for job in further if job.row == "squared"])
        self.assertEqual(best["squared"]["rate"], setting.rates[1])

    def test_a_setting_with_a_seed_missing_is_not_chosen(self):
        job = tuning(SETTINGS[0])[0]
        self.assertEqual(chosen([trained(job, 0.9)]), {})
        self.assertEqual(len(chosen([trained(dataclasses.replace(job, seed=seed), 0.9) for seed in TUNING_SEEDS])), 1)

    def test_settings_are_distinct_and_hold_the_baselines(self):
        self.assertEqual(len(SETTINGS), len({tuple(setting.named().values()) for setting in SETTINGS}))
        for setting in SETTINGS:
            self.assertTrue(set(setting.rows) <= {*BASELINES, *STRENGTHS})


if __name__ == "__main__":
    unittest.main()
