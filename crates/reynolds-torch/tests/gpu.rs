//! The squared penalty, its gradient and the decoupled steps on a GPU, by kernels or by operations of libtorch, beside the core in double
//! precision; and a step that is captured in a CUDA graph beside one that is not.
//!
//! ```text
//! scripts/gpu.sh run tests
//! ```

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod support;

use std::rc::Rc;

use reynolds::penalty::Form;
use reynolds::plan::SymmetryPlan;
use reynolds::proximal::Target;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::graph::Recorder;
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::proximal::{ProximalStep, Scope, TargetStep};
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Penalty, device};
use support::*;

/// Layers whose P averages short signed orbits or keeps and drops numbers, a kernel for each size of them.
fn has_orbits(layer: &Layer) -> bool {
    ["C4", "D4 ", "Oh trivial", "S5", "SO3 irreps", "SO2 mask"].iter().any(|name| layer.name.starts_with(name))
}

/// Layers of tiles, a kernel for all.
fn is_banded(layer: &Layer) -> bool {
    layer.name.contains("band")
}

fn check(layers: &[Layer]) {
    let gpu = device::parse("cuda:0").unwrap();
    for (seed, kind, gaps) in
        [(0, Kind::Float, false), (1, Kind::Float, true), (2, Kind::Double, false), (3, Kind::Double, true)]
    {
        let parameters = parameters_on(gpu, layers, seed, kind, gaps);
        let binding = bind_by(&parameters, layers, TileProducts::on(gpu));
        if layers.iter().all(has_orbits) || layers.iter().all(is_banded) {
            assert!(binding.has_kernels(), "{}", layers[0].name);
        }
        for strengths in [[0.3, 0.7], [0.7, 0.3], [0.0, 0.7], [0.7, 0.0], [0.4, 0.4]] {
            assert_agrees(&Penalty::new(binding.clone(), squared(strengths)).unwrap(), layers, &parameters);
        }
        for strengths in [[0.3, 0.7], [0.0, 9.0]] {
            assert_all_steps(layers, &parameters, &binding, strengths);
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn every_form_by_itself_has_the_gradient_value_and_steps_of_the_core() {
    for layer in every_form() {
        check(&[layer]);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn orbits_of_several_layers_take_kernels_and_so_do_band_limited_ones_and_what_lies_among_them() {
    let (orbits, others): (Vec<Layer>, Vec<Layer>) = every_form().into_iter().partition(has_orbits);
    let banded: Vec<Layer> = others.iter().filter(|layer| is_banded(layer)).cloned().collect();
    check(&orbits);
    check(&banded);
    check(&[orbits, others].concat());
}

#[test]
#[ignore = "needs a GPU"]
fn a_second_launch_gives_the_same_to_the_bit_and_equivariant_weights_have_no_slope() {
    let gpu = device::parse("cuda:0").unwrap();
    for chosen in [has_orbits, is_banded] {
        let layers: Vec<Layer> = every_form().into_iter().filter(chosen).collect();
        let mut parameters = parameters_on(gpu, &layers, 9, Kind::Float, true);
        let binding = bind_by(&parameters, &layers, TileProducts::on(gpu));
        let penalty = Penalty::new(binding.clone(), squared([0.0, 0.7])).unwrap();
        let once = || {
            let mut sum = parameters.flat().cos();
            (numbers(&penalty.add_gradient_with_value(parameters.flat(), &mut sum).unwrap()), numbers(&sum))
        };
        assert_eq!(once(), once());
        binding.project_in_place(&mut parameters).unwrap();
        let mut sum = parameters.flat().zeros_like();
        let value = penalty.add_gradient_with_value(parameters.flat(), &mut sum).unwrap();
        // Equal numbers have their mean to the last bit; a product rounds.
        let most = if layers.iter().all(has_orbits) { 0.0 } else { 1e-5 };
        assert!(value.double_value(&[]) <= most && sum.abs().max().double_value(&[]) <= most);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn launches_do_not_grow_with_layers_and_steps_are_the_same_to_the_bit() {
    let gpu = device::parse("cuda:0").unwrap();
    let kinds: Vec<Layer> = every_form().into_iter().filter(has_orbits).collect();
    let several = |times: usize| -> Vec<Layer> {
        (0..times).flat_map(|nth| kinds.iter().map(move |layer| layer.again(format!("{nth} {}", layer.name)))).collect()
    };
    let mut found = vec![];
    for layers in [several(1), several(2), several(40)] {
        let parameters = parameters_on(gpu, &layers, 7, Kind::Float, true);
        let binding = bind_by(&parameters, &layers, TileProducts::on(gpu));
        let launches = |apply: &dyn Fn(&mut Tensor)| {
            let [once, again] = [(); 2].map(|()| {
                let (mut flat, before) = (parameters.flat().copy(), device::launches());
                apply(&mut flat);
                (numbers(&flat), device::launches() - before)
            });
            assert!(once == again);
            once.1
        };
        let step = |form, each: f64| {
            launches(&|flat| {
                let step = ProximalStep::new(binding.clone(), proximal(form, false, [0.3, 0.7])).unwrap();
                step.per_layer(&vec![[each; 2]; layers.len()]).unwrap().apply(flat, STEP).unwrap();
            })
        };
        let target = Target::new(0.3).unwrap();
        let rules = [Scope::Layer, Scope::Network].map(|scope| {
            let target_step =
                |flat: &mut Tensor| TargetStep::new(binding.clone(), target, scope).unwrap().apply(flat, STEP).unwrap();
            let dual = |flat: &mut Tensor| {
                TargetStep::new(binding.clone(), target, scope)
                    .unwrap()
                    .by_dual(1.0)
                    .unwrap()
                    .apply(flat, STEP)
                    .unwrap()
            };
            [launches(&target_step), launches(&dual)]
        });
        let penalty = Penalty::new(binding.clone(), squared([0.3, 0.7])).unwrap();
        let gradient = launches(&|flat| penalty.add_gradient(parameters.flat(), flat).unwrap());
        let squared = [step(Form::Squared, 1.0), step(Form::Squared, 0.5)];
        assert_eq!(squared, [gradient; 2], "one pass");
        let two_passes = [step(Form::Plain, 1.0), rules[0][0], rules[0][1], rules[1][0], rules[1][1]];
        assert_eq!(two_passes, [2 * gradient + 1; 5], "two passes and the factors");
        found.push(gradient);
        // Factors 1 leave every bit alone.
        let still = Target::new(0.999_999_9).unwrap();
        let mut flat = parameters.flat().copy();
        TargetStep::new(binding.clone(), still, Scope::Network).unwrap().apply(&mut flat, STEP).unwrap();
        assert_eq!(flat, *parameters.flat());
    }
    assert!(found[0] > 0 && found.iter().all(|launches| *launches == found[0]), "{found:?}");
}

/// A small network with a regularised layer, and a training step of it that can be captured: loss, penalty, Adam, decoupled step.
struct Training {
    parameters: Parameters,
    penalty: Penalty,
    adam: Adam,
    after: [ProximalStep; 2],
    target: TargetStep,
    input: Tensor,
    sum: Tensor,
}

impl Training {
    fn new(gpu: Device) -> Self {
        let mut builder = Parameters::builder();
        builder.real("kernel", &[8, 4, 3, 3], &(0..288).map(|i| f64::from(i).sin()).collect::<Vec<_>>()).unwrap();
        builder.real("head", &[8, 2], &(0..16).map(|i| f64::from(i).cos()).collect::<Vec<_>>()).unwrap();
        let parameters = builder.build(Kind::Float, gpu).unwrap();
        let plan = "group = \"C4\"\n[[layer]]\nname = \"kernel\"\ndomain = \"regular\"\ncodomain = \"2 regular\"";
        let binding = Rc::new(Binding::of_plan(&parameters, &SymmetryPlan::from_toml(plan).unwrap()).unwrap());
        assert!(binding.has_kernels());
        let after = [Form::Squared, Form::Plain]
            .map(|form| ProximalStep::new(binding.clone(), proximal(form, false, [0.3, 0.7])).unwrap());
        Self {
            penalty: Penalty::new(binding.clone(), squared([0.1, 0.2])).unwrap(),
            adam: Adam::new(AdamConfig { weight_decay: 0.1, ..AdamConfig::default() }, parameters.flat()).unwrap(),
            target: TargetStep::new(binding.clone(), Target::new(0.9).unwrap(), Scope::Layer).unwrap(),
            after,
            input: Tensor::zeros([4, 4, 8, 8], (Kind::Float, gpu)),
            sum: Tensor::zeros([], (Kind::Float, gpu)),
            parameters,
        }
    }

    /// The strength, the rate and the minibatch of a step.
    fn prepare(&mut self, [strength, rate]: [f64; 2], nth: i64) {
        self.penalty.set_lambda_perp(strength).unwrap();
        for step in &mut self.after {
            step.set_lambda_perp(strength).unwrap();
            step.prepare(rate).unwrap();
        }
        self.target.prepare(rate).unwrap();
        self.adam.prepare(rate).unwrap();
        let numbers = Tensor::arange(4 * 4 * 64, (Kind::Float, self.input.device())) + nth;
        self.input.copy_(&numbers.cos().view([4, 4, 8, 8]));
    }

    fn step(&mut self) -> reynolds_torch::Result<()> {
        let image = self.input.f_conv2d(&self.parameters.get("kernel")?, None::<&Tensor>, 1, 1, 1, 1)?.f_relu()?;
        let image = image.f_mean_dim([2_i64, 3].as_slice(), false, None)?;
        let loss = image.f_matmul(&self.parameters.get("head")?)?.f_square()?.f_sum(Kind::Float)?;
        let mut gradient = self.parameters.gradient(&loss)?;
        let _ = self.sum.f_add_(&loss.f_detach()?)?;
        self.penalty.add_gradient(self.parameters.flat(), &mut gradient)?;
        let flat = self.parameters.flat_mut();
        self.adam.step_prepared(flat, &gradient)?;
        for step in &mut self.after {
            step.apply_prepared(flat)?;
        }
        self.target.apply_prepared(flat)
    }

    /// Weights, the sum of the losses, and what the decoupled steps keep.
    fn state(&self) -> Vec<f64> {
        let kept = [self.target.strengths(), self.after[1].exact_since()];
        [self.parameters.flat(), &self.sum, kept[0], kept[1]].iter().flat_map(|tensor| numbers(tensor)).collect()
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_replayed_step_takes_other_strengths_and_rates_and_what_cannot_be_captured_says_so() {
    let gpu = device::parse("cuda:0").unwrap();
    // λ_⊥ and η.
    let numbers = [[0.2, 0.1], [0.2, 0.1], [0.5, 0.05], [10.0, 0.2], [0.1, 0.01], [2.0, 0.1]];
    let [eager, replayed] = [false, true].map(|by_graph| {
        let (mut training, mut recorder) = (Training::new(gpu), Recorder::new(gpu).unwrap());
        let mut graph = None;
        for (nth, numbers) in (0..).zip(numbers) {
            training.prepare(numbers, nth);
            if !by_graph || nth < 2 {
                recorder.aside(|| training.step()).unwrap();
                continue;
            }
            if nth == 2 {
                // A number that is read on the way: nothing is computed, and the next capture is none the worse.
                let before = training.state();
                let reading = recorder.capture(|| {
                    training.step()?;
                    let _ = f64::try_from(&training.sum)?;
                    Ok::<_, reynolds_torch::Error>(())
                });
                assert!(reading.unwrap_err().to_string().contains("capture"));
                assert_eq!(before, training.state());
            }
            graph.get_or_insert_with(|| recorder.capture(|| training.step()).unwrap()).replay().unwrap();
        }
        training.state()
    });
    for (eager, replayed) in eager.iter().zip(&replayed) {
        assert!((eager - replayed).abs() <= 1e-5 * eager.abs().max(1.0), "{eager} {replayed}");
    }
}
