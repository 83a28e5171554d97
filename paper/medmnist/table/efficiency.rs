//! What the networks cost beside the paper, and what it says of that.

use super::budget;
use super::measured::Measured;
use super::notes;
use super::paper::{self, EPOCH};
use super::settings::{EfficiencySettings, shown as shown_settings};
use super::tables::shown;
use crate::medmnist::bench::PEAK;
use crate::medmnist::networks::{Architecture, Symmetry};
use crate::medmnist::rows::Row;
use crate::targets::findings::Findings;
use crate::targets::point::{Frame, Point, Trained};
use crate::targets::sample::three_digits;
use crate::targets::{Budget, Named, Target, boxed};
use reynolds_report::{Check, Table};
use reynolds_train::error::Result;

/// Paper: `tab:model_efficiency`.
pub(crate) struct Efficiency;

pub(crate) const EFFICIENCY: Efficiency = Efficiency;

impl Target for Efficiency {
    type Settings = EfficiencySettings;

    fn name(&self) -> &'static str {
        "table-medmnist-efficiency"
    }

    fn about(&self) -> &'static str {
        "parameters, throughput, epoch time and memory of these networks (tab:model_efficiency)"
    }

    fn settings(&self, budget: Budget) -> EfficiencySettings {
        budget::efficiency(budget)
    }

    fn shown(&self, settings: &EfficiencySettings) -> Vec<(String, String)> {
        shown_settings(settings)
    }

    fn plan(&self, settings: &EfficiencySettings) -> Result<Option<String>> {
        Ok(Some(format!("{} rows to measure, each alone", settings.rows.as_slice().len())))
    }

    fn points(&self, settings: &EfficiencySettings) -> Result<Vec<Box<dyn Point>>> {
        let measured = |row| Measured::new(settings, row);
        Ok(boxed(settings.rows.iter().map(measured).collect::<Result<Vec<_>>>()?))
    }

    fn findings(&self, settings: &EfficiencySettings, frame: &Frame) -> Result<Findings> {
        let costs = costs(settings, frame)?;
        Ok(Findings {
            tables: vec![table(settings, &costs)],
            csv: csv(&costs),
            checks: checks(&costs),
            notes: notes::of_efficiency(),
            ..Findings::default()
        })
    }
}

/// Shares within which two speeds are alike.
const ALIKE: f64 = 0.05;

/// What was measured of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost<'a> {
    pub(super) row: Row,
    measured: &'a Trained,
}

impl Cost<'_> {
    /// Samples a second.
    pub(super) fn train(&self) -> f64 {
        self.measured.metric("train_samples_per_s")
    }

    /// Samples a second, without a gradient.
    pub(super) fn inference(&self) -> f64 {
        self.measured.metric("inference_samples_per_s")
    }

    /// Seconds of an epoch of Nodule.
    pub(super) fn epoch(&self) -> f64 {
        EPOCH / self.train()
    }

    /// GiB.
    fn memory(&self) -> f64 {
        self.measured.metric(PEAK) / 1024.0
    }

    fn parameters(&self) -> f64 {
        self.measured.metric("parameters")
    }
}

/// All rows that were measured.
pub(super) fn costs<'a>(settings: &EfficiencySettings, frame: &'a Frame) -> Result<Vec<Cost<'a>>> {
    let mut costs = Vec::new();
    for row in settings.rows.iter() {
        costs.extend(frame.find(&Measured::new(settings, row)?).map(|measured| Cost { row, measured }));
    }
    Ok(costs)
}

