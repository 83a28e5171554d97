//! The kernels on a processor against operations of libtorch: a C++ compiler takes the same source as NVRTC.

use super::*;
use crate::device::launches;
use crate::projector::{Assembly, TileProducts};
use crate::segments::Segments;
use crate::testing::largest;

impl Fused {
    /// The kernels on a processor; `None` where there are none.
    pub(crate) fn emulated(
        projector: &FlatProjector,
        kind: Kind,
        (len, layer_ends): (usize, &[usize]),
        in_flat: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Option<Self> {
        Some(Self::on_processor(Table::new(projector, len, in_flat).unwrap()?, kind, layer_ends, 3))
    }

    /// With so many blocks that measure at most.
    fn on_processor(table: Table, kind: Kind, layer_ends: &[usize], measuring: u32) -> Self {
        let layout = Layout::small(table.runs.clone(), &table.firsts, layer_ends, measuring);
        let emulated = |number, layout, memory| Some(Orbits::emulated(number, layout, memory));
        Self::over(table, kind, layout, emulated).unwrap().unwrap()
    }

    fn value(&self, weights: &Tensor, sum: Option<&Tensor>, slopes: [f64; 2]) -> f64 {
        let value = self.measured(sum, weights, &of(&slopes)).unwrap().unwrap();
        assert_eq!(self.done.int64_value(&[0]), 0, "ready for the next launch");
        value.double_value(&[])
    }
}

fn of(values: &[f64]) -> Numbers {
    Numbers::new(values, Device::Cpu).unwrap()
}

/// The kernels for one layer whose numbers fill the flat tensors, with so many blocks that measure at most.
fn kernels(projector: &FlatProjector, len: usize, kind: Kind, measuring: u32) -> Fused {
    let table = Table::new(projector, len, |numbers| Ok(numbers.shallow_clone())).unwrap().unwrap();
    Fused::on_processor(table, kind, &[len], measuring)
}

/// P on `len` numbers that averages these orbits and drops the other numbers; a member below zero, ~i, is −w_i.
fn gather(len: usize, orbits: &[Vec<i32>], kind: Kind) -> FlatProjector {
    Assembly::of_orbits(len, orbits).build(kind, Device::Cpu, TileProducts::PerKind).unwrap()
}

/// Orbits of these sizes over numbers in no order, with and without signs, and a few numbers in none.
fn mixed(sizes: &[usize], signed: bool) -> (usize, Vec<Vec<i32>>) {
    let len = sizes.iter().sum::<usize>() + 5;
    let step = (len / 3..).find(|&step| (2..=step).all(|k| step % k != 0 || len % k != 0)).unwrap();
    let mut numbers = (0..len).map(|nth| (nth * step % len) as i32);
    let sign = |member: i32| if signed && member % 3 == 1 { !member } else { member };
    (len, sizes.iter().map(|&size| numbers.by_ref().take(size).map(sign).collect()).collect())
}

fn numbers(len: usize, kind: Kind) -> Tensor {
    Tensor::arange(len as i64, (Kind::Double, Device::Cpu)).multiply_scalar(1.7).sin().to_kind(kind)
}

#[test]
fn it_adds_and_measures_what_the_projection_makes() {
    // More of a size than a launch of one block has threads.
    let sizes: Vec<usize> = (0..60).map(|nth| [1, 4, 6, 8, 9, 48][nth % 6]).collect();
    for (kind, epsilon) in KINDS {
        for signed in [false, true] {
            let (len, orbits) = mixed(&sizes, signed);
            let projector = gather(len, &orbits, kind);
            let kernels = [1, 3].map(|blocks| kernels(&projector, len, kind, blocks));
            let weights = numbers(len, kind);
            let projected = projector.apply(&weights).unwrap();
            for slopes @ [a, b] in [[0.3, 0.7], [2.0, 1e-3], [0.0, 0.5], [0.5, 0.0], [0.4, 0.4]] {
                let penalty = (a * energy(&projected) + b * energy(&(&weights - &projected))) / 2.0;
                for kernel in &kernels {
                    let [sum, measured] = [numbers(len, kind).cos(), numbers(len, kind).cos()];
                    let expected = &sum + a * &projected + b * (&weights - &projected);
                    assert!(kernel.add_to(&sum, &weights, &of(&slopes)).unwrap());
                    let value = kernel.value(&weights, Some(&measured), slopes);
                    let off = largest(&(&sum - expected));
                    assert!(off < 64.0 * epsilon, "{kind:?}, signs {signed}, slopes {a} {b}: {off}");
                    assert_eq!(sum, measured);
                    assert!((value / penalty - 1.0).abs() < 64.0 * epsilon, "{value} beside {penalty}");
                    assert_eq!(kernel.value(&weights, None, slopes), value, "the same without a sum");
                }
            }
        }
    }
}

const KINDS: [(Kind, f64); 2] = [(Kind::Float, f32::EPSILON as f64), (Kind::Double, f64::EPSILON)];

fn energy(part: &Tensor) -> f64 {
    part.square().sum(Kind::Double).double_value(&[])
}

/// Layers of so many orbits of several sizes, where they end, and P on all of them.
fn layers(signed: bool, kind: Kind, counts: &[usize]) -> (Vec<usize>, FlatProjector) {
    let (mut len, mut all, mut ends) = (0, vec![], vec![]);
    for &count in counts {
        let (more, orbits) = mixed(&(0..count).map(|nth| [4, 1, 9][nth % 3]).collect::<Vec<_>>(), signed);
        let moved = |member: i32| if member < 0 { member - len as i32 } else { member + len as i32 };
        all.extend(orbits.into_iter().map(|orbit| orbit.into_iter().map(moved).collect::<Vec<_>>()));
        len += more;
        ends.push(len);
    }
    (ends, gather(len, &all, kind))
}

/// What operations of libtorch make of the weights with factors `[2, layers]`.
fn rescaled(weights: &Tensor, projected: &Tensor, ends: &[usize], factors: &Tensor) -> Tensor {
    let mut start = 0;
    let parts = ends.iter().zip(0..).map(|(&end, layer)| {
        let part = |tensor: &Tensor| tensor.narrow(0, start, end as i64 - start).to_kind(Kind::Double);
        let [a, b] = [0, 1].map(|row| factors.double_value(&[row, layer]));
        let part = part(projected) * a + (part(weights) - part(projected)) * b;
        start = end as i64;
        part
    });
    Tensor::cat(&parts.collect::<Vec<_>>(), 0)
}

#[test]
fn it_takes_steps_with_the_same_factors_and_with_those_of_each_layer() {
    for (kind, epsilon) in KINDS {
        for signed in [false, true] {
            let (ends, projector) = layers(signed, kind, &[3, 60, 1, 17]);
            let len = ends[3];
            let in_flat = |numbers: &Tensor| Ok(numbers.shallow_clone());
            let kernel = Fused::emulated(&projector, kind, (len, &ends), in_flat).unwrap();
            let weights = numbers(len, kind);
            let projected = projector.apply(&weights).unwrap();
            let each = Tensor::from_slice(&[0.3, 0.9, 1.0, 0.0, 0.6, 0.5, 1.0, 0.25]).view([2, 4]);
            let even = Tensor::from_slice(&[0.75, 0.5]).view([2, 1]).repeat([1, 4]);
            for (factors, rescaling) in [
                (&each, Rescaling::Each { factors: &each, perp_alone: false }),
                (&even, Rescaling::Even(&of(&[0.75, 0.5]))),
                (&(&even * 0.0 + 0.5), Rescaling::Even(&of(&[0.5, 0.5]))),
            ] {
                let found = weights.copy();
                assert!(kernel.rescale(&found, &rescaling).unwrap());
                let off = largest(&(&found - rescaled(&weights, &projected, &ends, factors)));
                assert!(off < 64.0 * epsilon, "{kind:?}, signs {signed}, {rescaling:?}: {off}");
            }
            // To the bit: no change, even where weights are no numbers, the projection, and a scaling.
            let odd = weights.copy();
            let _ = odd.narrow(0, ends[1] as i64, 1).fill_(-0.0);
            let _ = odd.narrow(0, ends[1] as i64 + 1, 1).fill_(f64::INFINITY);
            let before: Vec<u64> = Vec::<f64>::try_from(&odd).unwrap().into_iter().map(f64::to_bits).collect();
            for rescaling in [
                Rescaling::Even(&of(&[1.0; 2])),
                Rescaling::Each { factors: &Tensor::ones_like(&each), perp_alone: true },
            ] {
                assert!(kernel.rescale(&odd, &rescaling).unwrap());
                let after: Vec<u64> = Vec::<f64>::try_from(&odd).unwrap().into_iter().map(f64::to_bits).collect();
                assert_eq!(after, before);
            }
            let found = weights.copy();
            assert!(kernel.rescale(&found, &Rescaling::Even(&of(&[1.0, 0.0]))).unwrap());
            assert!(largest(&(&found - &projected)) < 64.0 * epsilon);
            let once = found.copy();
            assert!(kernel.rescale(&found, &Rescaling::Even(&of(&[1.0, 0.0]))).unwrap());
            assert_eq!(found, once);
            assert!(kernel.rescale(&found, &Rescaling::Even(&of(&[0.25; 2]))).unwrap());
            assert_eq!(kernel.value(&found, None, [0.0, 1.0]), 0.0);
            let not_taken = [found.to_kind(Kind::Half), found.narrow(0, 0, 3), found.copy().set_requires_grad(true)];
            assert!(
                not_taken.iter().all(|tensor| !kernel.rescale(tensor, &Rescaling::Even(&of(&[0.5, 0.0]))).unwrap())
            );
        }
    }
}

/// Every rule, with what it keeps between calls.
fn rules<'a>(scales: &'a Tensor, exact_since: &'a Tensor, strengths: &'a Tensor) -> Vec<Rule<'a>> {
    let kept = |values: &[f64]| -> &'static Numbers { Box::leak(Box::new(of(values))) };
    let step = kept(&[0.3]);
    let plain = |by: [f64; 2], whole| Rule::Plain { by: kept(&[by[0], by[1], 7.0]), scales, whole, exact_since };
    let mut rules = vec![plain([0.0, 2.0], false), plain([0.7, 0.4], true), plain([0.4, 0.0], false)];
    rules.extend([plain([1e3, 1e3], true), plain([1e3, 0.0], true), plain([0.4, 1e3], true), plain([1e3, 1e3], false)]);
    for network in [false, true] {
        rules.push(Rule::Target { slope: 0.4, step, network, strengths });
        rules.push(Rule::Target { slope: 0.0, step, network, strengths });
        rules.push(Rule::Dual { tau: 0.3, rate: 2.0, step, network, strengths });
    }
    rules
}

