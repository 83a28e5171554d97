//! How a group acts on feature maps: channels are mixed by the fields' representation, points are moved on the grid.
//!
//! ```text
//! (g·f)(x) = ρ(g) f(g⁻¹x)        f: [batch, channels, s…]
//! ```
//!
//! ```
//! use reynolds::{group::{self, Element}, rep};
//! use reynolds_torch::{action::FieldAction, tch::{Kind, Tensor}};
//! let c4 = group::parse("C4")?;
//! let scalars = FieldAction::new(&rep::trivial(&c4));
//! let image = Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 3.0]).view([1, 1, 2, 2]);
//! let turned = scalars.act(&Element::Finite(1), &image)?; // numpy.rot90
//! assert_eq!(Vec::<f32>::try_from(turned.flatten(0, -1))?, [1.0, 3.0, 0.0, 2.0]);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use reynolds::group::{Element, GroupRef};
use reynolds::rep::{Grid, Rep};
use tch::{Device, Kind, Tensor};

use crate::device::upload;
use crate::error::{Error, Result};

/// The action of a group on batches of vectors `[batch, channels]`, maps `[batch, channels, s, s]` or volumes `[batch, channels, s, s, s]`.
#[derive(Debug, Clone)]
pub struct FieldAction {
    fields: Rep,
    /// Cached moves of a finite group.
    moves: Rc<RefCell<HashMap<Key, Rc<Move>>>>,
}

/// Element, sides, device and kind.
type Key = (u128, Vec<i64>, Device, Kind);

/// One element on feature maps of one size.
#[derive(Debug)]
struct Move {
    points: Points,
    channels: Channels,
}

/// One element on the points of a grid, whose axes it permutes and reverses: axis i of the output is axis `axes[i]` of the input.
#[derive(Debug)]
struct Points {
    axes: Vec<usize>,
    /// Axes of the input.
    reversed: Vec<usize>,
}

/// One element on the channels.
#[derive(Debug)]
enum Channels {
    Kept,
    /// Every `period` channels in a row are rolled `by` places, as copies of a regular field of a cyclic group are.
    Rolled {
        period: i64,
        by: i64,
    },
    /// The source of each channel, `[channels]`, and its sign, `[channels]`.
    Permuted(Tensor, Option<Tensor>),
    /// ρ(g)ᵀ.
    Mixed(Tensor),
}

impl FieldAction {
    /// The action whose channels transform by `fields`.
    pub fn new(fields: &Rep) -> Self {
        Self { fields: fields.clone(), moves: Rc::default() }
    }

    /// The group.
    pub fn group(&self) -> &GroupRef {
        self.fields.group()
    }

    /// g·f, on the tape if f is, in the layout of f as far as the turn allows.
    ///
    /// # Errors
    /// If the number of channels is not that of the fields, the sides differ, or the group does not act on such a grid.
    pub fn act(&self, g: &Element, features: &Tensor) -> Result<Tensor> {
        let (framed, at) = self.framed(features)?;
        let moved = self.moves(g, features)?.act(&framed, at)?;
        Ok(moved.f_movedim_int(at as i64, 1)?)
    }

    /// A tensor with the norm of g·f − f′, and its gradient, for a batch `[f; f′]`, in as few passes over memory as there are and in the layout
    /// of the batch.
    pub(crate) fn difference(&self, g: &Element, batch: &Tensor) -> Result<Tensor> {
        let (framed, at) = self.framed(batch)?;
        let moves = self.moves(g, batch)?;
        // The parts of a split, unlike those of two cuts, come back in one copy.
        let halves = framed.f_split(batch.size()[0] / 2, 0)?;
        let (features, other) = (&halves[0], &halves[1]);
        match moves.channels {
            // ρ(g) is orthogonal: ‖ρ(g)τ(g)f − f′‖ = ‖τ(g)f − ρ(g)⁻¹f′‖, a copy of each half.
            Channels::Rolled { period, by } if 2 * by != period => {
                Ok(roll(other, at, period, period - by)?.f_sub(&moves.points.act(features, at)?)?)
            }
            _ => Ok(other.f_sub(&moves.act(features, at)?)?),
        }
    }

