//! The SCNN: counts.

use reynolds::random::Random;
use tch::{Device, Kind};

use crate::models::volume::{Architecture, Network, Symmetry, VolumeNetConfig};
use crate::parameters::Parameters;

fn network(group: Symmetry, width: usize, classes: usize, kind: Kind) -> (Box<dyn Network>, Parameters) {
    let config = VolumeNetConfig { architecture: Architecture::Scnn, group, width, ..VolumeNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = config.build(classes, &mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(kind, Device::Cpu).unwrap())
}

#[test]
fn parameters_are_counted_as_published() {
    for (group, total, convolutions) in [(Symmetry::So3, 128_891, Some(126_384)), (Symmetry::O3, 193_241, None)] {
        let (_, parameters) = network(group, 6, 11, Kind::Float);
        assert_eq!(parameters.len(), total);
        let kernels = |name: &str| name.starts_with('r') && (name.contains("conv") || name.contains("skip"));
        let weights =
            parameters.entries().iter().filter(|entry| entry.name.ends_with("weight") && kernels(&entry.name));
        let weights: usize = weights.map(|entry| entry.len()).sum();
        assert!(convolutions.is_none_or(|count| count == weights), "{weights}");
    }
}
