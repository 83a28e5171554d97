//! The types of channels: copies of one field, which holds every irrep up to a degree.
//!
//! ```text
//! channel = (irrep, copy, component)      the copies of one irrep side by side: 6x0 + 6x1 + 6x2;      gates follow as (irrep, copy)
//! ```

use std::fmt;

use super::*;
use reynolds::group::{self, GroupRef};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Symmetry {
    #[default]
    So3,
    O3,
}

impl Symmetry {
    /// "SO3" or "O3", as [`reynolds::group::parse`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::So3 => "SO3",
            Self::O3 => "O3",
        }
    }

    pub fn group(self) -> Result<GroupRef> {
        Ok(group::parse(self.name())?)
    }

    /// Labels of the irreps of a field of degree L, in the order of its channels: 0, 1, …, L for SO(3); 0e, 1e, …, Le, 0o, …, Lo for O(3).
    pub fn labels(self, max_degree: usize) -> Vec<String> {
        let degrees = || 0..=max_degree;
        match self {
            Self::So3 => degrees().map(|l| l.to_string()).collect(),
            Self::O3 => ["e", "o"].iter().flat_map(|parity| degrees().map(move |l| format!("{l}{parity}"))).collect(),
        }
    }
}

/// `copies` fields, each with every irrep up to `max_degree` once, in the order of [`Symmetry::labels`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fields {
    pub symmetry: Symmetry,
    pub copies: usize,
    /// L. A field of degree 0 is a scalar of even parity, whatever the group.
    pub max_degree: usize,
}

impl Fields {
    pub fn trivial(symmetry: Symmetry, copies: usize) -> Self {
        Self { symmetry, copies, max_degree: 0 }
    }

    /// The channels of a network of width c: of the volumes, then after conv1 and conv2 of each block.
    pub fn of_network(symmetry: Symmetry, width: usize) -> [Self; 7] {
        let degrees = match symmetry {
            Symmetry::So3 => [2, 3, 3, 3, 2],
            Symmetry::O3 => [2; 5],
        };
        let fields = |layer: usize, times: usize| Self { symmetry, copies: times * width, max_degree: degrees[layer] };
        let [first, last] = [1, 8 * width].map(|copies| Self::trivial(symmetry, copies));
        [first, fields(0, 1), fields(1, 2), fields(2, 4), fields(3, 6), fields(4, 6), last]
    }

    pub fn irreps(&self) -> Vec<SphericalIrrep> {
        let parities: &[Option<bool>] = match (self.symmetry, self.max_degree) {
            (Symmetry::So3, _) => &[None],
            (Symmetry::O3, 0) => &[Some(false)],
            (Symmetry::O3, _) => &[Some(false), Some(true)],
        };
        let degrees = || 0..=self.max_degree;
        parities.iter().flat_map(|&odd| degrees().map(move |degree| SphericalIrrep { degree, odd })).collect()
    }

    /// The order (irrep, component, copy) of the layers of the SCNN: channel i of it is channel `order[i]` of this one.
    pub fn by_components(&self) -> Vec<usize> {
        let (mut order, mut start) = (Vec::with_capacity(self.dim()), 0);
        for dim in self.irrep_dims() {
            order.extend((0..dim).flat_map(|m| (0..self.copies).map(move |copy| start + copy * dim + m)));
            start += dim * self.copies;
        }
        order
    }

    pub fn irrep_dims(&self) -> Vec<usize> {
        self.irreps().into_iter().map(SphericalIrrep::dim).collect()
    }

    pub fn field_dim(&self) -> usize {
        self.irrep_dims().iter().sum()
    }

    pub fn dim(&self) -> usize {
        self.copies * self.field_dim()
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels = self.symmetry.labels(self.max_degree);
        labels.truncate(self.irreps().len());
        let irreps: Vec<String> = labels.iter().map(|label| format!("{}x{label}", self.copies)).collect();
        f.write_str(&irreps.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use reynolds::irreps::Irreps;

    use super::*;

    #[test]
    fn channels_are_those_of_the_published_network() {
        let channels = |symmetry, width| Fields::of_network(symmetry, width).map(|fields| fields.dim());
        assert_eq!(channels(Symmetry::So3, 6), [1, 54, 192, 384, 576, 324, 48]);
        assert_eq!(channels(Symmetry::So3, 2), [1, 18, 64, 128, 192, 108, 16]);
        assert_eq!(channels(Symmetry::O3, 2), [1, 36, 72, 144, 216, 216, 16]);
    }

    #[test]
    fn a_field_holds_every_irrep_once() {
        for symmetry in [Symmetry::So3, Symmetry::O3] {
            for max_degree in 0..4 {
                let fields = Fields { symmetry, copies: 3, max_degree };
                let rep = fields.to_string().parse::<Irreps>().unwrap().real_rep(&symmetry.group().unwrap()).unwrap();
                assert_eq!((rep.dim(), fields.dim()), (fields.dim(), 3 * fields.field_dim()));
            }
        }
        let text = |symmetry, max_degree| Fields { symmetry, copies: 2, max_degree }.to_string();
        assert_eq!([text(Symmetry::So3, 1), text(Symmetry::O3, 0)], ["2x0 + 2x1", "2x0e"]);
        assert_eq!(text(Symmetry::O3, 1), "2x0e + 2x1e + 2x0o + 2x1o");
    }
}
