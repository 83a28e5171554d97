//! `fig-projection`: a dense matrix, after the mask, after averaging, for any group and fields.
//!
//! ```text
//! W  ──mask──►  M ⊙ W  ──average within each block──►  P(W)
//! ```
//!
//! All in the basis of irreps, equal irreps side by side; complex matrices by their moduli.

use std::sync::Arc;

use faer::c64;
use reynolds::group::{self, GroupRef};
use reynolds::irrep::Irrep;
use reynolds::irreps::Irreps;
use reynolds::projection::{Blocks, Dimensions, HaarProjector, KernelSpace, Projector};
use reynolds::random::Random;
use reynolds::rep::{self, Rep, Representation};
use reynolds::scalar::{Scalar, Weight};

use crate::targets::findings::{Figure, Findings};
use crate::targets::point::{Frame, Point};
use crate::targets::sample::three_digits;
use crate::targets::{Budget, Target};
use reynolds_report::csv::Field;
use reynolds_report::figure::{HeatMap, Shading, Sheet};
use reynolds_report::{Check, Csv, Table};
use reynolds_train::config::Settings;
use reynolds_train::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// With more channels cells are too small to see.
const MAX_CHANNELS: usize = 64;

/// Longer side of a panel.
const SIDE: f64 = 210.0;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProjectionSettings {
    /// As in plans.
    group: String,
    /// Fields of the input channels; "" = the first of [`FIELDS`] that the group has.
    domain: String,
    /// Fields of the output channels; "" = the same.
    codomain: String,
    /// Of the entries of W.
    seed: u64,
}

impl Settings for ProjectionSettings {}

impl ProjectionSettings {
    /// Fields of input and output: as given, or the defaults.
    fn fields(&self, group: &GroupRef) -> Result<[String; 2]> {
        let fits = |text: &&&str| rep::parse_fields(group, text).is_ok_and(|fields| fields.dim() <= MAX_CHANNELS);
        let of = |key: &str, given: &String| match FIELDS.iter().find(fits) {
            _ if !given.is_empty() => Ok(given.clone()),
            Some(usual) => Ok(usual.to_string()),
            None => {
                let expected = format!("fields of {} with at most {MAX_CHANNELS} channels", self.group);
                Err(Error::config(key, expected, "none given"))
            }
        };
        Ok([of("domain", &self.domain)?, of("codomain", &self.codomain)?])
    }
}

/// Paper: `fig:irreps_projection_sketch`.
pub(crate) struct Projection;

impl Target for Projection {
    type Settings = ProjectionSettings;

    fn name(&self) -> &'static str {
        "fig-projection"
    }

    fn about(&self) -> &'static str {
        "a dense matrix, after the mask, after averaging (fig:irreps_projection_sketch)"
    }

    fn settings(&self, _: Budget) -> ProjectionSettings {
        ProjectionSettings { group: "SO3".into(), domain: String::new(), codomain: String::new(), seed: 0 }
    }

    fn points(&self, settings: &ProjectionSettings) -> Result<Vec<Box<dyn Point>>> {
        sketch(settings)?;
        Ok(Vec::new())
    }

    fn findings(&self, settings: &ProjectionSettings, _: &Frame) -> Result<Findings> {
        let (sketch, [domain, codomain]) = sketch(settings)?;
        let mut table =
            Table::new([format!("matrix, {domain} → {codomain}").as_str(), "free numbers", "share of ‖W‖²"]);
        let mut csv = Csv::new(["matrix", "free_numbers", "energy_share"]);
        for Step { name, file, free, share, .. } in &sketch.steps {
            table.row([name.to_string(), free.to_string(), format!("{share:.4}")]);
            csv.row([Field::from(*file), Field::from(*free), Field::from(*share)]);
        }
        let caption = format!(
            "A dense map W of {} from \"{domain}\" to \"{codomain}\", in the basis of irreps; what the mask leaves; what averaging makes of that. Blue is \
             above zero, red below.",
            settings.group
        );
        Ok(Findings {
            tables: vec![table],
            csv: csv.to_string(),
            figures: vec![Figure { name: "fig-projection", svg: sketch.svg(), caption }],
            checks: sketch.checks,
            notes: vec![
                "Entries of W are standard normal. The mask keeps what couples equivalent irreps; averaging projects each block onto the \
                 maps that commute with its irrep: multiples of the identity where that is of real type. Both together are the Haar \
                 average of W over the group, against which they are checked here."
                    .into(),
            ],
            ..Findings::default()
        })
    }
}

/// The three matrices, and the fields that they map between.
fn sketch(settings: &ProjectionSettings) -> Result<(Sketch, [String; 2])> {
    let group = group::parse(&settings.group)?;
    let texts = settings.fields(&group)?;
    let complex = texts.iter().any(|text| text.parse::<Irreps>().is_ok_and(|irreps| irreps.is_complex()));
    let sketch = if complex {
        let read = |text: &String| -> Result<Rep<c64>> { Ok(text.parse::<Irreps>()?.complex_rep(&group)?) };
        let fields = [read(&texts[0])?, read(&texts[1])?];
        Sketch::new(&group, fields, settings.seed, |value: c64| value.re.hypot(value.im))
    } else {
        let fields = [rep::parse_fields(&group, &texts[0])?, rep::parse_fields(&group, &texts[1])?];
        Sketch::new(&group, fields, settings.seed, |value: f64| value)
    };
    Ok((sketch?, texts))
}

