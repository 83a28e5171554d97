//! Networks that can be certified: chains of stages.

use super::bounds::{bias_defect, is_shared, operator_defect, operator_norm, product, same_action};
use super::{Activation, Certificate, Term};
use crate::error::{Error, Result, all_finite};
use crate::group::expect_same;
use crate::norm::length;
use crate::projection::KernelSpace;
use crate::rep::{Grid, Rep};

/// The kinds of stages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StageKind {
    /// x ↦ Wx + b on vectors; on maps the cross-correlation with kernel W (stride 1, zero padding that keeps the size, odd side),
    /// or the same matrix at every position if the space has no grid.
    Linear {
        /// The space of W.
        space: KernelSpace,
        /// W, `[out, in, k…]`.
        weight: Vec<f64>,
        /// b, `[out]`.
        bias: Option<Vec<f64>>,
    },
    /// A pointwise activation.
    Activation(Activation),
    /// Batch normalisation in evaluation, folded: x ↦ scale·x + shift per channel. Certified only if shared inside fields.
    BatchNorm {
        /// `[channels]`.
        scale: Vec<f64>,
        /// `[channels]`.
        shift: Vec<f64>,
    },
    /// The mean over all positions of a map.
    MeanPool,
    /// A layer without a known bound; refused by name.
    Unknown,
}

/// One map of a chain.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Name in terms and errors.
    pub name: String,
    /// Linear map, activation or normalisation.
    pub kind: StageKind,
}

impl Stage {
    /// A dense map or a convolution.
    pub fn linear(name: &str, space: &KernelSpace, weight: Vec<f64>, bias: Option<Vec<f64>>) -> Self {
        Self { name: name.into(), kind: StageKind::Linear { space: space.clone(), weight, bias } }
    }

    /// A pointwise activation.
    pub fn activation(name: &str, activation: Activation) -> Self {
        Self { name: name.into(), kind: StageKind::Activation(activation) }
    }

