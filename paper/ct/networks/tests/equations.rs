//! The equations, one operation after the other, and gradients against differences.

use tch::{Kind, Tensor};

use super::{Architecture, EVALUATE, Mode, TRAIN, far, input, network, run, small};
use crate::ct::networks::RotatedKernels;
use crate::ct::networks::{Corrupted, Held, MarNetConfig, Reduction, loss};
use reynolds_torch::layers::BatchNorm;
use reynolds_torch::parameters::Parameters;

/// A network of one block a net, written down as the equations are.
struct Reference<'a> {
    parameters: &'a Parameters,
    mode: Mode,
}

impl Reference<'_> {
    fn get(&self, name: &str) -> Tensor {
        self.parameters.get(name).unwrap()
    }

    fn block(&self, name: &str, input: &Tensor) -> Tensor {
        let mut builder = Parameters::builder();
        let mut half = |half: usize, input: &Tensor| {
            let part = |part: &str| self.get(&format!("{name}.0.conv{half}.{part}"));
            let output = input.conv2d(&part("weight"), Some(&part("bias")), [1, 1], [2, 2], [1, 1], 1);
            let norm = BatchNorm::new(&mut builder, &format!("{name}.0.norm{half}"), 36, 1).unwrap();
            norm.forward(self.parameters, &output, self.mode).unwrap()
        };
        let hidden = half(1, input).relu();
        (input + half(2, &hidden)).relu()
    }

    fn m(&self, number: usize, maps: &Tensor) -> Tensor {
        let threshold = self.get(&format!("m.{number}.threshold")).view([1, -1, 1, 1]);
        (self.block(&format!("m.{number}"), maps) - threshold).relu()
    }

    fn kernels(&self, name: &str, turned: bool) -> Tensor {
        let weights = self.get(name);
        match turned {
            true => RotatedKernels::new(9, 9, 4).unwrap().kernels(&weights).unwrap().view([1, 36, 9, 9]) / 10.0,
            false => weights / 10.0,
        }
    }

    fn stages(&self, stages: usize, turned: bool, input: &Corrupted) -> Reduction {
        let (y, l, i) = (&input.image, &input.interpolated, &input.keep);
        let (f0, f) = (self.kernels("dictionary.start", turned), self.kernels("dictionary", turned));
        let compose = |m: &Tensor| m.conv2d(&f, None::<Tensor>, [1, 1], [4, 4], [1, 1], 1);
        let adjoint = |f: &Tensor, r: &Tensor| r.conv_transpose2d(f, None::<Tensor>, [1, 1], [4, 4], [0, 0], 1, [1, 1]);
        let p = l.conv2d(&self.get("auxiliary"), None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
        let stream = self.block("x.0", &Tensor::cat(&[l, &p], 1));
        let start = stream.narrow(1, 0, 1);
        let (mut x, mut p) = (start.shallow_clone(), stream.narrow(1, 1, 35));
        let (mut images, mut artefacts) = (vec![], vec![]);
        let (mut m, mut a) = (Tensor::new(), Tensor::new());
        for t in 1..=stages {
            m = match t {
                1 => self.m(0, &adjoint(&f0, &(i * (y - &x) - self.get("threshold")).relu())),
                _ => {
                    let eta = self.get("step.m").get(t as i64 - 2) / 10.0;
                    self.m(t - 1, &(&m - eta * adjoint(&f, &(i * (&a - (y - &x))))))
                }
            };
            a = compose(&m);
            let eta = self.get("step.x").get(t as i64 - 1) / 10.0;
            x = &x - eta * i * (&x - (y - &a));
            let stream = self.block(&format!("x.{t}"), &Tensor::cat(&[&x, &p], 1));
            (x, p) = (stream.narrow(1, 0, 1), stream.narrow(1, 1, 35));
            if t > 1 && !turned {
                let mix = |name: &str, m: &Tensor| m.conv2d(&self.get(name), None::<Tensor>, [1, 1], [0, 0], [1, 1], 1);
                m = mix("mix.1", &mix("mix.0", &m.relu()));
            }
            images.push(x.shallow_clone());
            artefacts.push(a.shallow_clone());
        }
        let last = self.block(&format!("x.{}", stages + 1), &Tensor::cat(&[&x, &p], 1));
        images.push(last.narrow(1, 0, 1));
        Reduction { start, images, artefacts, early_images: vec![], early_artefacts: vec![] }
    }
}