#[test]
fn factors_by_energies_are_those_of_libtorch_and_launches_do_not_grow_with_layers() {
    for (kind, epsilon) in KINDS {
        let mut launched = vec![];
        for counts in [&[30][..], &[30, 3, 60, 18, 4, 27, 33]] {
            let (ends, projector) = layers(true, kind, counts);
            let (len, count) = (ends[ends.len() - 1], counts.len() as i64);
            let in_flat = |numbers: &Tensor| Ok(numbers.shallow_clone());
            let kernel = Fused::emulated(&projector, kind, (len, &ends), in_flat).unwrap();
            let weights = numbers(len, kind);
            // One layer is nearly equivariant, so that a target leaves it alone.
            let first = |tensor: &Tensor| tensor.narrow(0, 0, ends[0] as i64);
            let near = first(&projector.apply(&weights).unwrap()) + first(&weights) * 0.01;
            first(&weights).copy_(&near);
            let projected = projector.apply(&weights).unwrap();
            let lengths: Vec<i64> =
                ends.iter().scan(0, |start, &end| Some(end as i64 - std::mem::replace(start, end) as i64)).collect();
            let energies = Segments::new(&lengths, Device::Cpu).unwrap();
            let [p, rest] = [&projected, &(&weights - &projected)].map(|part| part.to_kind(Kind::Double));
            let energies = energies.energies([&p, &rest]).unwrap();
            let scales = Tensor::arange(2 * count, (Kind::Double, Device::Cpu)).view([2, count]) * 0.5;
            for nth in 0..rules(&scales, &scales, &scales).len() {
                // A layer that was exact since call 3, others that were not.
                let states = [0; 2].map(|_| {
                    let layer = Tensor::arange(count, (Kind::Int64, Device::Cpu));
                    (layer.eq(1) * 4 - 1, layer.to_kind(Kind::Double) * 0.1)
                });
                let [ours, theirs] = [0, 1].map(|side: usize| {
                    let (exact_since, strengths) = &states[side];
                    rules(&scales, exact_since, strengths).swap_remove(nth)
                });
                let factors = theirs.factors(&energies).unwrap();
                let (found, before) = (weights.copy(), launches());
                assert!(kernel.rescale(&found, &Rescaling::ByRule(&ours)).unwrap());
                launched.push(launches() - before);
                let what = format!("{kind:?}, {count} layers, {ours:?}");
                assert!(largest(&(&kernel.factors - &factors)) < 64.0 * epsilon, "{what}");
                let expected = rescaled(&weights, &projected, &ends, &factors);
                assert!(largest(&(&found - expected)) < 64.0 * epsilon, "{what}");
                let [(exact_since, strengths), (expected_since, expected)] = &states;
                assert_eq!(exact_since, expected_since, "{what}");
                let finite = expected.isfinite();
                assert_eq!(strengths.isfinite(), finite, "{what}");
                let off = (strengths - expected).where_self(&finite, &expected.zeros_like());
                assert!(largest(&off) < 1e3 * epsilon, "{what}");
                // No digit depends on what ran before.
                let again = weights.copy();
                kernel.rescale(&again, &Rescaling::Each { factors: &kernel.factors.copy(), perp_alone: true }).unwrap();
                assert_eq!(again, found);
            }
        }
        // Two passes over orbits of four sizes (0 is one), and the factors.
        assert!(launched.iter().all(|&launches| launches == 2 * 4 + 1), "{launched:?}");
    }
}

