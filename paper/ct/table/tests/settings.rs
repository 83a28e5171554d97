//! Settings: runs of rows, the settings that a reader is shown, and refused ones.

use super::super::row::{Mode, Row};
use super::super::settings::{self, RENAMED, milestones};
use super::*;
use crate::ct::networks::Architecture;
use crate::ct::{CtExperiment, CtSettings};
use crate::targets::{Named, find};
use reynolds::norm::Norm;
use reynolds::penalty::Form;
use reynolds_torch::parametrisation::{Parametrisation, ParametrisationConfig};
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;
use reynolds_train::schedule::Shape;

fn run(settings: &TargetSettings, network: Architecture, mode: Mode) -> RunConfig<CtSettings> {
    settings.model(Row { network, mode, norm: Norm::Frobenius }, 1).run
}

#[test]
fn modes_differ_in_what_they_are_and_in_nothing_else() {
    let all = table("");
    let of = |mode| run(&all, Architecture::Acdnet, mode);
    let with = |change: fn(&mut RunConfig<CtSettings>)| {
        let mut run = of(Mode::Plain);
        change(&mut run);
        run
    };
    assert_eq!(of(Mode::Penalty), with(|run| run.penalty.lambda_perp = 1.0));
    assert_eq!(of(Mode::Sample), with(|run| run.settings.sample.weight = 1e-6));
    let priors = |run: &mut RunConfig<CtSettings>| {
        let kind = Parametrisation::Residual;
        run.train.parametrisation = ParametrisationConfig { kind, lambda_equivariant: 0.0, lambda_residual: 1e-4 };
    };
    assert_eq!(of(Mode::Rpp), with(priors));
    assert_eq!(with(|_| ()).penalty, CtExperiment.defaults().penalty);
    let forms = [&NORMS, &TABLE, &FIGURE].map(|target| super::settings(target, "").run.penalty.form);
    assert_eq!(forms, [Form::Plain, Form::Squared, Form::Squared]);
}

#[test]
fn the_full_budget_is_the_published_protocol() {
    let full = settings::table(Budget::Full);
    let [plain, sample] = [Mode::Plain, Mode::Sample].map(|mode| run(&full, Architecture::Oscnet, mode));
    assert_eq!((plain.train.epochs, plain.settings.data.batch, sample.settings.data.batch), (80, 12, 4));
    assert_eq!(plain.train.schedule.milestones, [50]);
    assert_eq!((plain.settings.data.patch, plain.settings.data.steps, sample.settings.data.steps), (256, 500, 1500));
    assert_eq!((plain.settings.model.stages, sample.settings.sample.weight), (10, 1e-8));
}

#[test]
fn a_network_may_have_epochs_and_a_weight_of_its_own_and_sampling_sees_as_many_images_an_epoch() {
    let own = table("train.epochs=3 epochs.oscnet=7 sample.weight=1e-3");
    let runs = Architecture::ALL.map(|network| run(&own, network, Mode::Sample));
    assert_eq!(runs.map(|run| (run.train.epochs, run.settings.sample.weight)), [(3, 1e-6), (3, 1e-3), (7, 1e-3)]);
    let steps = |steps, batch, own| {
        let settings = table(&format!("data.steps={steps} data.batch={batch} sample_batch={own}"));
        run(&settings, Architecture::Dicdnet, Mode::Sample).settings.data.steps
    };
    // 0 is one pass over the pairs for any batch.
    assert_eq!([steps(25, 4, 4), steps(5, 4, 3), steps(0, 4, 2)], [25, 7, 0]);
}