    /// Features in the order in which they lie in memory, channels second or last, and the axis of these.
    fn framed(&self, features: &Tensor) -> Result<(Tensor, usize)> {
        let size = features.size();
        let dim = self.fields.dim();
        let sides = size.get(2..).unwrap_or_default();
        let square = sides.windows(2).all(|pair| pair[0] == pair[1]);
        if size.len() < 2 || size[1] != dim as i64 || !square || !matches!(sides.len(), 0 | 2 | 3) {
            let expected = format!("[batch, {dim}], or with two or three equal sides");
            return Err(Error::parameter("features", expected, format!("{size:?}")));
        }
        match !features.is_contiguous() && features.stride()[1] == 1 {
            true => Ok((features.f_movedim_int(1, -1)?, size.len() - 1)),
            false => Ok((features.shallow_clone(), 1)),
        }
    }

    /// The action of g on features of this size, cached for finite groups.
    fn moves(&self, g: &Element, features: &Tensor) -> Result<Rc<Move>> {
        let Element::Finite(number) = *g else { return Ok(Rc::new(self.derive(g, features)?)) };
        let key = (number, features.size()[2..].to_vec(), features.device(), features.kind());
        if let Some(known) = self.moves.borrow().get(&key) {
            return Ok(known.clone());
        }
        let derived = Rc::new(self.derive(g, features)?);
        self.moves.borrow_mut().insert(key, derived.clone());
        Ok(derived)
    }

    fn derive(&self, g: &Element, features: &Tensor) -> Result<Move> {
        let (kind, device) = (features.kind(), features.device());
        let sides = &features.size()[2..];
        let points = match sides.first() {
            Some(&side) => {
                Grid::new(self.group(), side as usize, sides.len())?;
                Points::of(&Grid::new(self.group(), 2, sides.len())?.permutation(g), sides.len())
            }
            None => Points { axes: Vec::new(), reversed: Vec::new() },
        };
        let dim = self.fields.dim() as i64;
        let Some(permutation) = self.fields.signed_permutation(g) else {
            let matrix = self.fields.matrix(g);
            let columns: Vec<f64> = matrix.col_iter().flat_map(|column| column.iter().copied()).collect();
            return Ok(Move { points, channels: Channels::Mixed(upload(&columns, kind, device)?.f_view([dim, dim])?) });
        };
        let from = inverse(&permutation.image);
        let signed = permutation.negative.iter().any(|&negative| negative);
        if !signed && from.iter().enumerate().all(|(to, &from)| to as i64 == from) {
            return Ok(Move { points, channels: Channels::Kept });
        }
        if let Some((period, by)) = cycle(&permutation.image).filter(|_| !signed) {
            return Ok(Move { points, channels: Channels::Rolled { period, by } });
        }
        let index = Tensor::f_from_slice(&from)?.f_to_device(device)?;
        let signs = from.iter().map(|&at| if permutation.negative[at as usize] { -1.0 } else { 1.0 });
        let signs: Vec<f64> = signs.collect();
        let signs = signed.then(|| upload(&signs, kind, device)).transpose()?;
        Ok(Move { points, channels: Channels::Permuted(index, signs) })
    }
}

