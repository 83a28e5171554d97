//! Weights that change after the optimiser's step: the decoupled penalty and a target, against steps by hand.

use reynolds::Layer;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::proximal::{Proximal, Target};
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::proximal::Scope;
use reynolds_train::config::{Mode, PenaltySettings, PenaltyStep, Selection, TargetBy, TrainConfig};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::metrics::Summary;
use reynolds_train::prelude::*;
use reynolds_train::progress::Silent;
use reynolds_train::schedule::Shape;
use reynolds_train::train::{Ending, train};

/// Two maps of C4 that are pulled towards fixed ones, and a number that no plan binds.
struct Pair {
    parameters: Parameters,
    goal: Tensor,
    plan: String,
}

const LAYERS: [&str; 2] = ["first", "second"];
const LEN: usize = 16;

impl Pair {
    fn new() -> Self {
        Self::with("1 regular", "1 regular")
    }

    /// With these fields for the second map.
    fn with(domain: &str, codomain: &str) -> Self {
        let mut random = Random::new(7);
        let mut builder = Parameters::builder();
        builder.real("free", &[1], &[1.0]).unwrap();
        let mut normal = |count: usize| (0..count).map(|_| random.normal()).collect::<Vec<f64>>();
        LAYERS.iter().for_each(|name| builder.real(name, &[4, 4], &normal(LEN)).unwrap());
        let goal = Tensor::from_slice(&normal(1 + 2 * LEN));
        let rule = |name: &str, domain: &str, codomain: &str| {
            format!("[[layer]]\nname = \"{name}\"\ndomain = \"{domain}\"\ncodomain = \"{codomain}\"\n")
        };
        let plan =
            ["group = \"C4\"\n".into(), rule("first", "1 regular", "1 regular"), rule("second", domain, codomain)];
        Self { parameters: builder.build(Kind::Double, Device::Cpu).unwrap(), goal, plan: plan.concat() }
    }

    fn numbers(&self) -> Vec<f64> {
        Vec::try_from(self.parameters.flat()).unwrap()
    }
}

impl Task for Pair {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    fn steps_per_epoch(&self) -> usize {
        2
    }

    fn loss(&self, _: Moment) -> Result<Tensor> {
        let flat = ["free", "first", "second"].map(|name| self.parameters.get(name).unwrap().view([-1]));
        Ok((Tensor::cat(&flat, 0) - &self.goal).square().sum(Kind::Double))
    }

    fn evaluate(&self, _: Split) -> Result<Metrics> {
        Ok(Metrics::from([("loss".into(), self.loss(Moment { epoch: 0, step: 0 })?.double_value(&[]))]))
    }

    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        Ok((!self.plan.is_empty()).then(|| SymmetryPlan::from_toml(&self.plan)).transpose()?)
    }
}

/// Six steps; the learning rate falls from epoch to epoch.
fn loop_settings() -> TrainConfig {
    let mut config = TrainConfig { epochs: 3, learning_rate: 0.1, ..TrainConfig::default() };
    (config.schedule.shape, config.schedule.gamma) = (Shape::Exponential, 0.5);
    config
}

fn decoupled(form: Form, lambda_perp: f64) -> PenaltySettings {
    PenaltySettings { step: PenaltyStep::Decoupled, form, lambda_perp, ..PenaltySettings::default() }
}

fn trained(task: &mut Pair, config: &TrainConfig, penalty: &PenaltySettings) -> Result<(Summary, Memory)> {
    let mut memory = Memory::default();
    match train(task, config, penalty, &mut memory, &mut Silent, &Interrupt::new())? {
        Ending::Finished(summary) => Ok((summary, memory)),
        stopped => panic!("{stopped:?}"),
    }
}

