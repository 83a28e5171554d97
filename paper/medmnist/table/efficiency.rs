//! `table-medmnist-efficiency`: costs beside the paper's, measured alone by a process for the minibatch of training and one for that of
//! inference.

use super::settings::Efficiency as Keys;
use super::*;
use crate::step::{PEAK, Step};
use crate::targets::cost::{self, Part};
use serde_json::json;

/// Training volumes of Nodule, the product of the paper's throughput and epoch time in every row.
const EPOCH: f64 = 1158.0;

/// Relative difference of equal speeds.
const ALIKE: f64 = 0.05;

static PAPER: LazyLock<Published> =
    LazyLock::new(|| Published::read(&[include_str!("../../published/model_efficiency.toml")]));

type OfCost = fn(&Cost<'_>) -> f64;

/// Name for programs, name for people, format, value.
type Number = (&'static str, &'static str, fn(f64) -> String, OfCost);

const NUMBERS: [Number; 6] = [
    ("parameters", "parameters", decimals::<0>, |cost| cost.measured.metric("parameters")),
    (TRAIN, "train/s", three_digits, |cost| cost.speed(TRAIN)),
    (INFERENCE, "inference/s", three_digits, |cost| cost.speed(INFERENCE)),
    ("epoch_s", "epoch (s)", three_digits, |cost| EPOCH / cost.speed(TRAIN)),
    ("peak_memory_gib", "peak memory (GiB)", decimals::<2>, |cost| cost.measured.metric(PEAK) / 1024.0),
    ("build_ms", "build (ms)", three_digits, |cost| cost.measured.metric("build_ms")),
];

/// The paper's columns beside the first numbers: name for programs, metric.
const PUBLISHED: [(&str, &str); 4] = [
    ("paper_parameters_m", "parameters"),
    ("paper_train", "train"),
    ("paper_inference", "inference"),
    ("paper_epoch_s", "epoch"),
];

/// Metrics: samples a second.
const TRAIN: &str = "train_samples_per_s";
const INFERENCE: &str = "inference_samples_per_s";

/// Paper: `tab:model_efficiency`.
pub(crate) struct Efficiency;

impl Target for Efficiency {
    type Settings = TargetSettings<Keys>;

    fn name(&self) -> &'static str {
        "table-medmnist-efficiency"
    }

    fn about(&self) -> &'static str {
        "parameters, throughput, epoch time and memory of these networks (tab:model_efficiency)"
    }

    fn settings(&self, budget: Budget) -> Self::Settings {
        budget::efficiency(budget)
    }

    fn shown(&self, settings: &Self::Settings) -> Vec<(String, String)> {
        settings.shown()
    }

    fn plan(&self, settings: &Self::Settings) -> Result<Option<String>> {
        Ok(Some(format!("{} rows to measure, each alone", settings.own.rows.as_slice().len())))
    }

    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>> {
        Ok(boxed(settings.own.rows.iter().map(|row| measured(settings, row))))
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings> {
        let costs = costs(settings, frame);
        Ok(Findings {
            tables: vec![table(settings, &costs)],
            csv: csv(&costs),
            checks: checks(&costs),
            notes: notes::of_efficiency(),
            ..Findings::default()
        })
    }
}

impl Keys {
    /// The measurement of a row at the minibatch of training.
    pub(super) fn bench(&self, run: &RunConfig<MedSettings>, row: Row) -> Step<MedExperiment> {
        let run = row.run(run, row.measured_strengths());
        Step { steps: self.steps, warmup: self.warmup, pairs: 0, run }
    }
}

/// Metrics at the minibatch of training, and at that of inference.
const AT_TRAINING: &[&str] = &["train_ms", TRAIN, PEAK, "build_ms", "parameters"];
const AT_INFERENCE: &[&str] = &["inference_ms", INFERENCE];

/// The cost of a row.
fn measured(settings: &TargetSettings<Keys>, row: Row) -> cost::Cost<MedExperiment> {
    let inference_batch = settings.own.inference_batch;
    let bench = settings.own.bench(&settings.run, row);
    let mut at_inference = bench.clone();
    at_inference.run.settings.data.batch = inference_batch;
    let settings = json!({ "inference_batch": inference_batch, "bench": bench });
    let part = |step, names: &[&'static str]| {
        let kept = names.iter().map(|name| (*name, name.to_string())).collect();
        Part { step, kept, failure: None }
    };
    let parts = vec![part(bench, AT_TRAINING), part(at_inference, AT_INFERENCE)];
    cost::Cost { id: format!("measured-{}", row.name()), settings, parts, launcher: None }
}

#[derive(Debug, Clone, Copy)]
struct Cost<'a> {
    row: Row,
    measured: &'a Trained,
}

impl Cost<'_> {
    fn speed(&self, metric: &str) -> f64 {
        self.measured.metric(metric)
    }

    fn paper(&self, metric: &str) -> f64 {
        PAPER.number(&self.row.name(), metric)
    }
}