#[test]
fn a_layer_that_is_no_number_stays_so_and_leaves_others_alone() {
    let (ends, projector) = layers(false, Kind::Float, &[12, 9]);
    let in_flat = |numbers: &Tensor| Ok(numbers.shallow_clone());
    let kernel = Fused::emulated(&projector, Kind::Float, (ends[1], &ends), in_flat).unwrap();
    let (scales, ints) =
        (Tensor::ones([2, 2], (Kind::Double, Device::Cpu)), Tensor::zeros([2], (Kind::Int64, Device::Cpu)));
    for rule in rules(&scales, &ints, &scales.get(0).copy()) {
        if matches!(rule, Rule::Target { network: true, .. } | Rule::Dual { network: true, .. }) {
            continue;
        }
        let weights = numbers(ends[1], Kind::Float);
        let _ = weights.get(3).fill_(f64::NAN);
        assert!(kernel.rescale(&weights, &Rescaling::ByRule(&rule)).unwrap());
        let of_layer = |start: usize, end: usize| weights.narrow(0, start as i64, (end - start) as i64).isfinite();
        assert_eq!(of_layer(0, ends[0]).any().int64_value(&[]), 0, "{rule:?}");
        assert_eq!(of_layer(ends[0], ends[1]).all().int64_value(&[]), 1, "{rule:?}");
    }
}