#[test]
fn norms_are_apart_by_commas_or_spaces_and_decays_are_shares_of_the_epochs() {
    let norms = |list| given(NORMS.settings(Budget::Quick), &[("norms", list)]).norms.unwrap();
    for list in ["(1,2),spectral", "spectral (1,2)", "[\"(1,2)\", \"spectral\"]"] {
        assert_eq!(norms(list).iter().map(Named::name).collect::<Vec<_>>(), ["spectral", "(1,2)"]);
    }
    let all: Vec<String> = norms("all").iter().map(Named::name).collect();
    assert_eq!(all.join(" "), "spectral frobenius max (1,1) (1,2) (1,3) (2,1) (2,2) (2,3) (3,1) (3,2) (3,3)");
    assert_eq!(milestones(&[0.6, 0.8, 0.9], 15), [9, 12, 14]);
    assert_eq!(milestones(&[0.6, 0.8, 0.9], 4), [2, 3]);
    assert!(milestones(&[0.75], 1).is_empty());
    let own = table("decay_at=[] train.schedule.shape=multi_step train.schedule.milestones=[1]");
    let schedule = run(&own, Architecture::Acdnet, Mode::Plain).train.schedule;
    assert_eq!((schedule.shape, schedule.milestones), (Shape::MultiStep, vec![1]));
}

#[test]
fn a_reader_is_shown_what_differs_and_of_the_networks_those_that_are_trained() {
    let shown = table("networks=oscnet").shown();
    let value = |key: &str| shown.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str());
    let of_networks = ["epochs.oscnet", "epochs.acdnet", "sample_weight.dicdnet"];
    assert_eq!(of_networks.map(value), [Some("0"), None, None]);
    assert_eq!(["data.side", "train.epochs", "seeds"].map(value), [Some("64"), Some("4"), Some("1")]);
    assert_eq!((value("model.stages"), value("experiment")), (None, None), "as in every run");
}

#[test]
fn what_cannot_be_run_is_refused_by_its_key_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    for (target, key, value, expected) in [
        ("table-ct", "networks", "unet", "networks: expected some of acdnet, dicdnet, oscnet, or all"),
        ("table-ct", "modes", "", "modes: expected some of plain, sample, projected, rpp, penalty"),
        ("table-ct", "seeds", "0", "seeds: expected at least 1"),
        ("table-ct", "epochs.acdnet", "-1", "epochs.acdnet: expected a whole number from 0"),
        ("table-ct", "data.source", "dicom", "data.source: expected `phantom` or `slices`"),
        ("table-ct", "sample_weight.oscnet", "-1", "sample_weight.oscnet: expected "),
        ("table-ct", "train.parametrisation.lambda_residual", "-1", "train.parametrisation.lambda_residual: "),
        ("table-ct", "decay_at", "[1.5]", "decay_at: expected numbers above 0, at most 1, found 1.5"),
        ("table-ct", "train.precision", "f16", "train.precision: expected `f32` or `bf16`"),
        ("table-ct", "measured_batches", "[0]", "measured_batches: expected increasing numbers, at least 1"),
        ("table-ct", "measured_batches", "[]", "measured_batches: expected increasing numbers, at least 1"),
        ("table-ct", "measured_precision", "f16", "measured_precision: expected `f32` or `bf16`"),
        ("table-norms", "norms", "(4,1)", "norms: expected some of spectral, frobenius, max"),
        ("table-norms", "norms", "", "norms: expected "),
        ("fig-ct", "efficiency", "true", "unknown key \"efficiency\""),
        // What rows decide.
        (
            "table-ct",
            "model.architecture",
            "oscnet",
            "model.architecture: expected its default (set by the target's key networks)",
        ),
        ("table-ct", "projected", "true", "projected: expected its default"),
        ("table-norms", "penalty.norm", "max", "penalty.norm: expected its default (set by the target's key norms)"),
    ] {
        let message = refused(root.path(), target, key, value);
        assert!(message.starts_with(&format!("--set: {expected}")), "{message}");
    }
    for (key, value, expected) in [
        ("model.stages", "1", "config: model.stages: expected "),
        ("train.schedule.milestones", "[3]", "config: decay_at: expected [], for `train.schedule`"),
    ] {
        let message = refused(root.path(), "table-ct", key, value);
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn an_old_key_is_answered_with_its_name_of_today() {
    let root = tempfile::tempdir().unwrap();
    for (old, new) in RENAMED {
        for target in ["table-ct", "table-norms", "fig-ct"] {
            let message = refused(root.path(), target, old, "1");
            assert_eq!(message, format!("--set: unknown key \"{old}\": now called \"{new}\""));
            assert!(find(target).unwrap().settings_text(Budget::Quick).contains(new.rsplit('.').next().unwrap()));
        }
    }
}