impl Move {
    /// On features whose channels are axis `at`.
    fn act(&self, features: &Tensor, at: usize) -> Result<Tensor> {
        let channel = at as i64;
        match &self.channels {
            Channels::Kept => self.points.act(features, at),
            // Half way round is a reversal, as those of the axes are: one copy for all.
            &Channels::Rolled { period, by } if 2 * by == period => {
                let parts = features.f_unflatten(channel, [-1, 2, by])?;
                let axes = self.points.reversed.iter().map(|&axis| spatial(axis, at));
                let axes = axes.map(|axis| if axis > channel { axis + 2 } else { axis });
                let reversed: Vec<i64> = axes.chain([channel + 1]).collect();
                self.points.turn(&parts.f_flip(reversed.as_slice())?.f_flatten(channel, channel + 2)?, at)
            }
            &Channels::Rolled { period, by } => self.points.act(&roll(features, at, period, by)?, at),
            Channels::Permuted(from, signs) => {
                let moved = self.points.act(features, at)?.f_index_select(channel, from)?;
                let Some(signs) = signs else { return Ok(moved) };
                let mut shape = vec![1; features.dim()];
                shape[at] = -1;
                Ok(moved.f_mul(&signs.f_view(shape.as_slice())?)?)
            }
            Channels::Mixed(matrix) => {
                let moved = self.points.act(features, at)?;
                Ok(moved.f_transpose(channel, -1)?.f_matmul(matrix)?.f_transpose(channel, -1)?)
            }
        }
    }
}

impl Points {
    /// From where each point of a grid of side 2 goes.
    fn of(image: &[u32], dims: usize) -> Self {
        let coordinate = |point: u32, axis: usize| (point >> (dims - 1 - axis)) & 1;
        // A step along an axis is a step along one axis, forwards from the low side or backwards from the high one.
        let goes_to = |axis: usize| image[1 << (dims - 1 - axis)] ^ image[0];
        let from = |to: usize| (0..dims).find(|&axis| coordinate(goes_to(axis), to) == 1);
        let axes: Vec<usize> = (0..dims).map(|to| from(to).expect("the axes are permuted")).collect();
        let reversed = (0..dims).filter(|&to| coordinate(image[0], to) == 1).map(|to| axes[to]).collect();
        Self { axes, reversed }
    }

    fn act(&self, features: &Tensor, at: usize) -> Result<Tensor> {
        let reversed: Vec<i64> = self.reversed.iter().map(|&axis| spatial(axis, at)).collect();
        match reversed.is_empty() {
            true => self.turn(features, at),
            false => self.turn(&features.f_flip(reversed.as_slice())?, at),
        }
    }

    /// The axes in their new order: a view.
    fn turn(&self, features: &Tensor, at: usize) -> Result<Tensor> {
        let mut order: Vec<i64> = (0..features.dim() as i64).collect();
        for (to, &from) in self.axes.iter().enumerate() {
            order[spatial(to, at) as usize] = spatial(from, at);
        }
        Ok(features.f_permute(order.as_slice())?)
    }
}

/// The axis of a tensor that axis `axis` of the grid is, channels being axis `channels`.
fn spatial(axis: usize, channels: usize) -> i64 {
    (if channels == 1 { axis + 2 } else { axis + 1 }) as i64
}

/// Every `period` channels in a row, axis `at`, go `by` places on.
fn roll(features: &Tensor, at: usize, period: i64, by: i64) -> Result<Tensor> {
    let size = features.size();
    let inner: i64 = size[at + 1..].iter().product();
    Ok(features.f_reshape([-1, period, inner])?.f_roll([by], [1])?.f_view(size.as_slice())?)
}

/// The length and the step of the cycles of neighbours that a permutation is made of, if it is.
fn cycle(image: &[u32]) -> Option<(i64, i64)> {
    let count = image.len();
    let by = *image.first()? as usize;
    let rolls = |period: &usize| {
        count.is_multiple_of(*period)
            && (0..count).all(|at| image[at] as usize == at - at % period + (at + by) % period)
    };
    (by + 1..=count).find(rolls).map(|period| (period as i64, by as i64))
}

/// The inverse permutation.
fn inverse(image: &[u32]) -> Vec<i64> {
    let mut from = vec![0; image.len()];
    for (source, &to) in image.iter().enumerate() {
        from[to as usize] = source as i64;
    }
    from
}

#[cfg(test)]
mod tests {
    use reynolds::random::Random;
    use reynolds::{group, haar, rep};

    use super::*;
    use crate::testing::{innermost, largest, normal};

