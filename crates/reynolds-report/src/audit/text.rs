//! The audit on a terminal.

use super::{AuditReport, DEFECT_NOTE, RANKING, Typed, by_reason, fields_to_try, is_constant, tables, typing};
use std::collections::BTreeSet;

use crate::terminal::{printable, width};
use reynolds::audit::ranking::meaning;
use reynolds::plan::Untyped;

impl AuditReport {
    /// The audit for a terminal.
    pub fn text(&self, colour: bool) -> String {
        let (mut text, file) = (String::new(), printable(&self.file));
        if let Some(sampling) = self.strides() {
            text += &format!("{sampling}\n\n");
        }
        match self.typed.as_slice() {
            [trivial, regular] => {
                text += &format!(
                    "{file} under {}, channels taken for scalars (trivial) and for regular fields\n\
                     Neither is known: choose one with --fields, or type layers with --plan.\n\n",
                    trivial.group
                );
                text += &tables::side_by_side(trivial, regular).fitted(width()).text(colour);
            }
            typed => {
                for typed in typed {
                    text += &format!("{file} under {}, {}\n\n", typed.group, typing(&typed.fields));
                    let listed = typed.layers.iter().filter(|layer| !is_constant(layer));
                    text += &tables::layers(typed, listed, 1).row(tables::total(typed)).fitted(width()).text(colour);
                }
            }
        }
        if !self.typed.is_empty() {
            text += "\nenergy = ‖P(W)‖²/‖W‖²; chance = the energy to expect of the same magnitudes with random signs (higher where these are symmetric); \
                     excess = (energy − chance)/(1 − chance)\n";
        }
        if self.typed.len() == 1 {
            text += "dim = the energy to expect of Gaussian weights, to compare with where chance is empty; \
                     W−P(W) lies in = the largest part of what breaks the symmetry, by irreducible representation\n";
            text += &format!("{DEFECT_NOTE}\n");
        }
        for typed in &self.typed {
            text += &remarks(typed, self.typed.len() > 1);
        }
        for ranking in &self.rankings {
            text += &format!("\nWhich symmetry? {}\n{}\n", printable(&ranking.what), ranking.verdict());
            text += &fields_to_try(ranking).map_or("\n".into(), |hint| format!("{hint}\n\n"));
            text += &tables::candidates(ranking).fitted(width()).text(colour);
            if ranking.layers.len() > 1 {
                text += &format!("\n{}", tables::found(ranking).fitted(width()).text(colour));
            }
        }
        if !self.rankings.is_empty() {
            let groups: BTreeSet<&str> =
                self.rankings.iter().flat_map(|ranking| &ranking.groups).map(|row| row.group.as_str()).collect();
            let meanings: Vec<String> =
                groups.iter().filter_map(|group| Some(format!("{group}: {}", meaning(group)?))).collect();
            let meanings = if meanings.is_empty() { String::new() } else { format!("{}\n", meanings.join("; ")) };
            text += &format!("\n{meanings}{RANKING}\n");
        }
        text
    }
}

fn biases_are(count: usize) -> String {
    if count == 1 { "1 bias or norm parameter is".into() } else { format!("{count} biases and norm parameters are") }
}

fn remarks(typed: &Typed, name_fields: bool) -> String {
    let noted =
        typed.layers.iter().flat_map(|layer| layer.notes.iter().map(|note| format!("{}: {note}", layer.tensor.name)));
    let mut lines: Vec<String> = noted.collect();
    let constant = typed.layers.iter().filter(|layer| is_constant(layer)).count();
    if constant > 0 {
        lines.push(format!("{} equivariant already (constant inside fields)", biases_are(constant)));
    }
    let harmless = typed.untyped.iter().filter(|tensor| tensor.is_harmless()).count();
    if harmless > 0 {
        lines.push(format!("{} unchanged by the group (scalar channels)", biases_are(harmless)));
    }
    let others: Vec<Untyped> = typed.untyped.iter().filter(|tensor| !tensor.is_harmless()).cloned().collect();
    lines.extend(by_reason(&others).into_iter().map(|line| format!("not measured: {line}")));
    let prefix = if name_fields { format!("{}: ", typed.fields) } else { String::new() };
    let lines: String = lines.iter().map(|line| format!("{prefix}{}\n", printable(line))).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}
