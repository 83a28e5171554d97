//! The targets as a whole.

use std::collections::BTreeSet;

use reynolds_torch::tch::Device;

use super::row::Mode;
use super::run::CtRun;
use super::synthetic::{cost, diverged, figure, frame, models, norms, run, settings, table, with_pictures};
use super::{FigCt, TableCt, TableNorms};
use crate::targets::engine::{Outcome, Place, Request, Session};
use crate::targets::findings::Reproduction;
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, find};
use reynolds_train::config::Assignment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;

/// The points of a target with these settings.
fn points<T: Target>(target: &T, given: &[(&str, &str)]) -> Vec<Box<dyn Point>> {
    target.points(&settings(target, given)).unwrap()
}

fn ids(points: &[Box<dyn Point>]) -> BTreeSet<String> {
    points.iter().map(|point| point.id()).collect()
}

#[test]
fn fifteen_rows_are_twelve_runs_and_twelve_measurements_that_come_alone_and_ids_are_their_own() {
    let wanted = points(&TableCt, &[("seeds", "2")]);
    let alone = wanted.iter().filter(|point| point.alone()).count();
    assert_eq!((wanted.len(), alone), (12 * 2 + 12, 12));
    assert_eq!(ids(&wanted).len(), wanted.len());
    assert_eq!(ids(&points(&TableNorms, &[])).len(), 13 + 13);
    let figure = points(&FigCt, &[("seeds", "3"), ("modes", "penalty")]);
    assert_eq!(figure.len(), 3 * 2, "the plain models keep what every network sees");
    let later = points(&FigCt, &[("seed", "7"), ("networks", "oscnet"), ("modes", "plain")]);
    assert_eq!(later[0].id(), "oscnet-plain-seed7");
}

#[test]
fn the_figure_has_the_models_of_the_table() {
    let of = |points: Vec<Box<dyn Point>>| -> BTreeSet<(String, String)> {
        points.iter().map(|point| (point.id(), point.settings().to_string())).collect()
    };
    let figure = of(FigCt.points(&Target::settings(&FigCt, Budget::Standard)).unwrap());
    assert!(figure.is_subset(&of(TableCt.points(&Target::settings(&TableCt, Budget::Standard)).unwrap())));
}

#[test]
fn every_network_of_every_budget_can_be_built() {
    for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
        assert!(!TableCt.points(&Target::settings(&TableCt, budget)).unwrap().is_empty(), "{budget:?}");
        assert!(!TableNorms.points(&Target::settings(&TableNorms, budget)).unwrap().is_empty(), "{budget:?}");
        assert!(!FigCt.points(&Target::settings(&FigCt, budget)).unwrap().is_empty(), "{budget:?}");
    }
}

#[test]
fn findings_are_made_of_whatever_was_run() {
    let given = [("networks", "dicdnet,oscnet"), ("seeds", "2")];
    let settings = table(&given);
    let all = models(
        &settings,
        |model| with_pictures(run(if model.row.mode == Mode::Penalty { 41.0 } else { 40.0 }, 0.1)),
        |measured| Some(cost(if measured.row.mode == Mode::Sample { 5.0 } else { 10.0 }, 4e6)),
    );
    let findings = TableCt.findings(&settings, &all).unwrap();
    let quality = findings.tables[0].to_string();
    assert_eq!(findings.tables.len(), 2);
    assert!(
        quality.contains("simulated CT-MAR") && !quality.contains("AAPM") && !quality.contains("ACDNet"),
        "{quality}"
    );
    let names: Vec<&str> = findings.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["fig-ct", "fig-ct-test", "convergence"]);
    assert_eq!(findings.more["cells"].as_array().unwrap().len(), 10);
    assert!(findings.notes.iter().all(|note| !note.contains("AAPM")));
    let curves = &findings.files[0].1;
    assert_eq!(curves.lines().count(), 1 + 2 * 2 * 4 * 2, "{curves}");
    let nothing = TableCt.findings(&settings, &Frame::default()).unwrap();
    assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 3);
}

#[test]
fn a_batch_that_could_not_be_measured_is_told_with_its_reason() {
    let settings = table(&[("networks", "dicdnet")]);
    let notes = |reason: Option<&str>| {
        let measured = |measured: &super::cost::RowCost| {
            let mut cost = cost(10.0, 4e6);
            if let Some(reason) = reason.filter(|_| measured.row.mode == Mode::Sample) {
                cost.metrics.retain(|name, _| !name.starts_with("batch12/"));
                cost.failures.insert("batch12".into(), reason.into());
            }
            Some(cost)
        };
        TableCt.findings(&settings, &models(&settings, |_| run(40.0, 0.1), measured)).unwrap().notes
    };
    let told = |notes: Vec<String>| notes.into_iter().find(|note| note.starts_with("Not measured"));
    assert_eq!(told(notes(None)), None);
    let note = told(notes(Some("no room"))).unwrap();
    assert_eq!(note, "Not measured: DICDNet + sample-based at batch12: no room.");
}

