//! The figures of the plane: models row by row in both forms of the penalty, each with several seeds; one table of all.

use reynolds::penalty::Form;
use reynolds_report::Check;
use reynolds_report::figure::{Colour, Field, Plane, Sheet};
use reynolds_train::config::{self, PenaltyStep, RunConfig};
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;

use super::experiment::{COLOUR_BAR, legend};
use super::spec::{Spec, form_name};
use super::{FigureSettings, Network, PlaneData, PlaneExperiment, PlaneSettings, PlaneTask, REACH, SIDE};
use crate::targets::columns::{Column, csv, table};
use crate::targets::findings::{Figure, Findings};
use crate::targets::judge::over_seeds;
use crate::targets::point::{Frame, Point};
use crate::targets::sample::{Sample, three_digits};
use crate::targets::{Budget, Target, boxed};

/// Both forms, the paper's first.
pub(super) const FORMS: [Form; 2] = [Form::Plain, Form::Squared];

/// Lists the models of a figure for a form and a seed.
type Models<D> = fn(&PlaneFigure<D>, &FigureSettings<D>, Form, u64) -> Vec<Spec<D>>;

/// A figure of the plane.
pub(crate) struct PlaneFigure<D: PlaneData> {
    pub(super) name: &'static str,
    /// The name of the figure of the squared form.
    pub(super) squared: &'static str,
    pub(super) about: &'static str,
    /// λ_⊥ of the rows; empty for a single row.
    pub(super) rows: &'static [f64],
    /// Above the columns.
    pub(super) titles: fn() -> Vec<String>,
    /// The models of a form and a seed, row by row.
    pub(super) models: Models<D>,
    /// Further models of a seed: a baseline for each column, or models to compare with weight decay.
    pub(super) besides: fn(&FigureSettings<D>, u64) -> Vec<Spec<D>>,
    /// With a placeholder {form}.
    pub(super) caption: &'static str,
    /// Note for readers beside those of all figures, or "".
    pub(super) note: &'static str,
    pub(super) checks: fn(&Measured<'_, D>) -> Vec<Check>,
    /// A further figure.
    pub(super) more: fn(&Self, &FigureSettings<D>, &Frame) -> Option<Figure>,
}

/// The trained models of one form.
pub(super) struct Measured<'a, D: PlaneData> {
    pub(super) frame: &'a Frame,
    pub(super) settings: &'a FigureSettings<D>,
    pub(super) form: Form,
    /// Row by row, of the first seed.
    pub(super) models: Vec<Spec<D>>,
}

impl<D: PlaneData> Measured<'_, D> {
    /// The mean of a metric over seeds, model by model.
    pub(super) fn means(&self, metric: &str) -> Vec<f64> {
        self.models.iter().map(|spec| spec.over_seeds(self.frame, self.settings.seeds, metric).mean()).collect()
    }

    /// The form of the penalty, and whether it is decoupled, as claims name it.
    pub(super) fn name(&self) -> &'static str {
        form_name(self.form, self.settings.run.penalty.step)
    }

    /// A claim about means over seeds.
    pub(super) fn check(&self, claim: String, held: bool, found: String) -> Check {
        Check::new(claim, over_seeds(self.settings.seeds as usize, held), found)
    }
}

impl<D: PlaneData> Target for PlaneFigure<D> {
    type Settings = FigureSettings<D>;

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn settings(&self, budget: Budget) -> Self::Settings {
        FigureSettings::of_budget(budget)
    }