fn costs<'a>(settings: &TargetSettings<Keys>, frame: &'a Frame) -> Vec<Cost<'a>> {
    let of_row = |row| frame.find(&measured(settings, row)).map(|measured| Cost { row, measured });
    settings.own.rows.iter().filter_map(of_row).collect()
}

fn table(settings: &TargetSettings<Keys>, costs: &[Cost<'_>]) -> Table {
    let mut columns = vec![Column::new("row", |cost: &Cost<'_>| cost.row.label())];
    for (place, (_, head, format, value)) in NUMBERS.into_iter().enumerate() {
        columns.push(Column::new(head, value).format(format));
        if let Some(&(_, metric)) = PUBLISHED.get(place) {
            let format =
                move |value: f64| if metric == "parameters" { format!("{value:.1}M") } else { value.to_string() };
            columns.push(Column::new("paper", move |cost: &Cost<'_>| cost.paper(metric)).format(format));
        }
    }
    let mut table = columns::table(&columns, costs);
    table.caption(format!(
        "samples a second, measured alone by a process for each row: {} steps of 29³ in {}, batch {} in training and {} in inference; an \
         epoch is the {EPOCH} volumes of Nodule; ours trains with its penalty; inference has batch normalisation of dense blocks folded \
         into kernels, done once; building is from nothing, once",
        settings.own.steps,
        settings.run.train.precision.name(),
        settings.run.settings.data.batch,
        settings.own.inference_batch
    ));
    table
}

fn csv(costs: &[Cost<'_>]) -> String {
    let mut columns = vec![Column::new("row", |cost: &Cost<'_>| cost.row.name())];
    columns.extend(NUMBERS.map(|(name, _, _, value)| Column::new(name, value)));
    columns.extend(PUBLISHED.map(|(name, metric)| Column::new(name, move |cost: &Cost<'_>| cost.paper(metric))));
    columns::csv(&columns, costs)
}

/// The paper's claims about costs, for rows that were measured.
fn checks(costs: &[Cost<'_>]) -> Vec<Check> {
    let find = |architecture, group| costs.iter().find(|cost| cost.row == Row::ours(group).beside(architecture));
    let mut checks = Vec::new();
    for group in [Symmetry::So3, Symmetry::O3] {
        let Some(ours) = find(Architecture::Ours, group) else { continue };
        let others = [Architecture::Cnn, Architecture::Scnn, Architecture::Rpp, Architecture::Pscnn];
        let others: Vec<&Cost<'_>> = others.into_iter().filter_map(|other| find(other, group)).collect();
        if others.is_empty() {
            continue;
        }
        for (what, speed) in [("trains", TRAIN), ("infers", INFERENCE)] {
            let claim = format!("{} {what} faster than every other row of its group and the CNN", ours.row.label());
            let rows = std::iter::once(&ours).chain(&others);
            let numbers = rows.map(|cost| format!("{} {}", cost.row.label(), three_digits(cost.speed(speed))));
            let found = format!("{} samples/s", numbers.collect::<Vec<_>>().join(", "));
            checks.push(Check::new(claim, others.iter().all(|other| ours.speed(speed) > other.speed(speed)), found));
        }
    }
    if let [Some(cnn), Some(ours)] = [Architecture::Cnn, Architecture::Ours].map(|of| find(of, Symmetry::So3)) {
        let [train, inference] = [TRAIN, INFERENCE].map(|speed| ours.speed(speed) / cnn.speed(speed));
        let [paper_train, paper_inference] = ["train", "inference"].map(|what| ours.paper(what) / cnn.paper(what));
        let claim = format!(
            "SO(3) ours trains at least {paper_train:.2} times as fast as the CNN and infers at least {paper_inference:.2} times as fast"
        );
        let found =
            format!("{train:.2} and {inference:.2} times; the paper's table {paper_train:.2} and {paper_inference:.2}");
        checks.push(Check::new(claim, train >= paper_train && inference >= paper_inference, found));
    }
    if let [Some(strict), Some(partial)] = [Architecture::Scnn, Architecture::Pscnn].map(|of| find(of, Symmetry::So3)) {
        let claim = "a P-SCNN infers as fast as the SCNN, within 5 %: its kernels are made once";
        let [before, after] = [strict, partial].map(|cost| cost.speed(INFERENCE));
        let [shown_before, shown_after] = [before, after].map(three_digits);
        let [paper_before, paper_after] = [strict, partial].map(|cost| cost.paper("inference"));
        let found =
            format!("{shown_before} and {shown_after} samples/s; the paper's table {paper_before} and {paper_after}");
        checks.push(Check::new(claim, (after / before - 1.0).abs() <= ALIKE, found));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::held;
    use super::*;
    use crate::medmnist::networks::Nonlinearity;
    use crate::targets::synthetic::{given, trained};

    fn quick(assignments: &[(&str, &str)]) -> TargetSettings<Keys> {
        given(budget::efficiency(Budget::Quick), assignments)
    }

    /// Rows with the samples a second that `speed` says of training and inference.
    fn frame(settings: &TargetSettings<Keys>, speed: impl Fn(Row) -> [f64; 2]) -> Frame {
        Frame::new(settings.own.rows.iter().map(|row| {
            let [train, inference] = speed(row);
            let numbers = [
                ("parameters", 2_035_066.0),
                (TRAIN, train),
                (INFERENCE, inference),
                ("peak_memory_mib", 2048.0),
                ("build_ms", 12.5),
            ];
            (measured(settings, row), trained(numbers))
        }))
    }

    fn judged(settings: &TargetSettings<Keys>, speed: impl Fn(Row) -> [f64; 2]) -> Vec<Check> {
        checks(&costs(settings, &frame(settings, speed)))
    }

    #[test]
    fn costs_stand_beside_the_papers_and_epochs_are_those_of_nodule() {
        let settings = quick(&[]);
        let frame = frame(&settings, |row| if row.is_ours() { [2316.0, 4632.0] } else { [1000.0, 2000.0] });
        let costs = costs(&settings, &frame);
        let text = table(&settings, &costs).to_string();
        let ours = text.lines().find(|line| line.starts_with("SO(3) ours")).unwrap();
        let words: Vec<&str> = ours.split_whitespace().skip(2).collect();
        assert_eq!(words, ["2035066", "2.0M", "2316", "638.2", "4632", "5606.5", "0.500", "1.8", "2.00", "12.5"]);
        assert_eq!(text.lines().filter(|line| line.contains("O(3)")).count(), 8, "{text}");
        let csv = csv(&costs);
        for line in
            ["so3-ours,2035066,2316,4632,0.5,2,12.5,2,638.2,5606.5,1.8\n", "o3-ours,2035066,2316,4632,0.5,2,12.5,,,,\n"]
        {
            assert!(csv.contains(line), "{csv}");
        }
        for row in settings.own.rows.iter().filter(|row| row.group == Symmetry::So3) {
            let [train, epoch] = ["train", "epoch"].map(|metric| PAPER.number(&row.name(), metric));
            // Epochs have two digits: 9.1 s of RPP are 2.7 % more.
            assert!((train * epoch / EPOCH - 1.0).abs() < 0.03, "{row:?}: {}", train * epoch);
        }
    }

    #[test]
    fn the_papers_own_table_holds_its_claims() {
        let settings = quick(&[("rows", "cnn,so3-scnn,so3-rpp,so3-pscnn,so3-ours")]);
        let checks = judged(&settings, |row| ["train", "inference"].map(|what| PAPER.number(&row.name(), what)));
        assert_eq!(held(&checks), [true; 4]);
        assert!(checks[2].claim.contains("at least 1.75 times") && checks[2].claim.contains("at least 6.25 times"));
        assert_eq!(checks[2].found, "1.75 and 6.25 times; the paper's table 1.75 and 6.25");
        assert!(checks[3].found.ends_with("the paper's table 666.7 and 665.9"), "{}", checks[3]);
    }

    #[test]
    fn ours_must_be_the_fastest() {
        // Faster in training and inference, both groups; 1.75 and 6.25 times the CNN; P-SCNN as the SCNN.
        for (ours, expected) in [
            (7000.0, [true, true, true, true, true, true]),
            (2000.0, [true, true, true, true, false, true]),
            (900.0, [false, false, false, false, false, true]),
        ] {
            let speed = |row: Row| if row.is_ours() { ours } else { 1000.0 };
            assert_eq!(held(&judged(&quick(&[]), |row| [speed(row), 2.0 * speed(row)])), expected, "{ours}");
        }
    }

    #[test]
    fn a_row_is_measured_with_the_settings_of_its_run_training_at_its_batch_and_inference_at_the_other() {
        let of = |row| {
            let given = [("model.nonlinearity", "gated"), ("train.precision", "bf16"), ("steps", "3")];
            measured(&quick(&given), row)
        };
        let ours = of(Row::ours(Symmetry::O3));
        assert_eq!((ours.id().as_str(), ours.alone()), ("measured-o3-ours", true));
        let Step { steps, run, .. } = &ours.parts[0].step;
        let model = &run.settings.model;
        // Ours alone is gated when that is asked for, and has a penalty.
        assert_eq!((model.group, model.width, model.nonlinearity), (Symmetry::O3, 1, Nonlinearity::Gated));
        assert_eq!((*steps, run.train.precision.name()), (3, "bf16"));
        let scnn = &of(Row::scnn(Symmetry::O3)).parts[0].step.run;
        assert_eq!(scnn.settings.model.nonlinearity, Nonlinearity::Pointwise);
        assert!(scnn.penalty.is_zero() && !run.penalty.is_zero());
        let batches = ours.parts.iter().map(|part| (part.kept.len(), part.step.run.settings.data.batch));
        assert_eq!(batches.collect::<Vec<_>>(), [(5, 32), (2, 48)]);
        let other = quick(&[("inference_batch", "32")]);
        assert_ne!(measured(&quick(&[]), Row::CNN).settings(), measured(&other, Row::CNN).settings());
    }
}
