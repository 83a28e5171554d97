//! Lift: a network that gets a global vector from an encoder without symmetry.
//!
//! ```text
//! frames ──layer, layer──► features ─┬─layer, layer, …──► next frame
//!    └──encoder──► z, the same at every pixel ─┘       encoder: linear, ReLU, linear, ReLU, linear, of the flattened frames
//! ```
//!
//! The layers are those of Equiv. For shifts and turns the encoder normalises before its ReLU, and z has `hidden` numbers (for turns hidden/4
//! regular fields); for changes of size it does not, and z has hidden/2. Only the encoder can break the symmetry. Wang's encoder has the
//! fixed side of another data set; here it is that of the frames.

use super::Symmetry;
use super::*;
use reynolds_torch::layers::Mode;

/// Layers before the vector is appended.
pub(crate) const BEFORE: usize = 2;

/// Equiv with an encoder: adds `encoder.N`, its norms, and the layers.
pub(crate) fn network(new: &mut Construction<'_>) -> Result<Body> {
    let SmokeNetConfig { hidden, layers, .. } = *new.config;
    let symmetry = new.symmetry;
    if symmetry == Symmetry::Rotation && !hidden.is_multiple_of(4) {
        return Err(Error::setting("hidden", "a multiple of 4 for lift", hidden));
    }
    // The last layer of the scale-steerable network has a basis of its own.
    let (before, least) = if symmetry == Symmetry::Scaling { (BEFORE + 1, 2) } else { (BEFORE, 1) };
    if layers <= before {
        let expected = format!("more than {before}, after which the vector is appended");
        return Err(Error::setting("layers", expected, layers));
    }
    if hidden < least {
        return Err(Error::setting("hidden", format!("at least {least} for lift"), hidden));
    }
    let mut pairs = new.pairs();
    match symmetry {
        Symmetry::Translation => {
            pairs[BEFORE][0] += hidden;
            new.config.at_most(conv::count(&pairs, true) + Encoder::count(new))?;
            let encoder = Encoder::new(new, Some("encoder_norms"))?;
            Ok(Body { encoder: Some(encoder), ..conv::network(new, &pairs, true)? })
        }
        Symmetry::Rotation => {
            let mut pairs = rotation::pairs(new);
            pairs[BEFORE][0].0 += hidden / 4;
            new.config.at_most(rotation::count(&pairs) + Encoder::count(new))?;
            let body = rotation::equiv(new, &pairs)?;
            Ok(Body { encoder: Some(Encoder::new(new, Some("encoder.norms"))?), ..body })
        }
        Symmetry::Scaling => {
            pairs[BEFORE][0] += hidden / 2;
            new.config.at_most(scaling::count(&pairs, scaling::Mixing::Shared) + Encoder::count(new))?;
            let encoder = Encoder::new(new, None)?;
            Ok(Body { encoder: Some(encoder), ..scaling::equiv(new, &pairs)? })
        }
    }
}

pub(crate) struct Encoder {
    linear: Vec<Linear>,
    /// Two, or none.
    norms: Vec<BatchNorm>,
    /// Whether z comes before the features.
    leads: bool,
}

impl Encoder {
    fn sizes(new: &Construction<'_>) -> [usize; 4] {
        let hidden = new.config.hidden;
        let told = if new.symmetry == Symmetry::Scaling { hidden / 2 } else { hidden };
        [2 * new.frames.count * new.frames.side * new.frames.side, hidden, hidden, told]
    }

    fn count(new: &Construction<'_>) -> usize {
        let linear: usize = Self::sizes(new).windows(2).map(|pair| pair[1] * (pair[0] + 1)).sum();
        linear + if new.symmetry == Symmetry::Scaling { 0 } else { 4 * new.config.hidden }
    }

    fn new(new: &mut Construction<'_>, norms: Option<&str>) -> Result<Self> {
        let sizes = Self::sizes(new);
        let mut linear = Vec::new();
        for (number, pair) in sizes.windows(2).enumerate() {
            linear.push(Linear::new(new.builder, &format!("encoder.{number}"), pair[0], pair[1], new.random)?);
        }
        let names = norms.into_iter().flat_map(|name| (0..2).map(move |number| format!("{name}.{number}")));
        let norms = names.map(|name| BatchNorm::new(new.builder, &name, new.config.hidden, 1));
        Ok(Self { linear, norms: norms.collect::<Result<_>>()?, leads: new.symmetry == Symmetry::Scaling })
    }

    /// The features with z at every pixel, `[N, channels + numbers of z, H, W]`.
    pub(crate) fn tell(
        &self,
        parameters: &Parameters,
        frames: &Tensor,
        features: &Tensor,
        mode: Mode,
    ) -> Result<Tensor> {
        let mut vector = frames.f_reshape([frames.size()[0], -1])?;
        for (number, linear) in self.linear.iter().enumerate() {
            vector = linear.forward(parameters, &vector)?;
            if let Some(norm) = self.norms.get(number) {
                vector = norm.forward(parameters, &vector, mode)?;
            }
            if number + 1 < self.linear.len() {
                vector = vector.f_relu()?;
            }
        }
        let size = features.size();
        let field = vector.f_unsqueeze(2)?.f_unsqueeze(3)?.f_expand([-1, -1, size[2], size[3]], false)?;
        let field = kernel_layout(field)?;
        Ok(if self.leads { Tensor::f_cat(&[&field, features], 1)? } else { Tensor::f_cat(&[features, &field], 1)? })
    }
}
