//! The squared penalty, its gradient and the decoupled steps on a CPU, output field by output field, by the core's own executors.
//!
//! ```text
//! gradient       sum ← sum + a P(W) + b (W − P(W))     P(W) of one output field in a buffer that stays in the cache, then one pass over all
//! squared step   W ← a P(W) + b (W − P(W))             the same in place
//! plain, target  energies of each layer, then the step: two passes
//!
//! floor:  the gradient moves 12 bytes a weight in single precision, the time of 1.5 copies, and 16 with an index of each; a step moves 8
//! ```
//!
//! Equal layers share one projector, so that its indices stay in the cache too. A field is done by one thread and energies are added in
//! order: no digit depends on the number of threads. Parameters that are not bound may lie in between.

use std::ops::Range;
use std::sync::Mutex;

use faer::{c32, c64};
use reynolds::projection::{Energies, Projector};
use reynolds::scalar::{Real, Weight};
use tch::kind::Element;
use tch::{Device, Kind, Tensor};

use super::OnePass;
use super::shared::Shared;
use super::slices::{with_numbers, with_numbers_mut, with_numbers_of};
use super::team::on_threads;
use crate::error::Result;
use crate::numbers::Numbers;
use crate::proximal::Rescaling;

/// About how many numbers a thread takes at a time, and for how many another thread is called.
const RUN: usize = 1 << 13;
const GRAIN: usize = 1 << 15;

/// For numbers of `kind`, given where each layer begins among them, and P on it; `None` if there is no executor for them, or operations of
/// libtorch are faster for one of the layers.
pub(crate) fn executor(layers: &[(usize, Shared)], kind: Kind) -> Option<Box<dyn OnePass>> {
    if !layers.iter().all(|(_, projector)| projector.suits()) {
        return None;
    }
    match kind {
        Kind::Float => Some(Box::new(Executor::<f32>::new(layers))),
        Kind::Double => Some(Box::new(Executor::<f64>::new(layers))),
        _ => None,
    }
}

/// a and b.
fn pair(numbers: &Numbers) -> [f64; 2] {
    [numbers.host()[0], numbers.host()[1]]
}

/// Half the weighted sum of energies; a part whose weight is 0 may be no number.
pub(crate) fn penalty([a, b]: [f64; 2], energies: Energies) -> f64 {
    let term = |slope: f64, energy: f64| if slope > 0.0 { slope / 2.0 * energy } else { 0.0 };
    term(a, energies.equivariant) + term(b, energies.perp)
}

/// `f32` or `f64`, with the complex numbers of that precision.
trait Number: Real + Element {
    type Complex: Weight<Real = Self, Field = c64>;
}

impl Number for f32 {
    type Complex = c32;
}

impl Number for f64 {
    type Complex = c64;
}

/// The parts of all layers, with the numbers of all and the runs of parts that a thread takes at a time, for one number type.
#[derive(Debug)]
struct Executor<T: Number> {
    parts: Vec<LayerPart>,
    layers: usize,
    numbers: usize,
    runs: Vec<Range<usize>>,
    /// One for each thread, kept from call to call.
    buffers: Mutex<Vec<Buffers<T>>>,
}

/// A part of a layer that P acts on by itself, and where its numbers lie.
#[derive(Debug)]
struct LayerPart {
    projector: Shared,
    layer: usize,
    number: usize,
    numbers: Range<usize>,
}

/// P(W) of a part; of complex weights W too.
#[derive(Debug, Default)]
struct Buffers<T: Number> {
    projected: Vec<T>,
    weights: Vec<T::Complex>,
    complex: Vec<T::Complex>,
}

impl<T: Number> OnePass for Executor<T> {
    fn add_to(&self, sum: &Tensor, weights: &Tensor, slopes: &Numbers) -> Result<bool> {
        Ok(self.on_tensors(Some(sum), weights, pair(slopes), false).is_some())
    }

    fn measured(&self, sum: Option<&Tensor>, weights: &Tensor, slopes: &Numbers) -> Result<Option<Tensor>> {
        let slopes = pair(slopes);
        let Some(energies) = self.on_tensors(sum, weights, slopes, true) else { return Ok(None) };
        Ok(Some(Tensor::f_full([0_i64; 0], penalty(slopes, energies), (T::KIND, Device::Cpu))?))
    }