/// The parameters after steps of Adam by hand, each followed by `after` of (number of the step, learning rate, layer, its weights).
fn by_hand(config: &TrainConfig, mut after: impl FnMut(usize, f64, usize, &mut [f64])) -> Vec<f64> {
    let mut task = Pair::new();
    let mut adam = Adam::new(AdamConfig::default(), task.parameters.flat()).unwrap();
    for step in 0..6 {
        let rate = config.schedule.rate(config.learning_rate, step / 2, config.epochs, step);
        let gradient = task.parameters.gradient(&task.loss(Moment { epoch: 0, step }).unwrap()).unwrap();
        adam.step(task.parameters.flat_mut(), &gradient, rate).unwrap();
        let mut numbers = task.numbers();
        for (layer, weights) in numbers[1..].chunks_mut(LEN).enumerate() {
            after(step, rate, layer, weights);
        }
        task.parameters.assign(&Tensor::from_slice(&numbers)).unwrap();
    }
    task.numbers()
}

fn layer() -> Layer {
    Layer::linear("C4", "1 regular", "1 regular").unwrap()
}

fn near(found: &[f64], expected: &[f64]) {
    let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(found.len() == expected.len() && off < 1e-12, "{off:e}");
}

#[test]
fn the_proximal_step_comes_after_adams_with_the_strength_and_the_learning_rate_of_that_step() {
    let config = loop_settings();
    for form in [Form::Squared, Form::Plain] {
        for (whole, scale) in [(false, true), (true, true), (false, false)] {
            let mut penalty = PenaltySettings { lambda_g: 0.05, whole, scale, ..decoupled(form, 0.4) };
            penalty.anneal.shape = reynolds_torch::anneal::Shape::Linear;
            (penalty.anneal.start, penalty.anneal.epochs) = (0.5, 2.0);
            penalty.per_layer = vec!["second = 3".into()];
            let mut task = Pair::new();
            let (_, memory) = trained(&mut task, &config, &penalty).unwrap();
            let expected = by_hand(&config, |step, rate, number, weights| {
                let (time, factor) = (step as f64 / 2.0, [1.0, 3.0][number]);
                let mut strengths = penalty.penalty();
                strengths.lambda_g *= factor;
                strengths.lambda_perp = factor * penalty.lambda_perp_at(time);
                let proximal = Proximal::new(strengths).unwrap();
                let proximal = if scale { proximal } else { proximal.unscaled() };
                proximal.apply(layer().projector(), weights, rate).unwrap();
            });
            near(&task.numbers(), &expected);
            // The recorded penalty is that of the last weights, strengths of each layer included.
            let energies = expected[1..].chunks(LEN).map(|weights| layer().energies(weights).unwrap());
            let penalties = energies.zip([1.0, 3.0]).map(|(energies, factor)| {
                let strengths = Proximal::new(penalty.penalty()).unwrap();
                let strengths = if scale { strengths } else { strengths.unscaled() };
                let (g, perp) = strengths.strengths(LEN, 4);
                let first = energies.equivariant + if whole { energies.perp } else { 0.0 };
                let norm = |energy: f64| if form == Form::Plain { energy.sqrt() } else { energy };
                factor * (g * norm(first) + perp * norm(energies.perp))
            });
            let (found, expected) = (memory.records[2].values["penalty"], penalties.sum::<f64>());
            assert!((found - expected).abs() < 1e-12 * expected, "{form:?}: {found} {expected}");
        }
    }
}