    /// By index, g·f = ρ(g) f(g⁻¹x), in every layout; g·(h·f) = (gh)·f; and the norm of the difference is what it says.
    #[test]
    fn it_is_an_action_by_the_permutations_of_points_and_the_matrices_of_channels() {
        let mut random = Random::new(3);
        for (name, fields, sides) in [
            ("C4", "2 regular + 1 trivial", vec![4, 4]),
            ("C4", "3 regular", vec![5, 5]),
            ("C4", "5 trivial", vec![4, 4]),
            ("C4", "2 regular", vec![]),
            ("C4", "1 irrep(1)", vec![3, 3]),
            ("C2", "2 regular", vec![3, 3]),
            ("D4", "2 regular", vec![4, 4]),
            ("D4", "1 regular + 1 irrep(1)", vec![5, 5]),
            ("Oh", "1 trivial + 1 irrep(4) + 1 irrep(9)", vec![3, 3, 3]),
            ("SO3", "1x0 + 2x1 + 1x2", vec![]),
        ] {
            let group = group::parse(name).unwrap();
            let fields = rep::parse_fields(&group, fields).unwrap();
            let (action, dim) = (FieldAction::new(&fields), fields.dim());
            let (points, shape) = (sides.iter().product::<i64>(), [vec![2, dim as i64], sides.clone()].concat());
            let (features, other) = (normal(&shape, 4), normal(&shape, 5));
            // Some of the channels that lie there.
            let part = |tensor: &Tensor| innermost(&Tensor::cat(&[tensor, tensor], 1)).narrow(1, 0, dim as i64);
            let layouts: [&dyn Fn(&Tensor) -> Tensor; 3] = [&Tensor::contiguous, &innermost, &part];
            let elements = match group.order() {
                Some(order) => (0..order).map(Element::Finite).collect(),
                None => haar::sample(group.as_ref(), 5, &mut random).unwrap(),
            };
            for g in elements {
                let to: Vec<u32> = match sides.first() {
                    Some(&side) => Grid::new(&group, side as usize, sides.len()).unwrap().permutation(&g),
                    None => vec![0],
                };
                let moved = features.view([2, dim as i64, points]);
                let moved = moved.index_select(2, &Tensor::from_slice(&inverse(&to)));
                let matrix = fields.matrix(&g);
                let matrix: Vec<f64> = (0..dim * dim).map(|at| matrix[(at / dim, at % dim)]).collect();
                let matrix = Tensor::from_slice(&matrix).view([dim as i64, dim as i64]);
                let expected = matrix.matmul(&moved).view(shape.as_slice());
                let h = haar::sample(group.as_ref(), 1, &mut random).unwrap().swap_remove(0);
                let twice = action.act(&h, &action.act(&g, &features).unwrap()).unwrap();
                assert!(largest(&(twice - action.act(&group.multiply(&h, &g), &features).unwrap())) < 1e-12);
                for layout in layouts {
                    let error = action.act(&g, &layout(&features)).unwrap() - &expected;
                    assert!(largest(&error) < 1e-12, "{name} {g:?} {fields:?}");
                    let batch = layout(&Tensor::cat(&[&features, &other], 0));
                    let norm = action.difference(&g, &batch).unwrap().norm().double_value(&[]);
                    let expected = (&expected - &other).norm().double_value(&[]);
                    assert!((norm - expected).abs() < 1e-12 * expected, "{name} {g:?}: {norm} {expected}");
                }
            }
        }
    }

    #[test]
    fn differences_keep_channels_innermost_and_features_that_do_not_fit_are_errors() {
        let c4 = group::parse("C4").unwrap();
        let action = FieldAction::new(&rep::parse_fields(&c4, "2 regular").unwrap());
        let features = innermost(&normal(&[4, 8, 6, 6], 1));
        for number in 0..4 {
            let difference = action.difference(&Element::Finite(number), &features).unwrap();
            assert!(difference.is_contiguous() && difference.size() == [2, 6, 6, 8], "{number}");
        }
        for shape in [&[8][..], &[1, 3, 2, 2], &[1, 8, 2, 3], &[1, 8, 2]] {
            assert!(action.act(&Element::Finite(1), &normal(shape, 1)).is_err(), "{shape:?}");
        }
    }
}