/// Default fields, in the order of preference.
const FIELDS: [&str; 7] =
    ["4x0 + 3x1 + 2x2", "4x0e + 3x1o + 2x2e", "2 regular", "1 regular", "3 permutation", "1 permutation", "4 trivial"];

/// One matrix of the three.
struct Step {
    name: &'static str,
    file: &'static str,
    /// Number of free parameters.
    free: usize,
    /// ‖·‖², relative to the first matrix.
    share: f64,
    shown: Vec<f64>,
}

struct Sketch {
    steps: [Step; 3],
    rows: Fields,
    columns: Fields,
    checks: Vec<Check>,
}

/// Equal irreps side by side: label, copies, dimension.
struct Fields(Vec<(String, usize, usize)>);

impl Fields {
    /// Where each kind of irrep ends, except the last.
    fn ends(&self) -> Vec<usize> {
        let mut end = 0;
        let ends = self.0[..self.0.len() - 1].iter().map(|(_, copies, dim)| {
            end += copies * dim;
            end
        });
        ends.collect()
    }

    /// A label at the middle of each kind of irrep: copies, x, irrep.
    fn labels(&self) -> Vec<String> {
        let texts = self.0.iter().flat_map(|(label, copies, dim)| {
            let label = label.strip_prefix("irrep(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(label);
            let (width, text) = (copies * dim, format!("{copies}x{label}"));
            (0..width).map(move |place| if place == (width - 1) / 2 { text.clone() } else { String::new() })
        });
        texts.collect()
    }
}

/// The representation in the basis of irreps, in the order of `order`, to which new irreps are added.
fn sorted<F: Scalar>(group: &GroupRef, rep: &Rep<F>, order: &mut Vec<Arc<Irrep<F>>>) -> Result<(Rep<F>, Fields)> {
    let parts = rep::decompose(rep)?;
    let labels: Vec<String> = parts.irreps().map(|(irrep, _)| irrep.label()).collect();
    for (irrep, _) in parts.irreps() {
        if !order.iter().any(|known| known.label() == irrep.label()) {
            order.push(irrep.clone());
        }
    }
    let kinds = order.iter().map(|irrep| (irrep, labels.iter().filter(|label| **label == irrep.label()).count()));
    let kinds: Vec<_> = kinds.filter(|(_, copies)| *copies > 0).collect();
    let summands: Vec<(usize, Rep<F>)> =
        kinds.iter().map(|(irrep, copies)| (*copies, Rep::from(Irrep::clone(irrep)))).collect();
    let fields = kinds.iter().map(|(irrep, copies)| (irrep.label(), *copies, irrep.dim())).collect();
    Ok((rep::sum(group, &summands)?, Fields(fields)))
}

impl Sketch {
    fn new<F: Scalar + Weight>(
        group: &GroupRef,
        [domain, codomain]: [Rep<F>; 2],
        seed: u64,
        show: impl Fn(F) -> f64,
    ) -> Result<Self>
    where
        Blocks<F>: Projector<F>,
    {
        for (key, fields) in [("domain", &domain), ("codomain", &codomain)] {
            if !(1..=MAX_CHANNELS).contains(&fields.dim()) {
                let expected = format!("1 to {MAX_CHANNELS} channels");
                return Err(Error::config(key, expected, fields.dim()));
            }
        }
        let mut order = Vec::new();
        let (domain, columns) = sorted(group, &domain, &mut order)?;
        let (codomain, rows) = sorted(group, &codomain, &mut order)?;
        let space = KernelSpace::dense(&domain, &codomain)?;
        let matrix = Random::at(seed, &[]).matrix::<F>(codomain.dim(), domain.dim());
        let dense: Vec<F> =
            (0..codomain.dim()).flat_map(|o| (0..domain.dim()).map(move |i| (o, i))).map(|at| matrix[at]).collect();
        let blocks = Blocks::derive(&space)?;
        let mask = blocks.mask();
        let masked: Vec<F> = dense.iter().zip(&mask).map(|(&w, &kept)| if kept { w } else { F::ZERO }).collect();
        let averaged = blocks.project(&dense)?;
        let energy = |values: &[F]| values.iter().map(|value| Scalar::abs_sq(*value)).sum::<f64>();
        let size = energy(&dense).sqrt();
        let distance =
            |a: &[F], b: &[F]| energy(&a.iter().zip(b).map(|(&a, &b)| a - b).collect::<Vec<_>>()).sqrt() / size;
        let within =
            |claim: &str, distance: f64| Check::new(claim, distance <= 1e-12, format!("{distance:.1e} of ‖W‖ apart"));
        let haar = HaarProjector::new(&space)?.project(&dense)?;
        let checks = vec![
            within("mask and average are the Haar average over the group", distance(&averaged, &haar)),
            within("averaging needs nothing that the mask removes", distance(&blocks.project(&masked)?, &averaged)),
        ];
        let step = |name, file, free, values: &[F]| Step {
            name,
            file,
            free,
            share: energy(values) / (size * size),
            shown: values.iter().map(|&value| show(value)).collect(),
        };
        let kept = mask.iter().filter(|kept| **kept).count();
        let steps = [
            step("dense W", "dense", dense.len(), &dense),
            step("after the mask, M ⊙ W", "masked", kept, &masked),
            step("after averaging, P(W)", "averaged", blocks.rank(), &averaged),
        ];
        Ok(Self { steps, rows, columns, checks })
    }

