import unittest

import torch

from fields import orbit_table, project
from methods import METHODS, Spaces, method
from network import mnist_network
from pay import BASELINES, STRENGTHS


class Methods(unittest.TestCase):
    def setUp(self):
        self.network = mnist_network(8)
        self.spaces = Spaces(self.network, orbit_table(self.network))
        self.weights = self.network.initial(torch.Generator().manual_seed(0)).double()
        self.weights += 0.01 * torch.randn(self.weights.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        self.rate = torch.tensor(0.01, dtype=torch.float64)

    def after(self, row, strength, weights=None):
        trained = (self.weights if weights is None else weights).clone()
        method(row, strength, self.spaces).after(trained, self.rate)
        return trained

    def parts(self, weights):
        """P(w) and w − P(w) of every layer, by turning the layer itself."""
        projected = project(weights, self.spaces.table)
        sizes = [part.size for part in self.network.parts()]
        return list(zip(projected.split(sizes), (weights - projected).split(sizes)))

    def test_dimensions_outside_are_those_of_the_complement(self):
        self.assertEqual(self.spaces.outside[0].item(), 8 * 25 - 2 * 25)  # two regular fields of 5 × 5 kernels from a scalar
        self.assertEqual(self.spaces.outside[1].item(), 64 * 9 * 3 / 4)
        self.assertEqual(self.spaces.outside[-1].item(), 0)  # the head's biases are scalars

    def test_squared_divides_what_is_not_equivariant(self):
        for (p, q), (before, rest) in zip(self.parts(self.after("squared", 5.0)), self.parts(self.weights)):
            torch.testing.assert_close(p, before)
            torch.testing.assert_close(q, rest / 1.1)

    def test_plain_takes_a_length_off_each_layer_and_ends_at_zero(self):
        self.spaces.outside = self.spaces.outside.double()
        found = self.after("plain", 0.5)
        for (p, q), (before, rest), outside in zip(self.parts(found), self.parts(self.weights), self.spaces.outside):
            torch.testing.assert_close(p, before)
            expected = max(0.0, rest.norm().item() - 0.01 * 0.5 * outside.item() ** 0.5)
            self.assertAlmostEqual(q.norm().item(), expected, places=9)
        self.assertLess(sum(q.norm() for _, q in self.parts(self.after("plain", 1e4))), 1e-9)

    def test_a_target_bounds_every_layer_and_leaves_those_within(self):
        self.spaces.outside = self.spaces.outside.double()
        for p, q in self.parts(self.after("target", 0.1)):
            self.assertLessEqual(q.norm().item(), 0.1 * (p + q).norm().item() + 1e-12)
        within = project(self.weights, self.spaces.table)
        torch.testing.assert_close(self.after("target", 0.1, within), within)

    def test_gradients_are_those_of_the_penalties(self):
        trained = self.weights.clone().requires_grad_()
        (trained - project(trained, self.spaces.table)).square().sum().mul(0.3).backward()
        found = method("gradient", 0.3, self.spaces).gradient(self.weights, torch.zeros_like(self.weights))
        torch.testing.assert_close(found, trained.grad)

        rpp = method("rpp", 0.3, self.spaces)
        both = rpp.initial(self.weights).requires_grad_()
        direction = torch.randn(self.weights.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        (rpp.weights(both) @ direction + 0.3 * both.chunk(2)[1].square().sum()).backward()
        torch.testing.assert_close(rpp.gradient(both.detach(), direction), both.grad)

    def test_every_row_has_a_method(self):
        self.assertEqual({*BASELINES, *STRENGTHS}, set(METHODS))


if __name__ == "__main__":
    unittest.main()
