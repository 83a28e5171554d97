//! The approximately SO(2)-invariant network of the paper.
//!
//! ```text
//! x ──circular harmonics──► H ∈ ℂ^{(2M+1)C} ──L₁──► ──L₂──► h ∈ ℂ^{(2M+1)C_hid} ──Re Σ_m h_m ⊙ h_{−m}──► ℝ^{C_hid} ──head──► logit
//! ```
//!
//! L₁ and L₂ are dense: the network is invariant iff they commute with the turns, which the penalty asks for, not the architecture.
//! There is no nonlinearity between them, so that L₂L₁ may be multiplied out first ([`Form::Collapsed`]): the same function of the
//! same parameters, with fewer operations as long as there are more points than channels.
//!
//! Paper: `sec:so2_equivariance`, `app:details_so2`.

use reynolds::group;
use reynolds::irreps::Irreps;
use reynolds::plan::{Rule, SymmetryPlan};
use reynolds::random::Random;
use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::network::Network;
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::{
    CircularHarmonics, ComplexLinear, Linear, Pass, TensorProduct, circular_irreps, complex_linear,
};
use reynolds_torch::parameters::{Builder, Parameters};

/// How L₂L₁ is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// L₁, then L₂.
    Literal,
    /// The product L₂L₁ once a step, then that.
    #[default]
    Collapsed,
}

/// Sizes of [`So2Net`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct So2NetConfig {
    /// M, the largest order of the features.
    pub max_degree: usize,
    /// C, radial bumps of the feature map.
    pub radial_channels: usize,
    /// C_hid, channels of each order after L₁ and after L₂.
    pub hidden_channels: usize,
    /// How the two linear layers are applied: `collapsed`, as one product, or `literal`, one after the other.
    pub form: Form,
}

impl Default for So2NetConfig {
    fn default() -> Self {
        Self { max_degree: 4, radial_channels: 4, hidden_channels: 16, form: Form::Collapsed }
    }
}

/// The approximately SO(2)-invariant network.
///
/// ```
/// use reynolds::random::Random;
/// use reynolds_paper::{network::{Network, TRAIN}, so2::networks::{So2Net, So2NetConfig}};
/// use reynolds_torch::{Binding, Parameters, tch::{Device, Kind, Tensor}};
/// let mut builder = Parameters::builder();
/// let net = So2Net::new(&mut builder, So2NetConfig::default(), &mut Random::new(0))?;
/// let parameters = builder.build(Kind::Float, Device::Cpu)?;
/// let points = Tensor::ones([5, 2], (Kind::Float, Device::Cpu));
/// assert_eq!(net.forward(&parameters, &[], &net.features(&points)?, TRAIN)?.size(), [5]);
/// // Regularised towards SO(2): the weights of both complex layers.
/// let binding = Binding::of_plan(&parameters, &net.plan(&parameters)?.expect("two complex layers"))?;
/// assert_eq!((binding.bound()[0].entry.name.as_str(), binding.bound()[0].rank), ("first.weight", 9 * 16 * 4));
/// # Ok::<(), reynolds_torch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct So2Net {
    config: So2NetConfig,
    harmonics: CircularHarmonics,
    first: ComplexLinear,
    second: ComplexLinear,
    product: TensorProduct,
    head: Linear,
}

impl So2Net {
    /// Adds `first.weight`, `second.weight` (complex), `head.weight` and `head.bias` (real).
    pub fn new(builder: &mut Builder, config: So2NetConfig, random: &mut Random) -> Result<Self> {
        let So2NetConfig { max_degree, radial_channels, hidden_channels, .. } = config;
        let harmonics = CircularHarmonics::new(max_degree, radial_channels)?;
        if hidden_channels == 0 {
            return Err(Error::setting("hidden_channels", "at least 1", hidden_channels));
        }
        let hidden = hidden_channels * (2 * max_degree + 1);
        Ok(Self {
            config,
            harmonics,
            first: ComplexLinear::new(builder, "first.weight", harmonics.dim(), hidden, random)?,
            second: ComplexLinear::new(builder, "second.weight", hidden, hidden, random)?,
            product: TensorProduct::new(max_degree),
            head: Linear::new(builder, "head", hidden_channels, 1, random)?,
        })
    }

    /// The features of points `[N, 2]`, which have no weights; the N numbers of a feature are contiguous, as the layers read them.
    pub fn features(&self, points: &Tensor) -> Result<Tensor> {
        Ok(self.harmonics.forward(points)?.f_transpose(0, 1)?.f_contiguous()?.f_transpose(0, 1)?)
    }
}

impl Network for So2Net {
    fn forward(&self, parameters: &Parameters, _: &[Tensor], features: &Tensor, _: Pass) -> Result<Tensor> {
        let hidden = match self.config.form {
            Form::Literal => self.second.forward(parameters, &self.first.forward(parameters, features)?)?,
            Form::Collapsed => {
                let product = self.second.weight(parameters)?.f_mm(&self.first.weight(parameters)?)?;
                complex_linear::apply(&product, features)?
            }
        };
        let invariants = self.product.invariant(&hidden)?;
        Ok(self.head.forward(parameters, &invariants)?.f_squeeze_dim(1)?)
    }