    fn rescale(&self, weights: &Tensor, rescaling: &Rescaling<'_>) -> Result<bool> {
        if weights.requires_grad() {
            return Ok(false);
        }
        let factors = match rescaling {
            Rescaling::Even(factors) => vec![pair(factors); self.layers],
            Rescaling::Each { factors, .. } => by_layer(factors)?,
            Rescaling::ByRule(rule) => {
                let Some(energies) = with_numbers_of(weights, |w| self.energies(w, threads())) else {
                    return Ok(false);
                };
                let row = |of: fn(&Energies) -> f64| energies.iter().map(of).collect::<Vec<f64>>();
                let energies = [row(|layer| layer.equivariant), row(|layer| layer.perp)].concat();
                by_layer(&rule.factors(&Tensor::f_from_slice(&energies)?.f_view([2, -1])?)?)?
            }
        };
        Ok(with_numbers_mut(weights, |weights| self.rescale_layers(weights, &factors, threads())).is_some())
    }
}

impl<T: Number> Executor<T> {
    fn new(layers: &[(usize, Shared)]) -> Self {
        let (mut parts, mut runs): (Vec<LayerPart>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
        for (layer, (start, projector)) in layers.iter().enumerate() {
            let mut at = *start;
            for (number, len) in projector.parts().into_iter().enumerate() {
                match runs.last_mut() {
                    Some(run) if at + len - parts[run.start].numbers.start <= RUN => run.end += 1,
                    _ => runs.push(parts.len()..parts.len() + 1),
                }
                parts.push(LayerPart { projector: projector.clone(), layer, number, numbers: at..at + len });
                at += len;
            }
        }
        let numbers = parts.iter().map(|part| part.numbers.len()).sum();
        Self { parts, layers: layers.len(), numbers, runs, buffers: Mutex::default() }
    }

    fn on_tensors(&self, sum: Option<&Tensor>, weights: &Tensor, slopes: [f64; 2], measured: bool) -> Option<Energies> {
        let slopes = slopes.map(T::from_f64);
        match sum {
            Some(sum) => with_numbers(weights, sum, |w, sum| self.execute(w, Some(sum), slopes, measured, threads())),
            None => with_numbers_of(weights, |w| self.execute(w, None, slopes, measured, threads())),
        }
    }

    /// The gradient, if there is a `sum`, and the energies of all parts together.
    fn execute(
        &self,
        weights: &[T],
        sum: Option<&mut [T]>,
        slopes: [T; 2],
        measured: bool,
        threads: usize,
    ) -> Energies {
        let work = |part: &LayerPart, sum: Option<&mut [T]>, buffers: &mut Buffers<T>| {
            part.execute(sum, &weights[part.numbers.clone()], slopes, measured, buffers)
        };
        total(self.each(sum, threads, work))
    }

    /// The energies of each layer.
    fn energies(&self, weights: &[T], threads: usize) -> Vec<Energies> {
        let work = |part: &LayerPart, _: Option<&mut [T]>, buffers: &mut Buffers<T>| {
            buffers.project(part, &weights[part.numbers.clone()]).1
        };
        let mut energies = vec![Energies::default(); self.layers];
        for (part, more) in self.parts.iter().zip(self.each(None, threads, work)) {
            energies[part.layer] = energies[part.layer] + more;
        }
        energies
    }

    /// Each layer in place, by its factors on P(W) and W − P(W).
    fn rescale_layers(&self, weights: &mut [T], factors: &[[f64; 2]], threads: usize) {
        let work = |part: &LayerPart, weights: Option<&mut [T]>, buffers: &mut Buffers<T>| {
            part.rescale(weights.expect("numbers of the part"), factors[part.layer], buffers);
            Energies::default()
        };
        self.each(Some(weights), threads, work);
    }

    /// Calls `work` with every part, its numbers in `numbers`, if these are given, and buffers. Parts of a run are done one after the other;
    /// energies are in the order of the parts.
    fn each(
        &self,
        mut numbers: Option<&mut [T]>,
        threads: usize,
        work: impl Fn(&LayerPart, Option<&mut [T]>, &mut Buffers<T>) -> Energies + Sync,
    ) -> Vec<Energies> {
        let mut energies = vec![Energies::default(); self.parts.len()];
        let (mut at, mut rest) = (0, &mut energies[..]);
        let of_runs = self.runs.iter().map(|run| {
            let (start, end) = (self.parts[run.start].numbers.start, self.parts[run.end - 1].numbers.end);
            let split = numbers.take().map(|numbers| numbers.split_at_mut(start - at).1.split_at_mut(end - start));
            let (of_run, behind) = split.unzip();
            (numbers, at) = (behind, end);
            (run, start, of_run, rest.split_off_mut(..run.len()).expect("energies of every run"))
        });
        let jobs = Mutex::new(of_runs);
        let next = || jobs.lock().expect("nobody panics who takes a run").next();
        let kept = || self.buffers.lock().expect("nobody panics who takes buffers");
        let on_thread = || {
            let mut buffers = kept().pop().unwrap_or_default();
            while let Some((run, start, mut numbers, energies)) = next() {
                for (part, energies) in self.parts[run.clone()].iter().zip(energies) {
                    let place = part.numbers.start - start..part.numbers.end - start;
                    *energies = work(part, numbers.as_deref_mut().map(|numbers| &mut numbers[place]), &mut buffers);
                }
            }
            kept().push(buffers);
        };
        on_threads(threads.min(self.numbers / GRAIN), &on_thread);
        energies
    }
}

/// Threads that libtorch may use.
fn threads() -> usize {
    usize::try_from(tch::get_num_threads()).unwrap_or(1)
}

/// Factors `[2, layers]` as those of each layer.
fn by_layer(factors: &Tensor) -> Result<Vec<[f64; 2]>> {
    let factors = Vec::<f64>::try_from(factors.f_reshape([-1])?)?;
    let (on_projected, on_perp) = factors.split_at(factors.len() / 2);
    Ok(on_projected.iter().zip(on_perp).map(|(&a, &b)| [a, b]).collect())
}

fn total(energies: impl IntoIterator<Item = Energies>) -> Energies {
    energies.into_iter().fold(Energies::default(), |sum, more| sum + more)
}

impl LayerPart {
    fn execute<T: Number>(
        &self,
        mut sum: Option<&mut [T]>,
        weights: &[T],
        [a, b]: [T; 2],
        measured: bool,
        buffers: &mut Buffers<T>,
    ) -> Energies {
        if let Some(sum) = sum.take_if(|_| a == b) {
            // Weight decay, to the last bit, which P is not needed for.
            sum.iter_mut().zip(weights).for_each(|(sum, &w)| *sum += a * w);
            if !measured {
                return Energies::default();
            }
        }
        let (projected, energies) = buffers.project(self, weights);
        if let Some(sum) = sum {
            for ((sum, &w), &p) in sum.iter_mut().zip(weights).zip(projected) {
                *sum += a * p + b * (w - p);
            }
        }
        energies
    }

