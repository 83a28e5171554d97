//! The targets as a whole.

use std::collections::BTreeSet;

use reynolds_torch::tch::Device;

use super::budget::of_budget;
use super::row::Mode;
use super::synthetic::{cost, diverged, models, run, settings, setup, with_pictures};
use super::{CtTarget, FIGURE, NORMS, TABLE};
use crate::targets::engine::{Outcome, Place, Request, Session, reproduce};
use crate::targets::findings::Reproduction;
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target};
use reynolds_train::config::Assignment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;

#[test]
fn fifteen_rows_are_twelve_runs_and_twelve_measurements_that_come_alone_and_ids_are_their_own() {
    let wanted = TABLE.models(&settings(&TABLE, &[("seeds", "2")])).unwrap();
    let alone = wanted.iter().filter(|model| model.alone()).count();
    assert_eq!((wanted.len(), alone), (12 * 2 + 12, 12));
    let ids: BTreeSet<String> = wanted.iter().map(|model| model.id()).collect();
    assert_eq!(ids.len(), wanted.len());
    let norms = NORMS.models(&settings(&NORMS, &[])).unwrap();
    assert_eq!(norms.iter().map(|model| model.id()).collect::<BTreeSet<_>>().len(), 13 + 13);
    let figure = FIGURE.models(&settings(&FIGURE, &[("seeds", "3"), ("modes", "penalty")])).unwrap();
    assert_eq!(figure.len(), 3 * 2, "the plain models keep what every network sees");
}

#[test]
fn the_figure_has_the_models_of_the_table() {
    let of = |target: &CtTarget| -> BTreeSet<(String, String)> {
        let models = target.models(&of_budget(Budget::Standard, target.of)).unwrap();
        models.iter().map(|model| (model.id(), model.config().to_string())).collect()
    };
    assert!(of(&FIGURE).is_subset(&of(&TABLE)));
}

#[test]
fn every_network_of_every_budget_can_be_built() {
    for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
        for target in [TABLE, NORMS, FIGURE] {
            assert!(!target.models(&target.settings(budget)).unwrap().is_empty(), "{} {budget:?}", target.name);
        }
    }
}

#[test]
fn findings_are_made_of_whatever_was_run() {
    let given = [("networks", "dicdnet,oscnet"), ("seeds", "2")];
    let (settings, setup) = (settings(&TABLE, &given), setup(&TABLE, &given));
    let all = models(
        &TABLE,
        &setup,
        |model| with_pictures(run(if model.row.mode == Mode::Penalty { 41.0 } else { 40.0 }, 0.1)),
        |measured| Some(cost(if measured.mode == Mode::Sample { 5.0 } else { 10.0 }, 4e6)),
    );
    let findings = TABLE.findings(&settings, &all).unwrap();
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
    let nothing = TABLE.findings(&settings, &Frame::default()).unwrap();
    assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 3);
}

#[test]
fn a_batch_that_could_not_be_measured_is_told_with_its_reason() {
    let (settings, setup) = (settings(&TABLE, &[("networks", "dicdnet")]), setup(&TABLE, &[("networks", "dicdnet")]));
    let notes = |reason: Option<&str>| {
        let measured = |measured: &super::measured::Measured| {
            let mut cost = cost(10.0, 4e6);
            if let Some(reason) = reason.filter(|_| measured.mode == Mode::Sample) {
                cost.metrics.retain(|name, _| !name.starts_with("batch12/"));
                cost.metrics.insert(format!("batch12{}{reason}", super::measured::LEFT_OUT), 1.0);
            }
            Some(cost)
        };
        TABLE.findings(&settings, &models(&TABLE, &setup, |_| run(40.0, 0.1), measured)).unwrap().notes
    };
    let told = |notes: Vec<String>| notes.into_iter().find(|note| note.starts_with("Not measured"));
    assert_eq!(told(notes(None)), None);
    let note = told(notes(Some("no room"))).unwrap();
    assert_eq!(note, "Not measured: DICDNet + sample-based at batch12: no room.");
}