    /// L₁ and L₂ are regularised towards SO(2). The head reads invariants and is free.
    fn plan(&self, _: &Parameters) -> Result<Option<SymmetryPlan>> {
        let hidden = circular_irreps(self.config.hidden_channels, self.config.max_degree);
        let rule = |layer: &ComplexLinear, domain: &Irreps| Rule {
            name: layer.name().into(),
            domain: Some(domain.to_string()),
            codomain: hidden.to_string(),
            ..Rule::default()
        };
        let rules = vec![rule(&self.first, &self.harmonics.irreps()), rule(&self.second, &hidden)];
        Ok(Some(SymmetryPlan::of_rules(&group::parse("SO2")?, rules)?))
    }
}

#[cfg(test)]
mod tests {
    use reynolds_torch::Binding;
    use tch::{Device, Kind};

    use super::*;
    use crate::network::TRAIN;
    use crate::testing::largest;

    fn network(form: Form, kind: Kind) -> (So2Net, Parameters) {
        let mut builder = Parameters::builder();
        let config = So2NetConfig { form, ..So2NetConfig::default() };
        let net = So2Net::new(&mut builder, config, &mut Random::new(5)).unwrap();
        (net, builder.build(kind, Device::Cpu).unwrap())
    }

    /// Points with radii from 0 to 3 all around the origin.
    fn points(kind: Kind) -> Tensor {
        let mut random = Random::new(9);
        let coordinates: Vec<f64> = (0..200).map(|_| 1.5 * random.normal()).collect();
        Tensor::from_slice(&coordinates).view([100, 2]).to_kind(kind)
    }

    fn turned(points: &Tensor, angle: f64) -> Tensor {
        let (sine, cosine) = angle.sin_cos();
        points.matmul(&Tensor::from_slice(&[cosine, sine, -sine, cosine]).view([2, 2]).to_kind(points.kind()))
    }

    fn logits(net: &So2Net, parameters: &Parameters, points: &Tensor) -> Tensor {
        net.forward(parameters, &[], &net.features(points).unwrap(), TRAIN).unwrap()
    }

    /// P on L₁ and L₂, in place.
    fn project(net: &So2Net, parameters: &mut Parameters) {
        let binding = Binding::of_plan(parameters, &net.plan(parameters).unwrap().unwrap()).unwrap();
        binding.project_in_place(parameters).unwrap();
    }

    #[test]
    fn the_projector_is_the_mask_of_equal_orders() {
        let (net, mut parameters) = network(Form::Collapsed, Kind::Double);
        let names = ["first.weight", "second.weight", "head.weight", "head.bias"];
        let weights = |parameters: &Parameters| names.map(|name| parameters.get(name).unwrap().detach().copy());
        let before = weights(&parameters);
        project(&net, &mut parameters);
        for ((name, before), after) in names.iter().zip(&before).zip(&weights(&parameters)) {
            let order = |size: i64| Tensor::arange(size, (Kind::Int64, Device::Cpu)).remainder(9);
            let expected = match name.starts_with("head") {
                true => before.shallow_clone(),
                false => before * order(before.size()[0]).unsqueeze(1).eq_tensor(&order(before.size()[1])),
            };
            assert_eq!(largest(&(after - expected)), 0.0, "{name}");
        }
    }

    #[test]
    fn both_forms_are_one_function_with_one_gradient() {
        let ((literal, parameters), (collapsed, _)) =
            (network(Form::Literal, Kind::Double), network(Form::Collapsed, Kind::Double));
        let points = points(Kind::Double);
        let [a, b] = [&literal, &collapsed].map(|net| logits(net, &parameters, &points));
        assert!(largest(&(&a - &b)) < 1e-12 * largest(&a).max(1.0));
        let [a, b] = [a, b].map(|logits| parameters.gradient(&logits.square().mean(Kind::Double)).unwrap());
        assert!(largest(&(&a - &b)) < 1e-12 * largest(&a).max(1.0));
        assert!(largest(&a) > 1e-3);
    }

    #[test]
    fn features_lie_as_the_layers_read_them() {
        let (net, _) = network(Form::Literal, Kind::Float);
        let features = net.features(&points(Kind::Float)).unwrap();
        assert_eq!((features.size(), features.stride()), (vec![100, 36], vec![1, 100]));
    }

    #[test]
    fn a_projected_network_is_invariant_and_an_unprojected_one_is_not() {
        for form in [Form::Literal, Form::Collapsed] {
            let (net, mut parameters) = network(form, Kind::Float);
            let points = points(Kind::Float);
            let change = |parameters: &Parameters, angle: f64| {
                let [before, after] = [&points, &turned(&points, angle)].map(|points| logits(&net, parameters, points));
                largest(&(after - &before)) / largest(&before)
            };
            assert!(change(&parameters, 0.9) > 0.1);
            project(&net, &mut parameters);
            // A few hundred products are summed, and a coordinate of size 3 is rounded in the turn.
            let rounding = 300.0 * f64::from(f32::EPSILON);
            for angle in [0.1, 0.9, 2.0, -3.0] {
                let change = change(&parameters, angle);
                assert!(change < rounding, "{change}");
            }
        }
    }

    #[test]
    fn bad_sizes_are_errors() {
        for config in [
            So2NetConfig { hidden_channels: 0, ..So2NetConfig::default() },
            So2NetConfig { radial_channels: 0, ..So2NetConfig::default() },
            So2NetConfig { max_degree: 40, ..So2NetConfig::default() },
        ] {
            assert!(So2Net::new(&mut Parameters::builder(), config, &mut Random::new(0)).is_err(), "{config:?}");
        }
    }
}
