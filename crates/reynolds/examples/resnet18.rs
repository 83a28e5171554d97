//! Writes a checkpoint with the names and shapes of torchvision's ResNet-18, for `make demo-audit` and the worked example of the README:
//! `cargo run --release --example resnet18 -- resnet18.safetensors`.
//!
//! Weights are drawn as at initialisation. So that there is something to find, the kernels of stage n are blended with their own quarter
//! turns by n/4: none in the stem, wholly C4-symmetric ones in layer4.

use std::error::Error;

use reynolds::group;
use reynolds::plan::{SymmetryPlan, UniformFields};
use reynolds::projection::Projector;
use reynolds::random::Random;
use reynolds_testkit::files::singles;

type Tensors = Vec<(String, Vec<usize>, Vec<f32>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected the path of the checkpoint to write")?;
    let mut random = Random::new(18);
    let mut tensors = Tensors::new();
    convolution(&mut tensors, &mut random, "conv1", [64, 3, 7], 0.0)?;
    norm(&mut tensors, "bn1", 64);
    let mut channels = 64;
    for (stage, out) in [(1, 64), (2, 128), (3, 256), (4, 512)] {
        let blend = f64::from(stage) / 4.0;
        for block in 0..2 {
            let name = |part: &str| format!("layer{stage}.{block}.{part}");
            convolution(&mut tensors, &mut random, &name("conv1"), [out, channels, 3], blend)?;
            norm(&mut tensors, &name("bn1"), out);
            convolution(&mut tensors, &mut random, &name("conv2"), [out, out, 3], blend)?;
            norm(&mut tensors, &name("bn2"), out);
            if channels != out {
                convolution(&mut tensors, &mut random, &name("downsample.0"), [out, channels, 1], 0.0)?;
                norm(&mut tensors, &name("downsample.1"), out);
            }
            channels = out;
        }
    }
    let head = (0..1000 * 512).map(|_| (random.uniform() as f32 - 0.5) / 11.3).collect();
    tensors.push(("fc.weight".into(), vec![1000, 512], head));
    tensors.push(("fc.bias".into(), vec![1000], vec![0.0; 1000]));
    let views: Vec<_> = tensors.iter().map(|(name, shape, values)| (&**name, &**shape, values.clone())).collect();
    std::fs::write(path, singles(&views))?;
    Ok(())
}

/// Kaiming-normal over the outputs, as torchvision draws it, then blended with its average over quarter turns.
fn convolution(
    tensors: &mut Tensors,
    random: &mut Random,
    name: &str,
    [out, into, side]: [usize; 3],
    blend: f64,
) -> Result<(), Box<dyn Error>> {
    let shape = vec![out, into, side, side];
    let scale = (2.0 / (out * side * side) as f64).sqrt();
    let drawn: Vec<f64> = (0..shape.iter().product()).map(|_| scale * random.normal()).collect();
    let name = format!("{name}.weight");
    let plan = SymmetryPlan::uniform(&group::parse("C4")?, UniformFields::Trivial)?;
    let resolved = plan.resolve(&[(name.clone(), shape.clone())])?;
    let turned = resolved.layers[0].projector.project(&drawn)?;
    let mixed = drawn.iter().zip(&turned).map(|(w, p)| ((1.0 - blend) * w + blend * p) as f32);
    tensors.push((name, shape, mixed.collect()));
    Ok(())
}

fn norm(tensors: &mut Tensors, name: &str, channels: usize) {
    for (part, value) in [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)] {
        tensors.push((format!("{name}.{part}"), vec![channels], vec![value; channels]));
    }
}