    fn svg(&self) -> String {
        let (rows, columns) = (self.rows.labels(), self.columns.labels());
        let longer = rows.len().max(columns.len()) as f64;
        let mut sheet = Sheet::new(3, SIDE);
        sheet.panel = [SIDE * columns.len() as f64 / longer, SIDE * rows.len() as f64 / longer];
        let room =
            |labels: &[String]| 8.0 + 4.7 * labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) as f64;
        (sheet.shared_axes, sheet.label_room) = (false, room(&rows));
        let narrowest = self.columns.0.iter().map(|(_, copies, dim)| copies * dim).min().unwrap_or(1) as f64;
        let turned = narrowest * sheet.panel[0] / (columns.len() as f64) < room(&columns);
        if turned {
            sheet.tick_room = room(&columns);
        }
        let mut sizes: Vec<f64> = self.steps[0].shown.iter().map(|value| value.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        // Averages are smaller than the entries of W: the deepest colours begin below the largest entry.
        let scale = sizes[sizes.len() * 4 / 5];
        for step in &self.steps {
            let map = HeatMap::new(columns.len(), step.shown.clone(), Shading::Diverging { scale })
                .labels(rows.clone(), columns.clone())
                .turned(turned)
                .groups(self.rows.ends(), self.columns.ends());
            let caption = format!("{} free numbers, {} of ‖W‖²", step.free, three_digits(step.share));
            sheet.add(step.name, map, vec![caption]);
        }
        sheet.svg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(group: &str, domain: &str, codomain: &str) -> Result<Findings> {
        let (group, domain, codomain) = (group.into(), domain.into(), codomain.into());
        let settings = ProjectionSettings { group, domain, codomain, seed: 0 };
        Projection.points(&settings)?;
        Projection.findings(&settings, &Frame::default())
    }

    #[test]
    fn every_group_has_fields_to_be_shown_by() {
        for name in ["C1", "C4", "D4", "S5", "Oh", "Z4", "C2 x C2", "SO2", "O2", "SO3", "O3"] {
            let settings = ProjectionSettings { group: name.into(), ..Projection.settings(Budget::Quick) };
            assert!(sketch(&settings).is_ok(), "{name}: {:?}", sketch(&settings).err());
        }
    }

    #[test]
    fn mask_and_average_are_the_haar_average_for_many_groups() {
        for (group, domain, codomain, free) in [
            ("SO3", "4x0 + 3x1 + 2x2", "4x0 + 3x1 + 2x2", 16 + 9 + 4),
            ("SO2", "2x(-2..2)", "3x(-2..2)", 5 * 6),
            ("D4", "2 regular", "1 regular + 2 trivial", 8 * 2 + 2 * 2),
            ("C3", "irrep(1)", "irrep(1)", 2),
        ] {
            let findings = found(group, domain, codomain).unwrap();
            assert!(findings.checks.iter().all(Check::is_held), "{group}: {:?}", findings.checks);
            assert!(findings.csv.contains(&format!("averaged,{free},")), "{group}: {}", findings.csv);
        }
    }

    #[test]
    fn the_committed_table_is_what_comes_of_the_default_settings() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/so2/fig-projection/table.csv");
        let findings = Projection.findings(&Projection.settings(Budget::Full), &Frame::default()).unwrap();
        let numbers = |text: &str| -> Vec<Vec<String>> {
            // The last digits of sums of squares depend on the processor.
            let rounded = |field: &str| field.parse().map_or(field.into(), |number: f64| format!("{number:.12}"));
            text.lines().map(|line| line.split(',').map(rounded).collect()).collect()
        };
        assert_eq!(numbers(&findings.csv), numbers(&std::fs::read_to_string(file).unwrap()));
    }

    #[test]
    fn fields_that_do_not_fit_are_errors() {
        assert!(found("SO3", "99x0", "1x0").unwrap_err().to_string().contains("domain: expected 1 to 64 channels"));
        assert!(found("K4", "1 regular", "1 regular").is_err());
        assert!(found("C4", "1 irregular", "1 regular").is_err());
    }

    #[test]
    fn lines_and_labels_stand_at_the_irreps() {
        let fields = Fields(vec![("0".into(), 2, 1), ("1".into(), 1, 3)]);
        assert_eq!(fields.ends(), [2]);
        assert_eq!(fields.labels(), ["2x0", "", "", "1x1", ""]);
        assert_eq!(Fields(vec![("irrep(1)".into(), 3, 1)]).labels(), ["", "3x1", ""]);
    }
}
