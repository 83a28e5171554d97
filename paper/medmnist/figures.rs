//! The confusion matrix of a run.

use std::path::Path;

use super::metrics::Scored;
use super::task::MedTask;
use reynolds_checkpoint::whole_file;
use reynolds_report::figure::{HeatMap, Shading, Sheet};
use reynolds_train::error::{Error, Result};
use reynolds_train::task::Split;

/// Side of a cell, and the least of a panel.
const CELL: f64 = 30.0;
const PANEL: f64 = 150.0;

const LETTER: f64 = 5.2;

/// Draws "confusion.svg" of the test volumes into `folder`.
pub(super) fn draw(task: &MedTask, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
    let scored = task.scored(Split::Test)?;
    let title = format!("{}, {} test volumes", task.data().name, scored.count());
    let sheet = confusion_sheet(&title, &task.data().classes, &scored);
    Ok(whole_file::write(&folder.join("confusion.svg"), sheet.svg().as_bytes())?)
}

/// One panel: a row for each true class, shaded by its share, with the counts.
pub fn confusion_sheet(title: &str, classes: &[String], scored: &Scored) -> Sheet {
    let side = (CELL * classes.len() as f64).max(PANEL);
    let mut sheet = Sheet::new(1, side);
    let longest = classes.iter().map(|class| class.chars().count()).max().unwrap_or(0) as f64;
    (sheet.label_room, sheet.tick_room) = (10.0 + LETTER * longest, 10.0 + LETTER * longest);
    let caption = format!("rows: truth; columns: answer; right: {:.1} %", 100.0 * scored.accuracy());
    let counts: Vec<f64> = scored.confusion().into_iter().map(|count| count as f64).collect();
    sheet.add(title, confusion_map(classes, &counts), vec![caption]);
    sheet
}

/// Counts `[classes, classes]`, rows the truth, shaded by their share of the row.
pub(super) fn confusion_map(classes: &[String], counts: &[f64]) -> HeatMap {
    let share = |row: &[f64]| {
        let all = row.iter().sum::<f64>().max(1.0);
        row.iter().map(|count| count / all).collect::<Vec<_>>()
    };
    let shares = counts.chunks(classes.len()).flat_map(share).collect();
    HeatMap::new(classes.len(), shares, Shading::Linear { high: 1.0 })
        .numbers(counts.iter().map(|count| format!("{count:.0}")).collect())
        .labels(classes.to_vec(), classes.to_vec())
        .turned(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_and_every_class_is_drawn() {
        let classes = ["liver".to_string(), "heart".to_string()];
        let scored = Scored::new(2, [[2.0, 1.0], [0.0, 1.0], [0.0, 1.0]].concat(), vec![0, 0, 1]);
        let svg = confusion_sheet("organs, 3 test volumes", &classes, &scored).svg();
        for (text, times) in [(">1</text>", 3), (">0</text>", 1), (">liver</text>", 2), (">heart</text>", 2)] {
            assert_eq!(svg.matches(text).count(), times, "{text} in {svg}");
        }
        assert!(svg.contains("organs, 3 test volumes") && svg.contains("right: 66.7 %"), "{svg}");
    }
}