    /// In place; the smaller factor on W and the difference on one part, as [`reynolds::proximal`] has it.
    fn rescale<T: Number>(&self, weights: &mut [T], [a, b]: [f64; 2], buffers: &mut Buffers<T>) {
        let (base, more) = (T::from_f64(a.min(b)), T::from_f64((a - b).abs()));
        if a == b {
            if a != 1.0 {
                weights.iter_mut().for_each(|w| *w *= base);
            }
            return;
        }
        let (projected, _) = buffers.project(self, weights);
        if a > b {
            weights.iter_mut().zip(projected).for_each(|(w, &p)| *w = *w * base + p * more);
        } else {
            weights.iter_mut().zip(projected).for_each(|(w, &p)| *w = *w * base + (*w - p) * more);
        }
    }
}

impl<T: Number> Buffers<T> {
    /// P(W) of a part, with both energies.
    fn project(&mut self, part: &LayerPart, weights: &[T]) -> (&[T], Energies) {
        let Self { projected, weights: pairs, complex } = self;
        projected.resize(weights.len().max(projected.len()), T::default());
        let projected = &mut projected[..weights.len()];
        let energies = match &part.projector {
            Shared::Real(projector) => projector.apply_part(part.number, weights, projected),
            Shared::Complex(projector) => {
                pairs.clear();
                pairs.extend(weights.as_chunks().0.iter().map(|&pair| T::Complex::from_real_parts(pair)));
                complex.resize(pairs.len(), T::Complex::default());
                let energies = projector.apply_part(part.number, pairs, complex);
                projected.as_chunks_mut().0.iter_mut().zip(complex).for_each(|(to, from)| *to = from.real_parts());
                energies
            }
        };
        (projected, energies)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reynolds::projection::derive;
    use reynolds::random::Random;
    use reynolds_testkit::space;

    use super::*;

    #[test]
    fn runs_cover_every_part_once_and_no_digit_depends_on_the_number_of_threads() {
        let [small, large] = [("regular", 3), ("9 regular", 5)]
            .map(|(fields, side)| Shared::new(&Arc::new(derive(&space("C4", fields, fields, side, 2)).unwrap())));
        // Seven numbers that are not bound lie behind the first.
        let (mut start, mut layers) = (0, vec![]);
        for projector in [&small, &large, &small, &large, &large, &large, &small] {
            layers.push((start, projector.clone()));
            start += projector.parts().iter().sum::<usize>() + if start == 0 { 7 } else { 0 };
        }
        let executor = Executor::<f32>::new(&layers);
        assert_eq!(executor.numbers, 3 * 4 * 4 * 9 + 4 * 36 * 36 * 25);
        assert!(executor.numbers >= 3 * GRAIN, "three threads are called");
        let covered: Vec<usize> = executor.runs.iter().flat_map(Range::clone).collect();
        assert_eq!(covered, (0..3 + 4 * 9).collect::<Vec<_>>());
        // Two output fields of 3600 numbers at a time.
        assert!(executor.runs[1..].iter().all(|run| (2..=3).contains(&run.len())), "{:?}", executor.runs);
        let mut random = Random::new(1);
        let weights: Vec<f32> = (0..start).map(|_| random.normal() as f32).collect();
        let slope = |threads: usize| {
            let mut sum = vec![0.0; weights.len()];
            let energies = executor.execute(&weights, Some(&mut sum), [0.3, 0.7], true, threads);
            (sum, [energies, executor.execute(&weights, None, [0.3, 0.7], true, threads)])
        };
        let (alone, energies) = slope(1);
        assert!(alone[144..151].iter().all(|&slope| slope == 0.0) && alone[151] != 0.0);
        assert_eq!(energies[0], energies[1]);
        let norm = |weights: &[f32]| weights.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
        let bound = norm(&weights) - norm(&weights[144..151]);
        assert!((energies[0].total() - bound).abs() < 1e-6 * bound, "Pythagoras");
        assert_eq!(slope(2), (alone.clone(), energies));
        assert_eq!(slope(3), (alone, energies));
        // Steps in place: a layer with factors 1 keeps every bit.
        let factors = [[0.5, 0.25], [1.0, 1.0], [0.25, 0.5], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.75, 0.5]];
        let step = |threads: usize| {
            let mut rescaled = weights.clone();
            executor.rescale_layers(&mut rescaled, &factors, threads);
            (rescaled, executor.energies(&weights, threads))
        };
        let (rescaled, energies) = step(1);
        assert_eq!(step(3), (rescaled.clone(), energies.clone()));
        let of_layer = |number: usize| layers[number].0..layers[number + 1].0;
        assert_eq!(rescaled[144..layers[2].0], weights[144..layers[2].0]);
        assert!(of_layer(4).all(|at| rescaled[at] == 0.5 * weights[at]));
        for (([a, b], before), after) in factors.iter().zip(energies).zip(executor.energies(&rescaled, 1)) {
            let off = (after.equivariant - a * a * before.equivariant).abs() + (after.perp - b * b * before.perp).abs();
            assert!(off < 1e-6 * before.total(), "{before:?} times {a} and {b}: {after:?}");
        }
    }
}
