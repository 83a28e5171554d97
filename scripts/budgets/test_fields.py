"""python3 -m unittest discover scripts/budgets"""

import unittest

import torch

from fields import TURNS, orbit_table, project
from network import mnist_network, modelnet_network

NETWORKS = {(28, 28): mnist_network, (28, 28, 28): modelnet_network}


class Projection(unittest.TestCase):
    def setUp(self):
        self.generator = torch.Generator().manual_seed(0)

    def cases(self):
        for grid, build in NETWORKS.items():
            for norm in ("none", "layer"):
                network = build(8, norm)
                yield grid, network, orbit_table(network), network.initial(self.generator).double()

    def test_projection_is_idempotent_and_the_action_has_order_four(self):
        for _, _, table, weights in self.cases():
            projected = project(weights, table)
            torch.testing.assert_close(project(projected, table), projected)
            self.assertTrue((table[1][table[TURNS - 1]] == table[0]).all())
            torch.testing.assert_close(weights[table[1]][table[1]], weights[table[2]])

    def test_projected_networks_are_invariant_and_others_are_not(self):
        for grid, network, table, weights in self.cases():
            images = torch.randn(2, *grid, 1, generator=self.generator, dtype=torch.float64)
            for flat, invariant in ((2 * project(weights, table), True), (weights, False)):
                parameters = network.split(flat)
                logits = [network.logits(parameters, images.rot90(turn, (1, 2))) for turn in range(TURNS)]
                change = max((other - logits[0]).norm().item() for other in logits[1:]) / logits[0].norm().item()
                self.assertEqual(change < 1e-6, invariant, change)


if __name__ == "__main__":
    unittest.main()