#[test]
fn the_plain_form_makes_a_layer_exactly_equivariant_and_the_summary_says_since_when() {
    // λ_⊥ grows; the second layer is regularised half as much.
    let config = loop_settings();
    let mut penalty = decoupled(Form::Plain, 20.0);
    penalty.anneal.shape = reynolds_torch::anneal::Shape::Linear;
    penalty.anneal.epochs = 2.0;
    penalty.per_layer = vec!["second=0.4".into()];
    let mut since = [0; 2];
    let expected = by_hand(&config, |step, rate, number, weights| {
        let lambda = [1.0, 0.4][number] * penalty.lambda_perp_at(step as f64 / 2.0);
        let proximal = Proximal::new(PenaltyConfig { form: Form::Plain, ..PenaltyConfig::perp(lambda) }).unwrap();
        let exact = proximal.apply(layer().projector(), weights, rate).unwrap().perp == 0.0;
        since[number] = if !exact {
            0
        } else if since[number] == 0 {
            step + 1
        } else {
            since[number]
        };
    });
    let mut task = Pair::new();
    let (summary, memory) = trained(&mut task, &config, &penalty).unwrap();
    near(&task.numbers(), &expected);
    assert!(since[0] > 0 && since[1] > since[0], "{since:?}");
    assert_eq!(summary.exact_since, LAYERS.map(String::from).into_iter().zip(since).collect());
    assert_eq!(memory.records[2].values["residual"], 0.0);
    // Of the best weights only what was exact when they were found.
    let mut best = TrainConfig { weights: Selection::Best, ..config.clone() };
    best.early_stopping.mode = Mode::Max; // the loss falls: the first epoch has the highest
    let (summary, _) = trained(&mut Pair::new(), &best, &penalty).unwrap();
    assert_eq!((summary.best.unwrap().epoch, summary.exact_since.len()), (1, 0), "{since:?}");
    // A layer that became 0 is not listed.
    let dead = PenaltySettings { lambda_g: 100.0, whole: true, ..decoupled(Form::Plain, 1.0) };
    let mut task = Pair::new();
    assert!(trained(&mut task, &config, &dead).unwrap().0.exact_since.is_empty());
    assert!(task.numbers()[1..].iter().all(|&weight| weight == 0.0));
    // Where the strength times √dimension overflows, or times a norm, steps are what they should be; an infinite penalty is recorded.
    for (learning_rate, penalty) in [(0.1, 0.0), (1e-320, f64::INFINITY)] {
        let config = TrainConfig { epochs: 1, learning_rate, ..config.clone() };
        let (_, memory) = trained(&mut Pair::new(), &config, &decoupled(Form::Plain, 1e308)).unwrap();
        let values = &memory.records[0].values;
        assert_eq!((values["residual"] == 0.0, values["penalty"]), (penalty == 0.0, penalty));
    }
    // Other forms claim nothing.
    assert!(trained(&mut Pair::new(), &config, &decoupled(Form::Squared, 1e9)).unwrap().0.exact_since.is_empty());
}

#[test]
fn a_target_bounds_the_residual_of_every_layer_and_records_the_strength_it_amounts_to() {
    let config = loop_settings();
    let penalty = PenaltySettings { target: Some(0.1), ..PenaltySettings::default() };
    let target = Target::new(0.1).unwrap();
    let mut strengths = [0.0; 2];
    let expected = by_hand(&config, |_, rate, number, weights| {
        let factors = target.apply(layer().projector(), weights).unwrap();
        strengths[number] = Target::strength(factors, rate).unwrap();
    });
    let mut task = Pair::new();
    let (_, memory) = trained(&mut task, &config, &penalty).unwrap();
    near(&task.numbers(), &expected);
    let last = &memory.records[2].values;
    for (name, expected) in LAYERS.iter().zip(strengths) {
        let found = last[&format!("{name}/lambda_perp")];
        assert!(expected > 0.0 && (found - expected).abs() < 1e-9 * expected, "{name}: {found} {expected}");
    }
    assert!((last["residual"] - 0.1).abs() < 1e-12 && !last.contains_key("penalty"));
    // Without a learning rate there is no such strength.
    let mut config = loop_settings();
    config.schedule.gamma = 1e-300;
    let (_, memory) = trained(&mut Pair::new(), &config, &penalty).unwrap();
    let recorded = memory.records.iter().map(|record| record.values.contains_key("first/lambda_perp"));
    assert_eq!(recorded.collect::<Vec<_>>(), [true, true, false]);
    // τ = 0 is strict; a target of the network is one number; λ_G may come beside a target.
    let strict = PenaltySettings { target: Some(0.0), ..PenaltySettings::default() };
    assert_eq!(trained(&mut Pair::new(), &config, &strict).unwrap().1.records[0].values["residual"], 0.0);
    let network = PenaltySettings { target_scope: Scope::Network, lambda_g: 0.1, ..penalty };
    let (_, memory) = trained(&mut Pair::new(), &loop_settings(), &network).unwrap();
    let values = &memory.records[2].values;
    assert!((values["residual"] - 0.1).abs() < 1e-12 && values["lambda_perp"] > 0.0, "{values:?}");
    assert!(values["penalty"] > 0.0 && !values.contains_key("first/lambda_perp"), "{values:?}");
}