#[test]
fn equal_slopes_are_weight_decay_to_the_last_bit() {
    let (len, orbits) = mixed(&[3, 12], true);
    let (weights, sum) = (numbers(len, Kind::Double), Tensor::zeros([len as i64], (Kind::Double, Device::Cpu)));
    let kernel = kernels(&gather(len, &orbits, Kind::Double), len, Kind::Double, 1);
    assert!(kernel.add_to(&sum, &weights, &of(&[0.3, 0.3])).unwrap());
    assert_eq!(sum, weights * 0.3);
}

#[test]
fn numbers_that_are_equal_have_no_rest_to_the_last_bit() {
    for size in [3, 6, 7, 100] {
        let orbit = gather(size, &[(0..size as i32).collect()], Kind::Float);
        let weights = Tensor::full([size as i64], 0.1, (Kind::Float, Device::Cpu));
        let sum = weights.zeros_like();
        let kernel = kernels(&orbit, size, Kind::Float, 1);
        assert_eq!(kernel.value(&weights, Some(&sum), [0.0, 0.5]), 0.0, "orbits of {size}");
        assert_eq!(largest(&sum), 0.0, "orbits of {size}");
    }
}

#[test]
fn what_is_wrong_in_one_orbit_stays_there_and_what_is_not_asked_for_does_not_count() {
    let kernel = kernels(&gather(4, &[vec![0, 3], vec![1]], Kind::Double), 4, Kind::Double, 2);
    let weights = Tensor::from_slice(&[f64::INFINITY, 2.0, 1.0, 1.0]);
    let sum = Tensor::zeros([4], (Kind::Double, Device::Cpu));
    assert!(!kernel.value(&weights, Some(&sum), [0.3, 0.7]).is_finite());
    let wrong: Vec<bool> = Vec::<f64>::try_from(sum).unwrap().iter().map(|number| !number.is_finite()).collect();
    assert_eq!(wrong, [true, false, false, true]);
    // W − P(W) of a number in no orbit is that number, of one alone in its orbit 0; ‖P(W)‖² overflows.
    assert_eq!(kernel.value(&Tensor::from_slice(&[0.0, 1e200, 1.0, 0.0]), None, [0.0, 0.5]), 0.25);
    // And ‖W − P(W)‖² does where an orbit has mean 0.
    assert_eq!(kernel.value(&Tensor::from_slice(&[1e200, 1.0, 0.0, -1e200]), None, [0.5, 0.0]), 0.25);
}