    /// Any other kind.
    pub fn new(name: &str, kind: StageKind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// Stages with the feature spaces between them.
#[derive(Debug, Clone)]
pub struct Network {
    stages: Vec<Stage>,
    /// One more than stages: the input first, the output last. A value is row-major `[channels, positions]`.
    features: Vec<KernelSpace>,
}

impl Network {
    /// Stages on vectors of `fields`, or on square or cubic maps with fields at every one of the `positions`, which G turns about the
    /// centre.
    ///
    /// # Errors
    /// [`Error::Shape`] if weights, biases or fields do not fit, or a kernel has an even side; [`Error::NotCertifiable`] for an unknown
    /// stage.
    pub fn new(fields: &Rep, positions: Option<&Grid>, stages: Vec<Stage>) -> Result<Self> {
        let mut features = vec![KernelSpace::features(fields, positions)?];
        for stage in &stages {
            let next = stage.output(&features[features.len() - 1])?;
            features.push(next);
        }
        Ok(Self { stages, features })
    }

    pub(super) fn input(&self) -> &KernelSpace {
        &self.features[0]
    }

    pub(super) fn output(&self) -> &KernelSpace {
        &self.features[self.stages.len()]
    }

    /// T(x), for finite x of the input's dimension.
    pub fn evaluate(&self, x: &[f64]) -> Result<Vec<f64>> {
        if x.len() != self.input().len() {
            return Err(Error::shape("input", format!("{} coordinates", self.input().len()), x.len()));
        }
        all_finite(x)?;
        let steps = self.stages.iter().zip(&self.features);
        Ok(steps.fold(x.to_vec(), |x, (stage, feature)| stage.forward(feature, x)))
    }

    /// The bound of the module's formula on inputs ‖x‖ ≤ `radius`.
    ///
    /// Paper: `lem:defect_composition` and `cor:bound_neural_net`, corrected.
    ///
    /// # Errors
    /// [`Error::NotCertifiable`], naming the layer, for an activation that is not equivariant on its fields, a batch normalisation that is
    /// not shared within them, or a radius, constant or bound that overflows.
    pub fn certify(&self, radius: f64) -> Result<Certificate> {
        check_radius(radius)?;
        let mut terms = Vec::with_capacity(self.stages.len());
        let mut inside = radius;
        for (stage, feature) in self.stages.iter().zip(&self.features) {
            let (lipschitz, offset, operator, constant) = stage.constants(feature).map_err(|error| match error {
                Error::OutOfRange { what, .. } => stage.refused(format!("its {what} overflows")),
                other => other,
            })?;
            let lipschitz = stage.finite("Lipschitz constant", lipschitz)?;
            let defect = stage.finite("defect", product(operator, inside) + constant)?;
            terms.push(Term { layer: stage.name.clone(), lipschitz, radius: inside, defect, contribution: defect });
            inside = stage.finite("output radius", product(lipschitz, inside) + offset)?;
        }
        let (mut downstream, mut bound) = (1.0, 0.0);
        for (stage, term) in self.stages.iter().zip(&mut terms).rev() {
            // A layer without defect adds nothing, whatever follows it.
            if term.defect > 0.0 {
                term.contribution = stage.finite("contribution", product(term.defect, downstream))?;
                bound = stage.finite("contribution", bound + term.contribution)?;
            }
            downstream = product(downstream, term.lipschitz);
        }
        // Rounding of the norms is covered by a relative 10⁻¹².
        bound *= 1.0 + 1e-12;
        if let Some(last) = self.stages.last() {
            last.finite("bound", bound)?;
        }
        Ok(Certificate { radius, terms, bound, searched: None })
    }
}

pub(super) fn check_radius(radius: f64) -> Result<()> {
    let valid = radius.is_finite() && radius >= 0.0;
    valid.then_some(()).ok_or_else(|| Error::range("input radius", "a finite number, at least 0", radius))
}

fn norm(values: &[f64]) -> f64 {
    length(values.iter().copied())
}

impl Stage {
    fn refused(&self, reason: impl Into<String>) -> Error {
        Error::NotCertifiable { layer: self.name.clone(), reason: reason.into() }
    }

    /// A number of the certificate, refused if it overflows.
    fn finite(&self, what: &str, value: f64) -> Result<f64> {
        if value.is_finite() { Ok(value) } else { Err(self.refused(format!("its {what} overflows"))) }
    }

    fn expect_length(&self, what: &str, values: &[f64], expected: usize) -> Result<()> {
        if values.len() != expected {
            return Err(Error::shape(format!("{what} of layer {}", self.name), expected, values.len()));
        }
        all_finite(values)
    }

    /// The space it maps to, if it fits its input.
    fn output(&self, input: &KernelSpace) -> Result<KernelSpace> {
        let fields = input.codomain();
        match &self.kind {
            StageKind::Linear { space, weight, bias } => {
                expect_same(fields.group(), space.group())?;
                if !same_action(fields, space.domain()) {
                    let what = format!("input fields of layer {}", self.name);
                    return Err(Error::shape(what, fields.label(), space.domain().label()));
                }
                self.expect_length("weight", weight, space.len())?;
                if let Some(bias) = bias {
                    self.expect_length("bias", bias, space.codomain().dim())?;
                }
                if let Some(grid) = space.grid() {
                    let what = format!("kernel of layer {}", self.name);
                    let Some(map) = input.grid() else {
                        return Err(Error::shape(what, "no grid, on a vector", format!("{:?}", grid.shape())));
                    };
                    if grid.shape().iter().any(|side| side % 2 == 0) || grid.dims() != map.dims() {
                        let expected = format!("odd sides and {} axes", map.dims());
                        return Err(Error::shape(what, expected, format!("{:?}", grid.shape())));
                    }
                }
                KernelSpace::features(space.codomain(), input.grid())
            }
            StageKind::Activation(_) => Ok(input.clone()),
            StageKind::BatchNorm { scale, shift } => {
                self.expect_length("scale", scale, fields.dim())?;
                self.expect_length("shift", shift, fields.dim())?;
                Ok(input.clone())
            }
            StageKind::MeanPool => KernelSpace::features(fields, None),
            StageKind::Unknown => Err(self.refused("no bound is known for this kind of layer")),
        }
    }

    /// L, ‖f(0)‖, sup_g ‖Δ_g W‖_op and sup_g ‖Δ_g b‖.
    fn constants(&self, input: &KernelSpace) -> Result<(f64, f64, f64, f64)> {
        let fields = input.codomain();
        let everywhere = (input.points() as f64).sqrt();
        match &self.kind {
            StageKind::Linear { space, weight, bias } => {
                let (offset, moved) = match bias {
                    Some(bias) => (norm(bias) * everywhere, bias_defect(space.codomain(), bias)? * everywhere),
                    None => (0.0, 0.0),
                };
                Ok((operator_norm(space, weight)?, offset, operator_defect(space, weight)?, moved))
            }
            StageKind::Activation(activation) => {
                activation.check(fields).map_err(|reason| self.refused(reason))?;
                let offset = activation.at(0.0).abs() * (input.len() as f64).sqrt();
                Ok((activation.lipschitz(), offset, 0.0, 0.0))
            }
            StageKind::BatchNorm { scale, shift } => {
                if !is_shared(fields, scale, shift) {
                    return Err(self.refused(format!(
                        "its scales and shifts are not shared inside the fields {}, so it is not equivariant",
                        fields.label()
                    )));
                }
                let steepest = scale.iter().fold(0.0_f64, |largest, s| largest.max(s.abs()));
                Ok((steepest, norm(shift) * everywhere, 0.0, 0.0))
            }
            StageKind::MeanPool => Ok((1.0 / everywhere, 0.0, 0.0, 0.0)),
            StageKind::Unknown => unreachable!("refused when the network was made"),
        }
    }

    fn forward(&self, input: &KernelSpace, mut x: Vec<f64>) -> Vec<f64> {
        let points = input.points();
        match &self.kind {
            StageKind::Linear { space, weight, bias } => {
                let mut out = correlate(space, weight, input.grid(), &x);
                if let Some(bias) = bias {
                    out.chunks_exact_mut(points).zip(bias).for_each(|(row, b)| row.iter_mut().for_each(|v| *v += b));
                }
                out
            }
            StageKind::Activation(activation) => {
                x.iter_mut().for_each(|v| *v = activation.at(*v));
                x
            }
            StageKind::BatchNorm { scale, shift } => {
                for (row, (scale, shift)) in x.chunks_exact_mut(points).zip(scale.iter().zip(shift)) {
                    row.iter_mut().for_each(|v| *v = scale * *v + shift);
                }
                x
            }
            StageKind::MeanPool => x.chunks_exact(points).map(|row| row.iter().sum::<f64>() / points as f64).collect(),
            StageKind::Unknown => unreachable!("refused when the network was made"),
        }
    }
}

/// y(p) = Σ_d K(d) x(p + d), with zeros outside the map.
fn correlate(space: &KernelSpace, weight: &[f64], map: Option<&Grid>, x: &[f64]) -> Vec<f64> {
    let (rows, columns, taps) = (space.codomain().dim(), space.domain().dim(), space.points());
    let points = map.map_or(1, Grid::points);
    let mut out = vec![0.0; rows * points];
    let shape = |grid: Option<&Grid>| grid.map_or(vec![], Grid::shape);
    let (sides, kernel) = (shape(map), shape(space.grid()));
    for p in 0..points {
        for tap in 0..taps {
            let Some(q) = shifted(&sides, &kernel, p, tap) else { continue };
            for o in 0..rows {
                for i in 0..columns {
                    out[o * points + p] += weight[(o * columns + i) * taps + tap] * x[i * points + q];
                }
            }
        }
    }
    out
}

/// The position p + d for the kernel point `tap`, or `None` outside the map.
fn shifted(sides: &[usize], kernel: &[usize], mut p: usize, mut tap: usize) -> Option<usize> {
    let (mut q, mut stride) = (0, 1);
    for (axis, side) in sides.iter().enumerate().rev() {
        let width = kernel.get(axis).copied().unwrap_or(1);
        let coordinate = (p % side + tap % width).checked_sub(width / 2)?;
        if coordinate >= *side {
            return None;
        }
        q += coordinate * stride;
        stride *= side;
        p /= side;
        tap /= width;
    }
    Some(q)
}