#[test]
fn the_dual_update_moves_the_strength_of_each_layer_by_how_far_it_is_from_the_target() {
    let (config, rate_of_lambda) = (loop_settings(), 5.0);
    let dual = PenaltySettings {
        target: Some(0.5),
        target_by: TargetBy::Dual,
        target_rate: rate_of_lambda,
        ..PenaltySettings::default()
    };
    let mut lambda = [0.0_f64; 2];
    let expected = by_hand(&config, |_, rate, number, weights| {
        let residual = (1.0 - layer().energies(weights).unwrap().ratio()).sqrt();
        lambda[number] = (lambda[number] + rate_of_lambda * (residual - dual.target.unwrap())).max(0.0);
        Proximal::new(PenaltyConfig::perp(lambda[number])).unwrap().apply(layer().projector(), weights, rate).unwrap();
    });
    let mut task = Pair::new();
    let (_, memory) = trained(&mut task, &config, &dual).unwrap();
    near(&task.numbers(), &expected);
    let recorded = LAYERS.map(|name| memory.records[2].values[&format!("{name}/lambda_perp")]);
    near(&recorded, &lambda);
    assert!(lambda.iter().all(|lambda| *lambda > 0.0), "{lambda:?}");
}

#[test]
fn parameters_without_a_proximal_step_are_refused_by_name() {
    let refused = |mut task: Pair, penalty: PenaltySettings| {
        trained(&mut task, &loop_settings(), &penalty).expect_err("a refusal").to_string()
    };
    let target = PenaltySettings { target: Some(0.1), ..PenaltySettings::default() };
    // No map of C4 from four scalars to this irrep: P is 0.
    let dead = || Pair::with("4 trivial", "2 irrep(1)");
    let message = refused(dead(), target.clone());
    assert!(message.contains("second") && message.ends_with("found rank 0"), "{message}");
    let network = PenaltySettings { target_scope: Scope::Network, ..target.clone() };
    assert!(trained(&mut dead(), &loop_settings(), &network).is_ok());
    let unbound = || Pair { plan: String::new(), ..Pair::new() };
    let nothing = "expected []: this model has no regularised parameters, found [\"third=2\"]";
    for lambda_perp in [0.0, 1.0] {
        let misnamed = PenaltySettings { per_layer: vec!["third=2".into()], ..decoupled(Form::Squared, lambda_perp) };
        let expected = "config: penalty.per_layer: expected a regularised parameter (first, second), found \"third\"";
        assert_eq!(refused(Pair::new(), misnamed.clone()), expected);
        if lambda_perp == 0.0 {
            assert_eq!(refused(unbound(), misnamed), format!("config: penalty.per_layer: {nothing}"));
        }
    }
    // Without a strength a step that could be done is none.
    let (_, memory) = trained(&mut Pair::new(), &loop_settings(), &decoupled(Form::Plain, 0.0)).unwrap();
    assert!(!memory.records[2].values.contains_key("residual"));
    assert!(trained(&mut unbound(), &loop_settings(), &decoupled(Form::Plain, 0.0)).is_ok());
    let none = "this model has no regularised parameters";
    assert_eq!(refused(unbound(), target), format!("config: penalty.target: expected \"none\": {none}, found 0.1"));
    let message = refused(unbound(), decoupled(Form::Squared, 1.0));
    assert_eq!(message, format!("config: penalty.lambda_perp: expected 0: {none}, found 1"));
}