#[test]
fn parameters_that_are_not_bound_may_lie_in_between() {
    let projector = gather(4, &[vec![0, !2], vec![1]], Kind::Double);
    let place = Tensor::from_slice(&[1_i32, 3, 4, 6]);
    let in_flat = |numbers: &Tensor| Ok(place.index_select(0, numbers));
    let kernel = Fused::emulated(&projector, Kind::Double, (7, &[7]), in_flat).unwrap();
    let weights = Tensor::from_slice(&[9.0, 1.0, 9.0, 2.0, 5.0, 9.0, 4.0]);
    let sum = Tensor::zeros([7], (Kind::Double, Device::Cpu));
    let value = kernel.value(&weights, Some(&sum), [1.0, 0.5]);
    // Means −2 and 2; W − P(W) is 3, 3 and 4.
    assert_eq!(Vec::<f64>::try_from(sum).unwrap(), [0.0, -0.5, 0.0, 2.0, 3.5, 0.0, 2.0]);
    assert_eq!(value, (4.0 + 4.0 + 4.0) / 2.0 + 0.5 * (9.0 + 9.0 + 16.0) / 2.0);
    assert!(kernel.rescale(&weights, &Rescaling::Even(&of(&[1.0, 0.5]))).unwrap());
    assert_eq!(Vec::<f64>::try_from(weights).unwrap(), [9.0, -0.5, 9.0, 2.0, 3.5, 9.0, 2.0]);
}

#[test]
fn a_mask_keeps_and_drops() {
    let mask = FlatProjector::Mask(Tensor::from_slice(&[1.0, 0.0, 1.0]));
    let sum = Tensor::zeros([3], (Kind::Double, Device::Cpu));
    let weights = Tensor::from_slice(&[1.0, 2.0, 3.0]);
    let value = kernels(&mask, 3, Kind::Double, 1).value(&weights, Some(&sum), [1.0, 0.5]);
    assert_eq!(Vec::<f64>::try_from(sum).unwrap(), [1.0, 1.0, 3.0]);
    assert_eq!(value, 5.0 + 1.0);
}

#[test]
fn long_orbits_orbits_of_many_sizes_and_other_devices_have_none() {
    let none = |len: usize, orbits: &[Vec<i32>]| {
        let projector = gather(len, orbits, Kind::Float);
        Table::new(&projector, len, |numbers| Ok(numbers.shallow_clone())).unwrap().is_none()
    };
    assert!(!none(128, &[(0..128).collect()]));
    assert!(none(129, &[(0..129).collect()]));
    let (len, orbits) = mixed(&(1..17).collect::<Vec<_>>(), false);
    assert!(none(len, &orbits));
    let nothing = FlatProjector::Mask(Tensor::zeros([0], (Kind::Float, Device::Cpu)));
    assert!(Table::new(&nothing, 3, |numbers| Ok(numbers.shallow_clone())).unwrap().is_none());
    let short = gather(2, &[vec![0, 1]], Kind::Float);
    let fused = Fused::new(&short, (Kind::Float, Device::Cpu), (2, &[2]), |numbers| Ok(numbers.shallow_clone()));
    assert!(fused.unwrap().is_none());
}

#[test]
#[should_panic(expected = "no number in two orbits")]
fn a_number_in_two_orbits_is_a_bug_that_is_seen() {
    let place = Tensor::from_slice(&[0_i32, 1, 1]);
    let projector = gather(3, &[vec![0, 1], vec![2]], Kind::Float);
    let _ = Table::new(&projector, 3, |numbers| Ok(place.index_select(0, numbers)));
}

#[test]
#[should_panic(expected = "members are numbers of the flat tensor")]
fn a_number_beyond_the_flat_tensor_is_a_bug_that_is_seen() {
    let _ = Table::new(&gather(3, &[vec![0, 1, 2]], Kind::Float), 2, |numbers| Ok(numbers.shallow_clone()));
}
