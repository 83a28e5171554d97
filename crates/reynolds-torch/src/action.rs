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

use crate::error::{Error, Result};

/// The action of a group on batches of vectors `[batch, channels]`, maps `[batch, channels, s, s]` or volumes `[batch, channels, s, s, s]`.
#[derive(Debug, Clone)]
pub struct FieldAction {
    fields: Rep,
    /// What elements of a finite group do to tensors of a size on a device: nothing is sent there twice.
    moves: Rc<RefCell<HashMap<Key, Rc<Move>>>>,
}

/// Element, sides, device and kind.
type Key = (u128, Vec<i64>, Device, Kind);

/// One element on feature maps of one size.
#[derive(Debug)]
struct Move {
    /// Which point comes to each, `[points]`.
    points: Option<Tensor>,
    channels: Channels,
}

/// One element on the channels.
#[derive(Debug)]
enum Channels {
    /// Which channel comes to each, `[channels]`, and with which sign, `[1, channels, 1…]`.
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

    /// g·f, on the tape if f is.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the number of channels is not that of the fields or the sides differ; [`Error::Reynolds`] if the group
    /// does not act on such a grid.
    pub fn act(&self, g: &Element, features: &Tensor) -> Result<Tensor> {
        let size = features.size();
        let dim = self.fields.dim();
        let sides = size.get(2..).unwrap_or_default();
        let square = sides.windows(2).all(|pair| pair[0] == pair[1]);
        if size.len() < 2 || size[1] != dim as i64 || !square || !matches!(sides.len(), 0 | 2 | 3) {
            let expected = format!("[batch, {dim}], or with two or three equal sides");
            return Err(Error::parameter("features", expected, format!("{size:?}")));
        }
        let moves = self.moves(g, features)?;
        let moved = match &moves.points {
            Some(from) => features.f_flatten(2, -1)?.f_index_select(2, from)?.f_view(size.as_slice())?,
            None => features.shallow_clone(),
        };
        match &moves.channels {
            Channels::Permuted(from, None) => Ok(moved.f_index_select(1, from)?),
            Channels::Permuted(from, Some(signs)) => Ok(moved.f_index_select(1, from)?.f_mul(signs)?),
            Channels::Mixed(matrix) => Ok(moved.f_transpose(1, -1)?.f_matmul(matrix)?.f_transpose(1, -1)?),
        }
    }

    /// What g does to features of this size, from memory if it is known.
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
        let index =
            |image: &[u32]| -> Result<Tensor> { Ok(Tensor::f_from_slice(&inverse(image))?.f_to_device(device)?) };
        let points = match sides.first() {
            Some(&side) => Some(index(&Grid::new(self.group(), side as usize, sides.len())?.permutation(g))?),
            None => None,
        };
        let dim = self.fields.dim() as i64;
        let Some(permutation) = self.fields.signed_permutation(g) else {
            let matrix = self.fields.matrix(g);
            let columns: Vec<f64> =
                (0..dim * dim).map(|at| matrix[((at % dim) as usize, (at / dim) as usize)]).collect();
            let matrix = Tensor::f_from_slice(&columns)?.f_view([dim, dim])?.f_to_device(device)?.f_to_kind(kind)?;
            return Ok(Move { points, channels: Channels::Mixed(matrix) });
        };
        let from = index(&permutation.image)?;
        if !permutation.negative.iter().any(|&negative| negative) {
            return Ok(Move { points, channels: Channels::Permuted(from, None) });
        }
        let sign = |&at: &i64| if permutation.negative[at as usize] { -1.0 } else { 1.0 };
        let signs: Vec<f64> = inverse(&permutation.image).iter().map(sign).collect();
        let mut shape = vec![1_i64; features.dim()];
        shape[1] = dim;
        let signs = Tensor::f_from_slice(&signs)?.f_view(shape.as_slice())?.f_to_device(device)?.f_to_kind(kind)?;
        Ok(Move { points, channels: Channels::Permuted(from, Some(signs)) })
    }
}

/// Where the entry at each place comes from.
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

    /// g·(h·f) = (gh)·f, by permutations, signed permutations and matrices, with and without a grid.
    #[test]
    fn it_is_an_action() {
        let mut random = Random::new(3);
        for (name, fields, sides) in [
            ("C4", "2 regular + 1 trivial", vec![4, 4]),
            ("D4", "1 regular + 1 irrep(1)", vec![5, 5]),
            ("C4", "1 irrep(1)", vec![3, 3]),
            ("Oh", "1 irrep(4) + 1 irrep(9)", vec![3, 3, 3]),
            ("SO3", "1x0 + 2x1 + 1x2", vec![]),
        ] {
            let group = group::parse(name).unwrap();
            let fields = rep::parse_fields(&group, fields).unwrap();
            let action = FieldAction::new(&fields);
            let shape = [vec![2, fields.dim() as i64], sides].concat();
            let count: i64 = shape.iter().product();
            let values: Vec<f64> = (0..count).map(|_| random.normal()).collect();
            let features = Tensor::from_slice(&values).view(shape.as_slice());
            for _ in 0..5 {
                let pair = haar::sample(group.as_ref(), 2, &mut random).unwrap();
                let twice = action.act(&pair[0], &action.act(&pair[1], &features).unwrap()).unwrap();
                let once = action.act(&group.multiply(&pair[0], &pair[1]), &features).unwrap();
                let error = (twice - once).abs().max().double_value(&[]);
                assert!(error < 1e-12, "{name} {fields:?}: {error}");
            }
        }
    }

    #[test]
    fn features_that_do_not_fit_are_errors() {
        let c4 = group::parse("C4").unwrap();
        let action = FieldAction::new(&rep::regular(&c4).unwrap());
        for shape in [vec![4], vec![1, 3, 2, 2], vec![1, 4, 2, 3], vec![1, 4, 2]] {
            let features = Tensor::zeros(shape.as_slice(), (Kind::Float, tch::Device::Cpu));
            assert!(action.act(&Element::Finite(1), &features).is_err(), "{shape:?}");
        }
    }
}