#[test]
fn a_row_that_diverged_stands_beside_one_that_did_not() {
    let given = [("networks", "dicdnet"), ("seeds", "2")];
    let (settings, setup) = (settings(&TABLE, &given), setup(&TABLE, &given));
    for lost in [Mode::Plain, Mode::Penalty] {
        let all =
            models(&TABLE, &setup, |model| if model.row.mode == lost { diverged() } else { run(40.0, 0.1) }, |_| None);
        let findings = TABLE.findings(&settings, &all).unwrap();
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
    let (settings, setup) = (settings(&NORMS, &given), setup(&NORMS, &given));
    let stiff = |model: &super::ct_model::CtModel| model.id().contains("1-1");
    let all = models(
        &NORMS,
        &setup,
        |model| run(if stiff(model) { 36.0 } else { 40.0 + 0.1 * model.config.seed as f64 }, 0.1),
        |measured| Some(cost(if measured.id().contains("spectral") { 10.0 / 1.12 } else { 10.0 }, 4e6)),
    );
    let findings = NORMS.findings(&settings, &all).unwrap();
    let text = findings.tables[0].to_string();
    assert!(text.contains("no penalty") && text.contains("(1,3)") && text.contains("+12.0 %"), "{text}");
    assert_eq!(findings.checks.iter().map(|check| check.held).collect::<Vec<_>>(), [true; 3], "{:?}", findings.checks);
    let of = |target: &CtTarget| of_budget(Budget::Standard, target.of)["form"].to_string();
    assert_eq!([of(&NORMS), of(&TABLE), of(&FIGURE)], ["\"plain\"", "\"squared\"", "\"squared\""]);
    let penalised: Vec<_> =
        NORMS.trained(&setup).unwrap().into_iter().filter(|model| model.row.mode == Mode::Penalty).collect();
    assert!(
        !penalised.is_empty()
            && penalised.iter().all(|model| model.config.penalty.form == reynolds::penalty::Form::Plain)
    );
    let said = findings.notes.last().unwrap();
    assert!(said.contains("not squared (`form` = \"plain\")") && said.contains("made with \"squared\""), "{said}");
    let once = setup_of_one_seed(&settings);
    assert!(once.iter().take(2).all(|check| !check.held && check.found.contains("fewer than two seeds")), "{once:?}");
}

fn setup_of_one_seed(settings: &toml::Table) -> Vec<reynolds_report::Check> {
    let mut settings = settings.clone();
    Assignment::new("seeds", "1").apply(&mut settings).unwrap();
    let setup = NORMS.setup(&settings).unwrap();
    NORMS.findings(&settings, &models(&NORMS, &setup, |_| run(40.0, 0.1), |_| None)).unwrap().checks
}

#[test]
fn the_figure_shows_every_network_in_the_modes_that_were_run() {
    let given = [("networks", "acdnet,dicdnet")];
    let (settings, setup) = (settings(&FIGURE, &given), setup(&FIGURE, &given));
    let all = models(&FIGURE, &setup, |_| with_pictures(run(40.0, 0.1)), |_| None);
    let findings = FIGURE.findings(&settings, &all).unwrap();
    let svg = &findings.figures[0].svg;
    for text in ["input", "LI", "truth", "plain", "sample-based", "test-time projection", "ACDNet", "DICDNet"] {
        assert!(svg.contains(&format!(">{text}</text>")), "{text}");
    }
    // Three above, and two networks in three modes and projected, each with its enlarged part.
    assert_eq!(svg.matches("<image").count(), 2 * (3 + 2 * 4));
    assert!(!svg.contains("OSCNet"));
    let table = findings.tables[0].to_string();
    assert!(table.contains("DICDNet + projection penalty (ours)") && table.contains("LI"), "{table}");
    let none = models(&FIGURE, &setup, |_| run(40.0, 0.1), |_| None);
    assert_eq!(FIGURE.findings(&settings, &none).unwrap().figures.len(), 1, "the curves alone");
}

fn finished(request: &Request) -> Reproduction {
    let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
    match reproduce(request, session).unwrap() {
        Outcome::Finished(reproduction) => *reproduction,
        Outcome::Interrupted { .. } => panic!("nobody interrupts a test"),
    }
}

fn tiny(root: &std::path::Path, given: &[(&str, &str)]) -> Vec<Assignment> {
    let folder = root.join("pairs").display().to_string();
    let small = [
        ("networks", "dicdnet"),
        ("seeds", "1"),
        ("epochs.dicdnet", "1"),
        ("steps", "1"),
        ("batch", "2"),
        ("sample_batch", "2"),
        ("patch", "16"),
        ("stages", "2"),
        ("blocks", "1"),
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
    let request = Request { target: "table-ct".into(), budget: Budget::Quick, assignments, place, workers: 1 };
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
fn what_cannot_be_run_is_refused_by_its_own_key_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    for (target, key, value, expected) in [
        ("table-ct", "networks", "unet", "config: networks: expected some of acdnet, dicdnet, oscnet, or all"),
        ("table-ct", "modes", "", "config: modes: expected some of plain, sample, projected, rpp, penalty"),
        ("table-ct", "seeds", "0", "config: seeds: expected a whole number, at least 1"),
        ("table-ct", "epochs.acdnet", "0", "config: epochs.acdnet: expected a whole number, at least 1"),
        ("table-ct", "batch", "5000", "config: batch: expected "),
        ("table-ct", "patch", "8", "config: patch: expected "),
        ("table-ct", "data.side", "8", "config: data.side: expected "),
        ("table-ct", "data.source", "dicom", "config: data.source: expected \"phantom\" or \"slices\""),
        ("table-ct", "learning_rate", "-1", "config: learning_rate: expected "),
        ("table-ct", "lambda_perp", "-1", "config: lambda_perp: expected "),
        ("table-ct", "sample_weight.oscnet", "-1", "config: sample_weight.oscnet: expected "),
        ("table-ct", "rpp.residual", "-1", "config: rpp.residual: expected "),
        ("table-ct", "decay_at", "1.5", "config: decay_at: expected numbers above 0, at most 1, found \"1.5\""),
        ("table-ct", "precision", "f16", "config: precision: expected \"f32\" or \"bf16\""),
        ("table-ct", "stages", "1", "config: stages: expected "),
        ("table-ct", "measured_batches", "0", "config: measured_batches: expected whole numbers, at least 1"),
        ("table-norms", "norms", "(4,1)", "config: norms: expected some of spectral frobenius max"),
        ("table-norms", "norms", "", "config: norms: expected "),
        ("fig-ct", "efficiency", "true", "--set: unknown key \"efficiency\""),
    ] {
        let place = Place::Under(root.path().into());
        let assignments = vec![Assignment::new(key, value)];
        let request = Request { target: target.into(), budget: Budget::Quick, assignments, place, workers: 1 };
        let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
        let message = reproduce(&request, session).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}
