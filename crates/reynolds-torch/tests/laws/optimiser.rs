//! Adam and AdamW against their formulas, written out in plain f64 as PyTorch defines them.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use reynolds::random::Random;
use reynolds_torch::optimiser::{Adam, AdamConfig, Method};
use reynolds_torch::tch::{Kind, Tensor};

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
            let weights = Tensor::from_slice(&expected);
            let mut adam = Adam::new(config, &weights).unwrap();
            let mut reference = Reference { config, first: vec![0.0; 7], second: vec![0.0; 7], steps: 0 };
            for step in 0..50 {
                let gradient = normals(&mut random, 7);
                let rate = 0.1 / (1.0 + f64::from(step));
                reference.step(&mut expected, &gradient, rate);
                adam.step(&weights, &Tensor::from_slice(&gradient), rate).unwrap();
            }
            for (a, b) in Vec::<f64>::try_from(&weights).unwrap().iter().zip(&expected) {
                assert!((a - b).abs() < 1e-12, "{method:?} {weight_decay}: {a} {b}");
            }
        }
    }
}

#[test]
fn the_first_steps_are_those_worked_out_by_hand() {
    // g = 4 twice from w = 1 with η = 0.1: m̂ = 4 and v̂ = 16 at both steps, so each step is 0.1·4/(4 + ε).
    let config = AdamConfig { epsilon: 1.0, ..AdamConfig::default() };
    let weights = Tensor::from_slice(&[1.0_f64]);
    let mut adam = Adam::new(config, &weights).unwrap();
    for expected in [1.0 - 0.08, 1.0 - 0.16] {
        adam.step(&weights, &Tensor::from_slice(&[4.0_f64]), 0.1).unwrap();
        assert!((f64::try_from(weights.get(0)).unwrap() - expected).abs() < 1e-14);
    }
    // AdamW with λ = 0.5 shrinks by 1 − 0.05 first; Adam with the same λ has g = 4.5.
    for (method, expected) in [(Method::AdamW, 0.95 - 0.08), (Method::Adam, 1.0 - 0.1 * 4.5 / 5.5)] {
        let weights = Tensor::from_slice(&[1.0_f64]);
        let config = AdamConfig { method, weight_decay: 0.5, ..config };
        Adam::new(config, &weights).unwrap().step(&weights, &Tensor::from_slice(&[4.0_f64]), 0.1).unwrap();
        assert!((f64::try_from(weights.get(0)).unwrap() - expected).abs() < 1e-14, "{method:?}");
    }
}

#[test]
fn a_restored_state_goes_on_to_the_same_bits() {
    let mut random = Random::new(9);
    let gradients: Vec<Tensor> =
        (0..10).map(|_| Tensor::from_slice(&normals(&mut random, 5)).to_kind(Kind::Float)).collect();
    let start = Tensor::from_slice(&normals(&mut random, 5)).to_kind(Kind::Float);
    let whole = start.copy();
    let mut adam = Adam::new(AdamConfig::default(), &whole).unwrap();
    gradients.iter().for_each(|gradient| adam.step(&whole, gradient, 0.01).unwrap());

    let parts = start.copy();
    let mut adam = Adam::new(AdamConfig::default(), &parts).unwrap();
    gradients[..4].iter().for_each(|gradient| adam.step(&parts, gradient, 0.01).unwrap());
    let (first, second, steps) = adam.state();
    let mut fresh = Adam::new(AdamConfig::default(), &parts).unwrap();
    fresh.restore(first, second, steps).unwrap();
    gradients[4..].iter().for_each(|gradient| fresh.step(&parts, gradient, 0.01).unwrap());
    assert_eq!(Vec::<f32>::try_from(&whole).unwrap(), Vec::<f32>::try_from(&parts).unwrap());
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let weights = Tensor::from_slice(&[1.0_f64]);
    let base = AdamConfig::default();
    let cases = [
        (AdamConfig { beta1: 1.0, ..base }, "beta1"),
        (AdamConfig { beta2: -0.1, ..base }, "beta2"),
        (AdamConfig { epsilon: 0.0, ..base }, "epsilon"),
        (AdamConfig { weight_decay: f64::NAN, ..base }, "weight_decay"),
    ];
    for (config, name) in cases {
        assert!(Adam::new(config, &weights).unwrap_err().to_string().starts_with(&format!("{name}: expected ")));
    }
}
