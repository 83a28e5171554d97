import unittest

from report import KEYS, edge, group


def record(seed, accuracy, test):
    curve = {"step": [10 * (at + 1) for at in range(len(accuracy))], "train_loss": [0.0] * len(accuracy),
             "validation_loss": [abs(at - 2) for at in range(len(accuracy))], "validation_accuracy": accuracy}
    return {**dict.fromkeys(KEYS, 0), "data": "mnist", "steps": 10 * len(accuracy), "seed": seed, "curve": curve,
            "test_accuracy": test, "agreement_by_turn": [0.9, 0.5, 0.8], "residual": 0.0}


class Report(unittest.TestCase):
    def test_a_curve_is_flat_from_where_it_stays_within_half_a_standard_error(self):
        # Around 0.9, half a standard error of 5,000 images is 0.0021.
        found = group([record(1, [0.5, 0.9, 0.8, 0.899, 0.9, 0.9, 0.9], 0.8), record(2, [0.5, 0.9, 0.8, 0.899, 0.9, 0.9, 0.9], 0.9)])
        self.assertEqual((found["flat_at"], found["loss_least_at"]), (40, 30))
        self.assertEqual((found["test"], found["test_half_range"], found["agreement"]), (0.85, 0.05, 0.5))

    def test_a_training_that_was_stopped_says_where(self):
        self.assertEqual(group([{**record(1, [0.5, 0.9, 0.9, 0.9], 0.9), "steps": 100}])["stopped_at"], 40)

    def test_the_edge_of_a_grid_is_marked(self):
        tried = [{"row": "weight decay", "weight_decay": strength, "augmentation": 0, "rate": rate} for strength in (0.1, 1.0, 10.0) for rate in (1, 3, 10)]
        self.assertEqual([edge(entry, tried) for entry in tried], ["†‡", "‡", "†‡", "†", "", "†", "†‡", "‡", "†‡"])
        always = [{"row": "augmentation", "weight_decay": 0, "augmentation": share, "rate": rate} for share in (0.5, 1) for rate in (1, 3, 10)]
        self.assertEqual([edge(entry, always) for entry in always], ["†‡", "‡", "†‡", "†", "", "†"])


if __name__ == "__main__":
    unittest.main()
