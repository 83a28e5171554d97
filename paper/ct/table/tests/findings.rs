//! What comes of points: tables, figures, notes.

use super::super::row::Mode;
use super::super::tables::{efficiency, quality};
use super::*;
use crate::targets::findings::Findings;
use crate::targets::synthetic::diverged;
use reynolds::norm::Norm;

fn line(text: &str, start: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn ours_stands_beside_the_papers_and_trivial_rows_above() {
    let settings = table("networks=dicdnet seeds=2");
    let psnr = |mode| if mode == Mode::Rpp { 35.2 } else { 41.0 };
    let all = frame(&settings, |model| run(psnr(model.row.mode), 0.2), |_| Some(cost(10.0, 4e6)));
    let cells = cells(&settings, &all);
    let text = quality(&settings, &cells).to_string();
    assert_eq!(line(&text, "corrupted input"), "corrupted input 30.00 – 0.8000 – – – – –");
    assert!(text.contains("outside the metal, of at most 12 test cases"), "{text}");
    assert_eq!(line(&text, "LI"), "LI 35.00 – 0.9000 – – – – –");
    let plain =
        "DICDNet 41.00 ± 0.00 41.44 0.9111 ± 0.0000 0.9468 +6.00 / 0.10 2.00 ± 0.00 0.200 ± 0.000 0.200 ± 0.000";
    assert_eq!(line(&text, "DICDNet "), plain);
    // 35.2 is 2 standard errors above LI; the projected weights are 10 dB below the plain ones, and below LI.
    assert!(line(&text, "DICDNet + RPP").contains("35.20 ± 0.00 not trained 39.42"), "{text}");
    assert!(line(&text, "DICDNet + test-time").contains("31.00 ± 0.00 not trained 41.59"), "{text}");
    let text = efficiency(settings.measured().unwrap(), &cells).unwrap().to_string();
    let ours = "DICDNet + projection penalty (ours) 4300175 4.3M 10.0 5.77 11.0 7.82 20.0 10.11 545 782 12.00 12.05";
    assert_eq!(line(&text, "DICDNet + projection"), ours);
    assert_eq!(text.lines().filter(|line| line.starts_with("DICDNet")).count(), 5, "{text}");
}

#[test]
fn one_seed_shows_the_error_over_cases() {
    let settings = table("networks=dicdnet modes=plain");
    let all = frame(&settings, |_| run(41.0, 0.2), |_| None);
    let cells = cells(&settings, &all);
    let text = quality(&settings, &cells).to_string();
    assert!(line(&text, "DICDNet").starts_with("DICDNet 41.00 ± 0.25 41.44 0.9111 0.9468"), "{text}");
    assert!(text.contains("1 seed, ± standard error over cases"));
    assert!(efficiency(settings.measured().unwrap(), &cells).is_none());
}

#[test]
fn findings_need_not_have_every_row() {
    let settings = table("networks=dicdnet,oscnet seeds=2");
    let all = frame(
        &settings,
        |model| with_pictures(run(if model.row.mode == Mode::Penalty { 41.0 } else { 40.0 }, 0.1)),
        |row| Some(cost(if row.mode == Mode::Sample { 5.0 } else { 10.0 }, 4e6)),
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
fn a_batch_that_could_not_be_measured_is_noted_with_its_reason() {
    let settings = table("networks=dicdnet");
    let noted = |fails: bool| {
        let measured = |row: Row| {
            let mut cost = cost(10.0, 4e6);
            if fails && row.mode == Mode::Sample {
                cost.metrics.retain(|name, _| !name.starts_with("batch12/"));
                cost.failures.insert("batch12".into(), "no room".into());
            }
            Some(cost)
        };
        let notes = TABLE.findings(&settings, &frame(&settings, |_| run(40.0, 0.1), measured)).unwrap().notes;
        notes.into_iter().find(|note| note.starts_with("Not measured"))
    };
    assert_eq!(noted(false), None);
    assert_eq!(noted(true).unwrap(), "Not measured: DICDNet + sample-based at batch12: no room.");
}

#[test]
fn a_row_that_diverged_stands_beside_one_that_did_not() {
    let settings = table("networks=dicdnet seeds=2");
    for lost in [Mode::Plain, Mode::Penalty] {
        let all = frame(&settings, |model| if model.row.mode == lost { diverged() } else { run(40.0, 0.1) }, |_| None);
        let findings = TABLE.findings(&settings, &all).unwrap();
        let text = findings.tables[0].to_string();
        assert!(text.contains("diverged, not trained") && text.contains("40.00 ± 0.00"), "{text}");
        let mut about_lost = findings.checks.iter().filter(|check| check.claim.contains("improves"));
        assert!(about_lost.all(|check| !check.is_held() && check.found.contains("diverged")));
        assert!(findings.figures.iter().all(|figure| !figure.svg.contains("NaN")));
    }
}

#[test]
fn norms_stand_beside_the_network_without_a_penalty() {
    let findings = |seeds, psnr: fn(&CtRun) -> f64| -> Findings {
        let settings = settings(&NORMS, &format!("norms=spectral,frobenius,(1,1),(2,2),(1,3),(3,3) seeds={seeds}"));
        let speed = |row: Row| if row.norm == Norm::Spectral && row.mode == Mode::Penalty { 10.0 / 1.12 } else { 10.0 };
        let all = frame(&settings, |model| run(psnr(model), 0.1), |row| Some(cost(speed(row), 4e6)));
        NORMS.findings(&settings, &all).unwrap()
    };
    let both = findings(2, |model| match model.id().contains("1-1") {
        true => 36.0,
        false => 40.0 + 0.1 * model.run.seed as f64,
    });
    let text = both.tables[0].to_string();
    assert!(text.contains("no penalty") && text.contains("(1,3)") && text.contains("+12.0 %"), "{text}");
    assert_eq!(both.checks.iter().map(|check| check.is_held()).collect::<Vec<_>>(), [true; 3], "{:?}", both.checks);
    let said = both.notes.last().unwrap();
    assert!(said.contains("not squared (`penalty.form` = \"plain\")"), "{said}");
    assert!(said.contains("made with \"squared\""), "{said}");
    let once = findings(1, |_| 40.0).checks;
    let one_seed = reynolds_report::Verdict::Undecided(reynolds_report::Reason::OneSeed);
    assert!(once.iter().take(2).all(|check| check.verdict == one_seed), "{once:?}");
}

#[test]
fn the_figure_shows_every_network_in_the_modes_that_were_run() {
    let settings = settings(&FIGURE, "networks=acdnet,dicdnet");
    let of = |run: Trained| FIGURE.findings(&settings, &frame(&settings, |_| run.clone(), |_| None)).unwrap();
    let findings = of(with_pictures(run(40.0, 0.1)));
    let svg = &findings.figures[0].svg;
    for text in ["input", "LI", "truth", "plain", "sample-based", "test-time projection", "ACDNet", "DICDNet"] {
        assert!(svg.contains(&format!(">{text}</text>")), "{text}");
    }
    // Three above, and two networks in three modes and projected, each with its enlarged part.
    assert_eq!(svg.matches("<image").count(), 2 * (3 + 2 * 4));
    assert!(!svg.contains("OSCNet"));
    let table = findings.tables[0].to_string();
    assert!(table.contains("DICDNet + projection penalty (ours)") && table.contains("LI"), "{table}");
    assert_eq!(of(run(40.0, 0.1)).figures.len(), 1, "the curves alone");
}
