//! The numbers and the figure of generated shapes.

use super::{At, Pairs, sweep};
use crate::medmnist::networks::Symmetry;
use crate::medmnist::rows::{Strengths, group_head, group_name};
use crate::medmnist::table::cells::share;
use crate::medmnist::table::settings::ShapesSettings;
use crate::medmnist::table::tables::{over, strength};
use crate::targets::Named;
use crate::targets::curves::{field, sheet};
use crate::targets::findings::Figure;
use crate::targets::sample::Sample;
use reynolds_report::Table;
use reynolds_report::figure::{Colour, Key, LineChart};

/// Colours of lines, the less broken the lighter.
const COLOURS: [Colour; 5] = [
    Colour(0x8c, 0xcd, 0xf1),
    Colour(0x00, 0x9e, 0x73),
    Colour(0x00, 0x5a, 0xa0),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x33, 0x33, 0x33),
];

/// All numbers.
pub(super) fn table(settings: &ShapesSettings, all: &[At<'_>]) -> Table {
    let mut table = Table::new([
        "row",
        "breaking",
        "λ_⊥",
        "accuracy",
        "rotation pairs",
        "reflection pairs",
        "solids",
        "validation",
        "validation loss",
        "defect",
    ]);
    table.caption(format!(
        "generated shapes, {}; accuracy on pairs is that of the larger of the two logits of the pair; guessing has one half",
        over(settings.seeds)
    ));
    for at in all {
        let perp = if at.cell.row.is_ours() { strength(at.cell.strengths.lambda_perp) } else { "–".into() };
        table.row([
            at.cell.row.label(),
            at.breaking.to_string(),
            perp,
            at.cell.text(),
            share(&at.pairs(Pairs::Rotation)),
            share(&at.pairs(Pairs::Reflection)),
            share(&at.cell.test("pairs/solid")),
            share(&at.validation("accuracy")),
            share(&at.validation("loss")),
            share(&at.cell.test("defect")),
        ]);
    }
    table
}

/// The same for programs.
pub(super) fn csv(all: &[At<'_>]) -> String {
    let mut csv = "row,group,breaking,learning_rate,lambda_g,lambda_perp,seeds,trained,accuracy_mean,accuracy_sd,rotation_mean,rotation_sd,\
                   reflection_mean,reflection_sd,solids_mean,solids_sd,validation_mean,validation_sd,validation_loss_mean,validation_loss_sd,defect_mean,defect_sd\n"
        .to_string();
    for at in all {
        let Strengths { learning_rate, lambda_g, lambda_perp } = at.cell.strengths;
        csv += &format!(
            "{},{},{},{learning_rate},{lambda_g},{lambda_perp},{},{}",
            at.cell.row.name(),
            group_name(at.cell.row.group),
            at.breaking,
            at.cell.runs.len(),
            at.cell.is_trained()
        );
        let samples = [
            at.cell.accuracy(),
            at.pairs(Pairs::Rotation),
            at.pairs(Pairs::Reflection),
            at.cell.test("pairs/solid"),
            at.validation("accuracy"),
            at.validation("loss"),
            at.cell.test("defect"),
        ];
        let numbers = samples.iter().flat_map(|sample| [sample.mean(), sample.deviation()]);
        csv += &(numbers.map(field).collect::<String>() + "\n");
    }
    csv
}

/// Over λ_⊥, a line for each breaking.
fn panel(
    settings: &ShapesSettings,
    all: &[At<'_>],
    group: Symmetry,
    axis: &str,
    sample: impl Fn(&At<'_>) -> Sample,
) -> LineChart {
    let places = settings.lambda_perp.increasing();
    let mut chart = LineChart::new("λ_⊥", axis);
    chart.from_anywhere();
    for (breaking, colour) in settings.breakings.increasing().into_iter().zip(COLOURS.into_iter().cycle()) {
        let line = sweep(all, group, breaking);
        let place = |at: &At<'_>| {
            places.iter().position(|perp| *perp == at.cell.strengths.lambda_perp).unwrap_or_default() as f64
        };
        let points: Vec<[f64; 2]> = line.iter().map(|at| [place(at), sample(at).mean()]).collect();
        let bars: Vec<f64> = line.iter().map(|at| sample(at).deviation()).collect();
        chart.line_with_bars(&points, &bars, colour, false);
    }
    chart.ticks(places.iter().enumerate().map(|(place, &perp)| (place as f64, strength(perp))).collect());
    chart
}

/// Accuracy and validation loss of ours, two panels for each group.
pub(super) fn figure(settings: &ShapesSettings, all: &[At<'_>]) -> Figure {
    let mut sheet = sheet();
    for group in settings.groups.iter() {
        let title = format!("{} ours", group_head(group));
        let accuracy = panel(settings, all, group, "test accuracy", |at| at.cell.accuracy());
        let loss = panel(settings, all, group, "validation loss", |at| at.validation("loss"));
        sheet.add(title.clone(), accuracy, Vec::new());
        sheet.add(title, loss, Vec::new());
    }
    let keys = settings.breakings.increasing().into_iter().zip(COLOURS.into_iter().cycle());
    sheet.legend = keys.map(|(breaking, colour)| Key::Line(colour, false, format!("breaking {breaking}"))).collect();
    let caption = format!(
        "Test accuracy and validation loss on generated shapes over λ_⊥, {}, for shapes whose symmetry is broken by 0 (not at all) to 1.",
        over(settings.seeds)
    );
    Figure { name: "fig-shapes", svg: sheet.svg(), caption }
}
