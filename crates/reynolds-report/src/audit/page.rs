//! The audit as one page that opens from disk: a bar for each layer, columns that sort, nothing from a network.

use super::{
    AuditReport, KernelPicture, RANKING, Typed, all_layers, by_reason, fields_to_try, number, share, tables, typing,
};
use crate::Report;
use crate::escape::escape;
use reynolds::audit::LayerAudit;

const LEGEND: &str = "The bar is the energy ‖P(W)‖²/‖W‖². Its mark is the energy to expect by chance: red for the same magnitudes with \
    random signs (chance), or orange for dim Hom_G/dim Hom (dim) where random signs are not known. excess = (energy − chance)/(1 − chance), \
    with the chance that is marked; totals likewise. Click a head to sort.";

const WORST: &str = "worst = largest defect over the group, or over the subgroup that its cell names, in kernel-Frobenius norm, not an \
    operator bound; a range is a proven bracket.";

/// Irreps of a defect that are shown.
const SHARES: usize = 3;

impl AuditReport {
    /// The audit as a page.
    pub fn page(&self) -> Report {
        let mut page = Report::new(format!("Audit of {}", self.file));
        page.verdict(&self.verdict());
        for typed in &self.typed {
            of_typing(&mut page, typed, &self.pictures);
        }
        for ranking in &self.rankings {
            page.section(format!("Which symmetry? {}", ranking.what)).text(ranking.verdict()).note(RANKING);
            if let Some(hint) = fields_to_try(ranking) {
                page.text(hint);
            }
            page.table(tables::candidates(ranking)).table(tables::found(ranking));
        }
        if !self.typed.is_empty() {
            page.section("How to read this").text(LEGEND).note(WORST);
        }
        page
    }
}

/// A cell for each layer, the bluer the further its energy is above chance.
fn strip(typed: &Typed) -> String {
    let cell = |layer: &&LayerAudit| {
        let (name, excess) = (escape(&layer.tensor.name), layer.excess());
        format!("<i style=\"--e:{:.0}%\" title=\"{name}: excess {excess:.4}\"></i>", 100.0 * excess.clamp(0.0, 1.0))
    };
    let shown: Vec<&LayerAudit> = typed.layers.iter().filter(|layer| layer.counts()).collect();
    let cells: String = shown.iter().map(cell).collect();
    match shown.len() {
        0 => String::new(),
        count => format!(
            "<div class=\"strip\" role=\"img\" aria-label=\"excess of {count} layers, the first on the left\">{cells}</div>\n"
        ),
    }
}

fn of_typing(page: &mut Report, typed: &Typed, pictures: &[KernelPicture]) {
    let total = &typed.total;
    let [energy, chance, dim] =
        [total.energies.ratio(), total.chance, total.dimension_share].map(|value| share(total.energy().map(|_| value)));
    let [excess, distance] = [share(total.excess()), number(total.energies.perp.sqrt())];
    page.section(format!("{}, {}", typed.group, typing(&typed.fields)));
    page.text(format!(
        "{}: energy {energy}, chance {chance}, dim {dim}, excess {excess}, ‖W−P(W)‖ {distance}",
        all_layers(total)
    ));
    page.html_block(&strip(typed));
    let own = pictures.iter().filter(|picture| picture.typing == [typed.group.as_str(), typed.fields.as_str()]);
    let drawn: String = own.map(KernelPicture::html).collect();
    if !drawn.is_empty() {
        page.html_block(&format!("<div class=\"kernels\">\n{drawn}</div>\n"));
    }
    // What the group fixes says nothing, and comes last.
    let (fixed, moved): (Vec<_>, Vec<_>) = typed.layers.iter().partition(|layer| layer.tensor.acts_trivially());
    page.table(tables::layers(typed, moved.into_iter().chain(fixed), SHARES));
    for layer in &typed.layers {
        for note in &layer.notes {
            page.note(format!("{}: {note}", layer.tensor.name));
        }
    }
    for line in by_reason(&typed.untyped) {
        page.note(format!("not measured: {line}"));
    }
}