/// Moves all parameters a little, so that nothing is 0 or the identity by chance.
fn shake(parameters: &Parameters) {
    let mut random = reynolds::random::Random::new(8);
    let noise: Vec<f64> = (0..parameters.len()).map(|_| 0.02 * random.normal()).collect();
    parameters.assign(&(parameters.flat() + Tensor::from_slice(&noise))).unwrap();
}

#[test]
fn networks_compute_their_equations_and_so_do_their_gradients() {
    for architecture in [Architecture::Dicdnet, Architecture::Oscnet] {
        let ((network, parameters), (_, other)) =
            (network(&small(architecture), Kind::Double), network(&small(architecture), Kind::Double));
        shake(&parameters);
        shake(&other);
        let (input, truth) = input(Kind::Double, 2, 12);
        for pass in [TRAIN, TRAIN, EVALUATE] {
            let found = run(network.as_ref(), &parameters, &input, pass);
            let reference = Reference { parameters: &other, mode: pass.mode };
            let expected = reference.stages(3, architecture == Architecture::Oscnet, &input);
            assert_eq!((found.images.len(), found.artefacts.len()), (4, 3));
            let pairs =
                found.images.iter().zip(&expected.images).chain(found.artefacts.iter().zip(&expected.artefacts));
            for (found, expected) in pairs.chain([(&found.start, &expected.start)]) {
                assert!(far(found, expected) < 1e-10, "{architecture:?} {pass:?}: {}", far(found, expected));
            }
            assert!(far(parameters.statistics(), other.statistics()) < 1e-10);
            let gradient = parameters.gradient(&loss(&found, &input, &truth).unwrap()).unwrap();
            let expected = other.gradient(&loss(&expected, &input, &truth).unwrap()).unwrap();
            let scale = f64::try_from(expected.abs().max()).unwrap();
            assert!(far(&gradient, &expected) < 1e-10 * scale, "{architecture:?} {pass:?}");
        }
    }
}

#[test]
fn the_gradient_of_the_loss_is_that_of_differences_for_parameters_of_every_kind() {
    for architecture in [Architecture::Dicdnet, Architecture::Oscnet] {
        let config = MarNetConfig { held: Held::Xm, ..small(architecture) };
        let (network, parameters) = network(&config, Kind::Double);
        shake(&parameters);
        let (input, truth) = input(Kind::Double, 2, 8);
        let value = || loss(&run(network.as_ref(), &parameters, &input, TRAIN), &input, &truth).unwrap();
        let gradient = parameters.gradient(&value()).unwrap();
        let mut names = vec!["auxiliary", "threshold", "step.x", "step.m", "dictionary.start", "dictionary"];
        names.extend(["x.0.0.conv1.weight", "x.1.0.conv2.weight", "x.4.0.norm2.weight", "m.0.0.conv1.weight"]);
        names.extend(["x.2.0.norm1.bias", "m.2.0.conv2.weight", "m.1.0.norm2.bias", "m.1.threshold"]);
        if architecture == Architecture::Dicdnet {
            names.extend(["mix.0", "mix.1"]);
        }
        for name in names {
            let entry = parameters.entries().iter().find(|entry| entry.name == name).unwrap();
            // The steepest number of the parameter, so that the difference is one of the function and not of rounding.
            let slopes = gradient.narrow(0, entry.start as i64, entry.len() as i64);
            let at = i64::try_from(slopes.abs().argmax(0, false)).unwrap();
            let (slope, mut number) =
                (slopes.double_value(&[at]), parameters.flat().narrow(0, entry.start as i64 + at, 1));
            assert!(slope != 0.0, "{architecture:?} {name}");
            let (before, step) = (number.double_value(&[0]), 1e-7);
            let mut at = |value_at: f64| {
                let _ = number.fill_(value_at);
                f64::try_from(value()).unwrap()
            };
            let difference = (at(before + step) - at(before - step)) / (2.0 * step);
            at(before);
            let off = (difference - slope).abs();
            assert!(off < 1e-3 * slope.abs().max(1e-2), "{architecture:?} {name}: {difference} {slope}");
        }
    }
}