/// Parameters, throughput, time and memory beside the paper.
pub(super) fn table(settings: &EfficiencySettings, costs: &[Cost<'_>]) -> Table {
    let mut table = Table::new([
        "row",
        "parameters",
        "paper",
        "train/s",
        "paper",
        "inference/s",
        "paper",
        "epoch (s)",
        "paper",
        "peak memory (GiB)",
        "build (ms)",
    ]);
    table.caption(format!(
        "samples a second, measured alone by a process for each row: {} steps of 29³ in {}, batch {} in training and {} in inference; an \
         epoch is the {EPOCH} volumes of Nodule; ours trains with its penalty; inference has batch normalisation of dense blocks folded \
         into kernels, done once; building is from nothing, once",
        settings.steps,
        settings.run.train.precision.name(),
        settings.run.settings.data.batch,
        settings.inference_batch
    ));
    for cost in costs {
        let paper = paper::cost(cost.row);
        let beside =
            |value: fn(&paper::Published) -> f64| paper.as_ref().map_or("–".into(), |paper| value(paper).to_string());
        table.row([
            cost.row.label(),
            shown(cost.parameters(), |value| format!("{value:.0}")),
            paper.as_ref().map_or("–".into(), |paper| format!("{:.1}M", paper.parameters)),
            shown(cost.train(), three_digits),
            beside(|paper| paper.train),
            shown(cost.inference(), three_digits),
            beside(|paper| paper.inference),
            shown(cost.epoch(), three_digits),
            beside(|paper| paper.epoch),
            shown(cost.memory(), |value| format!("{value:.2}")),
            shown(cost.measured.metric("build_ms"), three_digits),
        ]);
    }
    table
}

/// The same for programs.
pub(super) fn csv(costs: &[Cost<'_>]) -> String {
    let mut csv = "row,parameters,train_samples_per_s,inference_samples_per_s,epoch_s,peak_memory_gib,build_ms,paper_parameters_m,\
                   paper_train,paper_inference,paper_epoch_s\n"
        .to_string();
    for cost in costs {
        let ours = [
            cost.parameters(),
            cost.train(),
            cost.inference(),
            cost.epoch(),
            cost.memory(),
            cost.measured.metric("build_ms"),
        ];
        let paper = paper::cost(cost.row)
            .map_or([f64::NAN; 4], |paper| [paper.parameters, paper.train, paper.inference, paper.epoch]);
        csv += &cost.row.name();
        csv += &ours.into_iter().chain(paper).map(crate::targets::curves::field).collect::<String>();
        csv.push('\n');
    }
    csv
}

/// What the paper says of costs, of the rows that were measured.
pub(super) fn checks(costs: &[Cost<'_>]) -> Vec<Check> {
    let find = |architecture, group| costs.iter().find(|cost| cost.row == Row::ours(group).beside(architecture));
    let mut checks = Vec::new();
    for group in [Symmetry::So3, Symmetry::O3] {
        let Some(ours) = find(Architecture::Ours, group) else { continue };
        let others = [Architecture::Cnn, Architecture::Scnn, Architecture::Rpp, Architecture::Pscnn];
        let others: Vec<&Cost<'_>> = others.into_iter().filter_map(|other| find(other, group)).collect();
        if others.is_empty() {
            continue;
        }
        for (what, speed) in [("trains", true), ("infers", false)] {
            let speed = |cost: &Cost<'_>| if speed { cost.train() } else { cost.inference() };
            let claim = format!("{} {what} faster than every other row of its group and the CNN", ours.row.label());
            let numbers: Vec<String> = std::iter::once(&ours)
                .chain(&others)
                .map(|cost| format!("{} {}", cost.row.label(), three_digits(speed(cost))))
                .collect();
            let held = others.iter().all(|other| speed(ours) > speed(other));
            checks.push(Check::new(claim, held, format!("{} samples/s", numbers.join(", "))));
        }
    }
    if let [Some(cnn), Some(ours)] = [Architecture::Cnn, Architecture::Ours].map(|of| find(of, Symmetry::So3)) {
        let published = paper::cost(ours.row).zip(paper::cost(cnn.row));
        checks.extend(published.map(|(paper_ours, paper_cnn)| {
            let [train, inference] = [ours.train() / cnn.train(), ours.inference() / cnn.inference()];
            let paper_train = paper_ours.train / paper_cnn.train;
            let paper_inference = paper_ours.inference / paper_cnn.inference;
            let claim = format!(
                "SO(3) ours trains at least {paper_train:.2} times as fast as the CNN and infers at least {paper_inference:.2} times as fast"
            );
            let found =
                format!("{train:.2} and {inference:.2} times; the paper's table {paper_train:.2} and {paper_inference:.2}");
            Check::new(claim, train >= paper_train && inference >= paper_inference, found)
        }));
    }
    if let [Some(strict), Some(partial)] = [Architecture::Scnn, Architecture::Pscnn].map(|of| find(of, Symmetry::So3)) {
        let [before, after] = [strict, partial].map(Cost::inference);
        let claim = "a P-SCNN infers as fast as the SCNN, within 5 %: its kernels are made once";
        let mut found = format!("{} and {} samples/s", three_digits(before), three_digits(after));
        if let Some((strict, partial)) = paper::cost(strict.row).zip(paper::cost(partial.row)) {
            found += &format!("; the paper's table {} and {}", strict.inference, partial.inference);
        }
        checks.push(Check::new(claim, (after / before - 1.0).abs() <= ALIKE, found));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{cost, given};
    use super::*;

    fn quick(assignments: &[(&str, &str)]) -> EfficiencySettings {
        given(budget::efficiency(Budget::Quick), assignments)
    }

    fn measured(ours: f64) -> (EfficiencySettings, Frame) {
        let settings = quick(&[]);
        let mut frame = Frame::default();
        for row in settings.rows.iter() {
            let speed = if row.is_ours() { ours } else { 1000.0 };
            frame.insert(&Measured::new(&settings, row).unwrap(), cost(speed, 2_035_066.0));
        }
        (settings, frame)
    }

    #[test]
    fn costs_stand_beside_the_papers_and_epochs_are_those_of_nodule() {
        let (settings, frame) = measured(2316.0);
        let costs = costs(&settings, &frame).unwrap();
        let text = table(&settings, &costs).to_string();
        let ours = text.lines().find(|line| line.starts_with("SO(3) ours")).unwrap();
        let words: Vec<&str> = ours.split_whitespace().skip(2).collect();
        assert_eq!(words, ["2035066", "2.0M", "2316", "638.2", "4632", "5606.5", "0.500", "1.8", "2.00", "12.5"]);
        assert_eq!(text.lines().filter(|line| line.contains("O(3)")).count(), 8, "{text}");
        let csv = csv(&costs);
        let fields = |line: &str| line.split(',').count();
        assert!(csv.lines().count() == 10 && csv.lines().all(|line| fields(line) == 11), "{csv}");
    }

    #[test]
    fn the_papers_own_table_holds_what_it_says() {
        let settings = quick(&[("rows", "cnn,so3-scnn,so3-rpp,so3-pscnn,so3-ours")]);
        let mut frame = Frame::default();
        for row in settings.rows.iter() {
            let paper = paper::cost(row).unwrap();
            let mut own = cost(paper.train, 1e6 * paper.parameters);
            own.metrics.insert("inference_samples_per_s".into(), paper.inference);
            frame.insert(&Measured::new(&settings, row).unwrap(), own);
        }
        let checks = checks(&costs(&settings, &frame).unwrap());
        assert_eq!(checks.iter().map(|check| check.held).collect::<Vec<_>>(), [true; 4], "{checks:?}");
        assert!(checks[2].claim.contains("at least 1.75 times") && checks[2].claim.contains("at least 6.25 times"));
        assert_eq!(checks[2].found, "1.75 and 6.25 times; the paper's table 1.75 and 6.25");
        assert!(checks[3].found.ends_with("the paper's table 666.7 and 665.9"), "{}", checks[3]);
    }

    #[test]
    fn ours_is_fastest_or_that_is_not_held() {
        let of = |speed: f64| {
            let (settings, frame) = measured(speed);
            checks(&costs(&settings, &frame).unwrap()).iter().map(|check| check.held).collect::<Vec<_>>()
        };
        // Faster in training and inference, both groups; 1.75 and 6.25 times the CNN; P-SCNN as the SCNN.
        assert_eq!(of(7000.0), [true, true, true, true, true, true]);
        assert_eq!(of(2000.0), [true, true, true, true, false, true]);
        assert_eq!(of(900.0), [false, false, false, false, false, true]);
    }
}