    /// The seeds, the epochs, and what differs from the experiment's defaults.
    fn shown(&self, settings: &Self::Settings) -> Vec<(String, String)> {
        let epochs = settings.run.train.epochs;
        let first = [("seeds", settings.seeds.to_string()), ("train.epochs", epochs.to_string())];
        let changed = config::changed(&settings.run, &PlaneExperiment::<D>::new().defaults());
        let rest = changed.into_iter().filter(|(key, _)| key != "train.epochs");
        first.into_iter().map(|(key, value)| (key.to_string(), value)).chain(rest).collect()
    }

    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>> {
        let of = |seed: u64| {
            let models = FORMS.into_iter().flat_map(move |form| (self.models)(self, settings, form, seed));
            models.chain((self.besides)(settings, seed))
        };
        Ok(boxed(settings.all_seeds().flat_map(of)))
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings> {
        let first = settings.run.seed;
        let mut findings = Findings { notes: notes(&settings.run), ..Findings::default() };
        findings.notes.extend((!self.note.is_empty()).then(|| self.note.to_string()));
        let baselines: Vec<Spec<D>> = (self.besides)(settings, first).into_iter().filter(|spec| !spec.decay).collect();
        let mut rows = Vec::new();
        for form in FORMS {
            let models = (self.models)(self, settings, form, first);
            rows.extend(models.clone());
            findings.figures.push(self.figure(settings, frame, form, &models, &baselines)?);
            findings.checks.extend((self.checks)(&Measured { frame, settings, form, models }));
        }
        findings.figures.extend((self.more)(self, settings, frame));
        rows.extend(baselines);
        let with_sigma = rows.iter().any(|spec| spec.run.settings.data.sigma().is_some());
        let mut columns = columns(frame, settings.seeds);
        findings.csv = csv(&columns, &rows);
        columns.retain(|column| column.head() != "seeds" && (with_sigma || column.head() != "σ_⊥"));
        let mut table = table(&columns, &rows);
        table.caption(format!("mean ± standard deviation over {} seeds", settings.seeds));
        findings.tables.push(table);
        Ok(findings)
    }
}

impl<D: PlaneData> PlaneFigure<D> {
    /// A panel for each model; the boundary of the baseline of its column in orange.
    fn figure(
        &self,
        settings: &FigureSettings<D>,
        frame: &Frame,
        form: Form,
        models: &[Spec<D>],
        baselines: &[Spec<D>],
    ) -> Result<Figure> {
        let titles = (self.titles)();
        let mut sheet = Sheet::new(titles.len(), 150.0);
        for (index, spec) in models.iter().enumerate() {
            let title = titles.get(index).cloned().unwrap_or_default();
            let plane = plane(frame, spec, baselines.get(index % titles.len()))?;
            sheet.add(title, plane, caption(frame, spec, settings.seeds));
        }
        sheet.row_heads = self.rows.iter().map(|perp| format!("λ_⊥ = {perp}")).collect();
        sheet.legend = legend(!baselines.is_empty());
        sheet.colour_bar = COLOUR_BAR.into();
        let caption = format!(
            "{} Seed 0; below each panel the network's numbers, mean ± standard deviation over {} seeds.",
            self.caption.replace("{form}", form_name(form, settings.run.penalty.step)),
            settings.seeds
        );
        let name = if form == Form::Squared { self.squared } else { self.name };
        Ok(Figure { name, svg: sheet.svg(), caption })
    }
}

/// The columns of all tables; a row is a model with all its seeds.
fn columns<D: PlaneData>(frame: &Frame, seeds: u64) -> Vec<Column<'_, Spec<D>>> {
    type SpecColumn<'a, D> = Column<'a, Spec<D>>;
    let held = |spec: &Spec<D>| spec.run.settings.model.network == Network::So2;
    let strength = |which: fn((f64, f64)) -> f64| move |spec: &Spec<D>| held(spec).then(|| which(spec.strengths()));
    let metric = |name: &'static str, head: &str| {
        let field = name.replace('/', "_");
        SpecColumn::sample(field, move |spec: &Spec<D>| spec.over_seeds(frame, seeds, name)).headed(head)
    };
    let network = move |spec: &Spec<D>| if held(spec) { "so2" } else { "mlp" };
    vec![
        SpecColumn::new("sigma", |spec: &Spec<D>| spec.run.settings.data.sigma())
            .format(|sigma| sigma.to_string())
            .headed("σ_⊥"),
        SpecColumn::new("network", network),
        SpecColumn::new("form", move |spec: &Spec<D>| held(spec).then(|| spec.form_name())).headed("penalty"),
        SpecColumn::new("lambda_g", strength(|(g, _)| g)).format(|g| g.to_string()).headed("λ_G"),
        SpecColumn::new("lambda_perp", strength(|(_, perp)| perp)).format(|perp| perp.to_string()).headed("λ_⊥"),
        SpecColumn::new("seeds", move |_: &Spec<D>| seeds as usize),
        metric("train/accuracy", "train accuracy %").format(percent),
        metric("test/accuracy", "test accuracy %").format(percent),
        metric("test/invariance_error_sum", "ℰ_emp"),
        metric("test/invariance_error_mean", "mean invariance error"),
        metric("test/invariance_error_relative", "relative invariance error"),
    ]
}

/// How the numbers were measured, and our choices where the paper gives none.
fn notes<D: PlaneData>(run: &RunConfig<PlaneSettings<D>>) -> Vec<String> {
    let epochs = run.train.epochs;
    let mut notes = vec![
        format!(
            "Each model: 350 points of each class, 80 % of them trained on in one minibatch, binary cross-entropy, Adam at 0.003 for \
             {epochs} epochs; harmonics up to degree 4, 4 radial and 16 hidden channels, complex weights from N(0, 1/(2·inputs)) in each \
             part. Seeds 0, 1, … decide points, initial weights and turns; models that differ in λ alone start from the same weights on \
             the same points."
        ),
        "Defects are taken over the 140 test points and 64 random turns: ℰ_emp = Σ |T(gx) − T(x)|, its mean over points and turns, and \
         the mean divided by the standard deviation of T over the test points. Only the last can be compared between models whose \
         logits differ in size. The defects of training points in results.json are over the first 8 turns."
            .into(),
        "plain: λ_G Σ‖W‖ + λ_⊥ Σ‖W − P(W)‖ as in section 4.1 of the paper. squared: λ_G Σ‖P(W)‖² + λ_⊥ Σ‖W − P(W)‖² as in section 3. \
         Panels show seed 0; captions give mean ± standard deviation over all seeds."
            .into(),
    ];
    if run.penalty.step == PenaltyStep::Decoupled {
        let scaled = "; in the plain form λ_G is multiplied by √(real dimension of W) and λ_⊥ by √(real dimension of the complement)";
        let scaled = if run.penalty.scale { scaled } else { "" };
        notes.push(format!(
            "decoupled: in place of its gradient, the proximal map of the penalty is applied to the weights after every step of Adam, with the \
             learning rate of that step{scaled}. Strengths are not comparable with those of the gradient."
        ));
    }
    notes
}