#[test]
fn a_row_that_diverged_stands_beside_one_that_did_not() {
    let given = [("networks", "dicdnet"), ("seeds", "2")];
    let settings = table(&given);
    for lost in [Mode::Plain, Mode::Penalty] {
        let all = models(&settings, |model| if model.row.mode == lost { diverged() } else { run(40.0, 0.1) }, |_| None);
        let findings = TableCt.findings(&settings, &all).unwrap();
        let text = findings.tables[0].to_string();
        assert!(text.contains("diverged, not trained") && text.contains("40.00 ± 0.00"), "{text}");
        let about_lost = findings.checks.iter().filter(|check| check.claim.contains("improves"));
        assert!(about_lost.into_iter().all(|check| !check.held && check.found.contains("diverged")));
        assert!(findings.figures.iter().all(|figure| !figure.svg.contains("NaN")));
    }
}

#[test]
fn norms_stand_beside_the_network_without_a_penalty() {
    let given = [("seeds", "2"), ("norms", "spectral, frobenius,(1,1) (2,2) (1,3) (3,3)")];
    let settings = norms(&given);
    let stiff = |model: &CtRun| model.id().contains("1-1");
    let all = frame(
        settings.asked(),
        &settings.rows(),
        |model| run(if stiff(model) { 36.0 } else { 40.0 + 0.1 * model.run.seed as f64 }, 0.1),
        |measured| Some(cost(if measured.id().contains("spectral") { 10.0 / 1.12 } else { 10.0 }, 4e6)),
    );
    let findings = TableNorms.findings(&settings, &all).unwrap();
    let text = findings.tables[0].to_string();
    assert!(text.contains("no penalty") && text.contains("(1,3)") && text.contains("+12.0 %"), "{text}");
    assert_eq!(findings.checks.iter().map(|check| check.held).collect::<Vec<_>>(), [true; 3], "{:?}", findings.checks);
    use reynolds::penalty::Form;
    assert_eq!(
        [norms(&[]).training, table(&[]).training, figure(&[]).training].map(|it| it.run.penalty.form),
        [Form::Plain, Form::Squared, Form::Squared]
    );
    let runs = settings.asked().runs(&settings.rows(), 2);
    let mut penalised = runs.iter().filter(|model| model.row.mode == Mode::Penalty).peekable();
    assert!(penalised.peek().is_some() && penalised.all(|model| model.run.penalty.form == Form::Plain));
    let said = findings.notes.last().unwrap();
    assert!(
        said.contains("not squared (`penalty.form` = \"plain\")") && said.contains("made with \"squared\""),
        "{said}"
    );
    let settings = norms(&[given[1]]);
    let all = frame(settings.asked(), &settings.rows(), |_| run(40.0, 0.1), |_| None);
    let once = TableNorms.findings(&settings, &all).unwrap().checks;
    assert!(once.iter().take(2).all(|check| !check.held && check.found.contains("fewer than two seeds")), "{once:?}");
}

#[test]
fn the_figure_shows_every_network_in_the_modes_that_were_run() {
    let given = [("networks", "acdnet,dicdnet")];
    let settings = figure(&given);
    let of = |run: &crate::targets::Trained| frame(settings.asked(), &settings.rows(), |_| run.clone(), |_| None);
    let findings = FigCt.findings(&settings, &of(&with_pictures(run(40.0, 0.1)))).unwrap();
    let svg = &findings.figures[0].svg;
    for text in ["input", "LI", "truth", "plain", "sample-based", "test-time projection", "ACDNet", "DICDNet"] {
        assert!(svg.contains(&format!(">{text}</text>")), "{text}");
    }
    // Three above, and two networks in three modes and projected, each with its enlarged part.
    assert_eq!(svg.matches("<image").count(), 2 * (3 + 2 * 4));
    assert!(!svg.contains("OSCNet"));
    let table = findings.tables[0].to_string();
    assert!(table.contains("DICDNet + projection penalty (ours)") && table.contains("LI"), "{table}");
    assert_eq!(FigCt.findings(&settings, &of(&run(40.0, 0.1))).unwrap().figures.len(), 1, "the curves alone");
}

fn finished(request: &Request) -> Reproduction {
    let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
    match find("table-ct").unwrap().reproduce(request, session).unwrap() {
        Outcome::Finished(reproduction) => *reproduction,
        Outcome::Interrupted { .. } => panic!("nobody interrupts a test"),
    }
}

fn tiny(root: &std::path::Path, given: &[(&str, &str)]) -> Vec<Assignment> {
    let folder = root.join("pairs").display().to_string();
    let small = [
        ("networks", "dicdnet"),
        ("seeds", "1"),
        ("sample_batch", "2"),
        ("train.epochs", "1"),
        ("model.stages", "2"),
        ("model.blocks", "1"),
        ("data.steps", "1"),
        ("data.batch", "2"),
        ("data.patch", "16"),
        ("data.side", "32"),
        ("data.train", "2"),
        ("data.validation", "1"),
        ("data.test", "2"),
        ("data.folder", &folder),
    ];
    small.iter().chain(given).map(|(key, value)| Assignment::new(key, value)).collect()
}

