//! What single precision leaves of the penalties.

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::{Architecture, Forecaster, Frames, Held, SmokeNetConfig, Symmetry};
use reynolds_torch::parameters::Parameters;

fn network(symmetry: Symmetry, architecture: Architecture, kind: Kind) -> (Box<dyn Forecaster>, Parameters) {
    let config = SmokeNetConfig { architecture, hidden: 4, layers: 4, ..SmokeNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = config.build(symmetry, Frames { count: 2, side: 8 }, &mut builder, &mut Random::new(11)).unwrap();
    (network, builder.build(kind, Device::Cpu).unwrap())
}

#[test]
fn the_value_of_a_penalty_is_right_in_single_precision_close_to_the_shared_weights() {
    for (symmetry, architecture) in [
        (Symmetry::Translation, Architecture::Rgroup),
        (Symmetry::Rotation, Architecture::Rgroup),
        (Symmetry::Rotation, Architecture::Rsteer),
        (Symmetry::Scaling, Architecture::Rgroup),
        (Symmetry::Scaling, Architecture::Rsteer),
    ] {
        for held in [Held::Operator, Held::Mixing] {
            let (network, exact) = network(symmetry, architecture, Kind::Double);
            let (_, single) = self::network(symmetry, architecture, Kind::Float);
            let penalty = network.penalty(&exact, held).unwrap().unwrap();
            penalty.project(&exact).unwrap();
            let mut random = Random::new(3);
            let noise: Vec<f64> = (0..exact.len()).map(|_| random.normal()).collect();
            let size = 1e-4 * exact.flat().abs().mean(Kind::Double);
            single.assign(&(exact.flat() + Tensor::from_slice(&noise) * size)).unwrap();
            exact.assign(&single.flat().to_kind(Kind::Double)).unwrap();
            let (shared, rest) = penalty.energies(&exact).unwrap();
            assert!(rest < 1e-5 * shared, "{symmetry:?} {architecture:?} {held:?}: {rest} of {shared}");
            for (lambda_g, lambda_perp) in [(0.0, 0.7), (0.3, 0.0), (0.3, 0.7)] {
                let gradient = single.flat().zeros_like();
                let value = penalty.add_gradient(&single, lambda_g, lambda_perp, &gradient).unwrap();
                let value = f64::try_from(value.to_kind(Kind::Double)).unwrap();
                let expected = lambda_g * shared + lambda_perp * rest;
                let off = (value - expected).abs();
                assert!(off < 0.03 * expected, "{symmetry:?} {architecture:?} {held:?}: {value:e} {expected:e}");
            }
        }
    }
}