/// Level sets, boundary and training points of a drawn model; the boundary of a second one in orange.
fn plane<D: PlaneData>(frame: &Frame, spec: &Spec<D>, second: Option<&Spec<D>>) -> Result<Plane> {
    let field = |spec: &Spec<D>| Field::square(REACH, SIDE, spec.logits(frame));
    let ours = field(spec);
    let (train, _) = PlaneTask::points(&spec.run.settings.data.data(), spec.run.seed)?;
    let mut plane = Plane::new(REACH);
    plane.level_sets(&ours, ours.magnitude_quantile(0.95)).points(train.points(), train.labels());
    if let Some(second) = second {
        plane.boundary(&field(second), Colour::ORANGE, true);
    }
    plane.boundary(&ours, Colour::NAVY, false);
    Ok(plane)
}

/// The lines below a panel.
fn caption<D: PlaneData>(frame: &Frame, spec: &Spec<D>, seeds: u64) -> Vec<String> {
    let over = |metric: &str| spec.over_seeds(frame, seeds, metric);
    let accuracy: Sample = over("test/accuracy");
    vec![
        format!("ℰ_{{emp}} = {}", over("test/invariance_error_sum")),
        format!("relative {}", over("test/invariance_error_relative")),
        format!("accuracy {} ± {} %", percent(accuracy.mean()), percent(accuracy.deviation())),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// Numbers in a row, as a check shows them.
pub(super) fn listed(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().map(three_digits).collect::<Vec<_>>().join(" ")
}

/// Whether each number is less than the one before it.
pub(super) fn falls(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[1] < pair[0])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::so2::{fig_rings, fig_so2};
    use crate::targets::synthetic::{agrees_with_committed, trained};

    /// The verdicts of a figure for models of one form with given metrics.
    pub(crate) fn verdicts<D: PlaneData, const N: usize>(
        figure: &PlaneFigure<D>,
        form: Form,
        metrics: impl Fn(&Spec<D>) -> [(&'static str, f64); N],
    ) -> Vec<bool> {
        let settings = FigureSettings { seeds: 2, ..figure.settings(Budget::Quick) };
        let models = (figure.models)(figure, &settings, form, 0);
        let of =
            |seed| (figure.models)(figure, &settings, form, seed).into_iter().chain((figure.besides)(&settings, seed));
        let frame = Frame::new(settings.all_seeds().flat_map(of).map(|spec| {
            let trained = trained(metrics(&spec));
            (spec, trained)
        }));
        let measured = Measured { frame: &frame, settings: &settings, form, models };
        (figure.checks)(&measured).iter().map(Check::is_held).collect()
    }

    #[test]
    fn falling_is_strict_and_needs_numbers() {
        assert!(falls(&[3.0, 2.0, 1.0]) && falls(&[1.0]));
        assert!(!falls(&[3.0, 3.0]) && !falls(&[1.0, 2.0]) && !falls(&[1.0, f64::NAN]));
    }

    #[test]
    fn the_committed_results_give_their_tables_byte_for_byte() {
        fn agrees<D: PlaneData>(figure: &PlaneFigure<D>, name: &str, step: &str) {
            let logits = (0..SIDE * SIDE).map(|place| place as f32 - 7000.0).collect();
            let (given, folder) = ([("penalty.step", step)], format!("so2/{name}"));
            agrees_with_committed(figure, Budget::Standard, &given, &folder, &[], &[("logits", logits)]);
        }
        agrees(&fig_so2::LAMBDA_PATH, "fig-so2", "gradient");
        agrees(&fig_so2::LAMBDA_PATH, "fig-so2-decoupled", "decoupled");
        agrees(&fig_so2::LAMBDA_GRID, "fig-so2-grid", "gradient");
        agrees(&fig_rings::ROW, "fig-rings", "gradient");
        agrees(&fig_rings::ROW, "fig-rings-decoupled", "decoupled");
        agrees(&fig_rings::GRID, "fig-rings-grid", "gradient");
    }
}
