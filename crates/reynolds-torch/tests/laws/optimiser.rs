//! Adam and AdamW against their formulas, written out in plain f64 as PyTorch defines them.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use reynolds::random::Random;
use reynolds_torch::optimiser::{Adam, AdamConfig, Method};
use reynolds_torch::tch::{Device, Kind, Tensor};

/// torch.optim.Adam and AdamW, one weight at a time.
struct Reference {
    config: AdamConfig,
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
}

impl Reference {
    fn step(&mut self, weights: &mut [f64], gradient: &[f64], rate: f64) {
        let AdamConfig { method, beta1, beta2, epsilon, weight_decay } = self.config;
        self.steps += 1;
        for (index, weight) in weights.iter_mut().enumerate() {
            let mut slope = gradient[index];
            match method {
                Method::Adam => slope += weight_decay * *weight,
                Method::AdamW => *weight *= 1.0 - rate * weight_decay,
            }
            let (m, v) = (&mut self.first[index], &mut self.second[index]);
            *m = beta1 * *m + (1.0 - beta1) * slope;
            *v = beta2 * *v + (1.0 - beta2) * slope * slope;
            let m_hat = *m / (1.0 - beta1.powi(self.steps));
            let v_hat = *v / (1.0 - beta2.powi(self.steps));
            *weight -= rate * m_hat / (v_hat.sqrt() + epsilon);
        }
    }
}

fn normals(random: &mut Random, length: usize) -> Vec<f64> {
    (0..length).map(|_| random.normal()).collect()
}

#[test]
fn both_methods_follow_their_formulas() {
    for method in [Method::Adam, Method::AdamW] {
        for weight_decay in [0.0, 0.3] {
            let config = AdamConfig { method, beta1: 0.8, beta2: 0.95, epsilon: 1e-3, weight_decay };
            let mut random = Random::new(5);
            let mut expected = normals(&mut random, 7);
            let mut weights = Tensor::from_slice(&expected);
            let mut adam = Adam::new(config, &weights).unwrap();
            let mut reference = Reference { config, first: vec![0.0; 7], second: vec![0.0; 7], steps: 0 };
            for step in 0..50 {
                let gradient = normals(&mut random, 7);
                let rate = 0.1 / (1.0 + f64::from(step));
                reference.step(&mut expected, &gradient, rate);
                adam.step(&mut weights, &Tensor::from_slice(&gradient), rate).unwrap();
            }
            for (a, b) in Vec::<f64>::try_from(&weights).unwrap().iter().zip(&expected) {
                assert!((a - b).abs() < 1e-12, "{method:?} {weight_decay}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_restored_state_goes_on_to_the_same_bits() {
    let mut random = Random::new(9);
    let mut vector = || Tensor::from_slice(&normals(&mut random, 5)).to_kind(Kind::Float);
    let (mut whole, gradients) = (vector(), [(); 10].map(|()| vector()));
    let mut parts = whole.copy();
    let mut adam = Adam::new(AdamConfig::default(), &whole).unwrap();
    let mut first = Adam::new(AdamConfig::default(), &parts).unwrap();
    let mut second = Adam::new(AdamConfig::default(), &parts).unwrap();
    for (number, gradient) in gradients.iter().enumerate() {
        adam.step(&mut whole, gradient, 0.01).unwrap();
        if number == 4 {
            let (mean, square, steps) = first.state();
            second.restore(mean, square, steps).unwrap();
        }
        if number < 4 { &mut first } else { &mut second }.step(&mut parts, gradient, 0.01).unwrap();
    }
    assert_eq!(whole, parts);
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let base = AdamConfig::default();
    for (config, name) in [
        (AdamConfig { beta1: 1.0, ..base }, "beta1"),
        (AdamConfig { beta2: -0.1, ..base }, "beta2"),
        (AdamConfig { epsilon: 0.0, ..base }, "epsilon"),
        (AdamConfig { weight_decay: f64::NAN, ..base }, "weight_decay"),
    ] {
        let message = Adam::new(config, &Tensor::from(1.0)).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{name}: expected ")), "{message}");
    }
}

#[test]
fn numbers_read_from_memory_round_as_scalars_of_an_operation_do() {
    let mut random = Random::new(3);
    for kind in [Kind::Float, Kind::Double] {
        let mut vector = || Tensor::from_slice(&normals(&mut random, 1000)).to_kind(kind);
        let (mut weights, mut expected) = (vector(), Tensor::zeros([1000], (kind, Device::Cpu)));
        expected.copy_(&weights);
        let (mut first, mut second) = (weights.zeros_like(), weights.zeros_like());
        let config = AdamConfig { method: Method::AdamW, weight_decay: 0.3, ..AdamConfig::default() };
        let mut adam = Adam::new(config, &weights).unwrap();
        for step in 1..8 {
            let (gradient, rate) = (vector(), 0.3 / f64::from(step));
            adam.step(&mut weights, &gradient, rate).unwrap();
            let corrections = [1.0 - config.beta1.powf(step.into()), (1.0 - config.beta2.powf(step.into())).sqrt()];
            expected = expected.multiply_scalar(1.0 - rate * 0.3);
            let _ = first.lerp_(&gradient, 1.0 - config.beta1);
            second = (second * config.beta2).addcmul(&gradient, &(&gradient * (1.0 - config.beta2)));
            let root = second.sqrt() / corrections[1] + config.epsilon;
            expected += &first / root * (-rate / corrections[0]);
            assert_eq!(weights, expected, "{kind:?}, step {step}");
        }
    }
}