#[test]
fn a_tiny_table_is_simulated_trained_and_written() {
    let root = tempfile::tempdir().unwrap();
    let assignments = tiny(root.path(), &[("efficiency", "false")]);
    let place = Place::Under(root.path().join("runs"));
    let request = Request { budget: Budget::Quick, assignments, place, workers: 1 };
    let first = finished(&request);
    assert!(first.speed.starts_with("4 models"), "{}", first.speed);
    let files = ["table.csv", "validation_curves.csv", "report.html", "results.json", "figures/convergence.svg"];
    for file in files.into_iter().chain(["figures/fig-ct.svg", "figures/fig-ct-test.svg"]) {
        assert!(first.folder.join(file).is_file(), "{file}");
    }
    let text = first.to_string();
    // One step teaches nothing.
    assert!(text.contains("not trained") && text.contains("test-time projection"), "{text}");
    let again = finished(&Request { place: Place::Resume(first.folder.clone()), assignments: Vec::new(), ..request });
    assert_eq!(again.speed, "all 4 models were trained before");
    assert_eq!((again.findings.csv, again.findings.checks), (first.findings.csv, first.findings.checks));
}

#[test]
fn what_cannot_be_run_is_refused_by_its_key_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    for (target, key, value, expected) in [
        ("table-ct", "networks", "unet", "--set: networks: expected some of acdnet, dicdnet, oscnet, or all"),
        ("table-ct", "modes", "", "--set: modes: expected some of plain, sample, projected, rpp, penalty"),
        ("table-ct", "seeds", "0", "--set: seeds: expected at least 1"),
        ("table-ct", "train.epochs", "0", "--set: train.epochs: expected at least 1"),
        ("table-ct", "epochs.acdnet", "-1", "--set: epochs.acdnet: expected a whole number from 0"),
        ("table-ct", "data.batch", "5000", "--set: data.batch: expected "),
        ("table-ct", "data.patch", "8", "--set: data.patch: expected "),
        ("table-ct", "data.side", "8", "--set: data.side: expected "),
        ("table-ct", "data.source", "dicom", "--set: data.source: expected `phantom` or `slices`"),
        ("table-ct", "train.learning_rate", "-1", "--set: train.learning_rate: expected "),
        ("table-ct", "penalty.lambda_perp", "-1", "--set: penalty.lambda_perp: expected "),
        ("table-ct", "sample_weight.oscnet", "-1", "--set: sample_weight.oscnet: expected "),
        ("table-ct", "train.parametrisation.lambda_residual", "-1", "--set: train.parametrisation.lambda_residual: "),
        ("table-ct", "decay_at", "[1.5]", "--set: decay_at: expected numbers above 0, at most 1, found 1.5"),
        ("table-ct", "train.precision", "f16", "--set: train.precision: expected `f32` or `bf16`"),
        ("table-ct", "model.stages", "1", "config: model.stages: expected "),
        ("table-ct", "measured_batches", "[0]", "--set: measured_batches: expected increasing numbers, at least 1"),
        ("table-ct", "measured_batches", "[]", "--set: measured_batches: expected increasing numbers, at least 1"),
        ("table-ct", "measured_precision", "f16", "--set: measured_precision: expected `f32` or `bf16`"),
        ("table-norms", "norms", "(4,1)", "--set: norms: expected some of spectral, frobenius, max"),
        ("table-norms", "norms", "", "--set: norms: expected "),
        ("fig-ct", "efficiency", "true", "--set: unknown key \"efficiency\""),
        // What rows decide.
        ("table-ct", "model.architecture", "oscnet", "--set: model.architecture: expected \"dicdnet\", for `networks`"),
        ("table-ct", "projected", "true", "--set: projected: expected false"),
        ("table-ct", "train.schedule.milestones", "[3]", "config: decay_at: expected [], for `train.schedule`"),
        ("table-norms", "penalty.norm", "max", "config: penalty.norm: expected \"frobenius\", for `norms`"),
    ] {
        let message = refused(root.path(), target, key, value);
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

fn refused(root: &std::path::Path, target: &str, key: &str, value: &str) -> String {
    let assignments = vec![Assignment::new(key, value)];
    let request = Request { budget: Budget::Quick, assignments, place: Place::Under(root.into()), workers: 1 };
    let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
    find(target).unwrap().reproduce(&request, session).unwrap_err().to_string()
}

#[test]
fn an_old_key_is_answered_with_its_name_of_today() {
    let root = tempfile::tempdir().unwrap();
    for (old, new) in super::training::RENAMED {
        for target in ["table-ct", "table-norms", "fig-ct"] {
            let message = refused(root.path(), target, old, "1");
            assert_eq!(message, format!("--set: unknown key \"{old}\": now called \"{new}\""));
            assert!(find(target).unwrap().settings_text(Budget::Quick).contains(new.rsplit('.').next().unwrap()));
        }
    }
}
