//! The audit as one page that opens from disk: a bar for each layer, columns that sort, nothing from a network.

use std::fmt::Write;

use reynolds::audit::{LayerAudit, Share};

use super::{AuditReport, RankSection, bracket, by_reason, fields, number, shape};

const HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>reynolds audit</title>
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 96em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100%; margin: 1em 0 }
th, td { padding: .25em .6em; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
th { cursor: pointer; user-select: none; border-bottom: 2px solid #888 }
td:last-child { white-space: normal }
.bar { position: relative; min-width: 8em; height: 1em; background: #eee }
.bar i { position: absolute; left: 0; top: 0; bottom: 0; background: #2a7ab0 }
.bar b { position: absolute; top: -.15em; bottom: -.15em; width: 2px }
.signs { background: #c33 }
.dim { background: #e90 }
.note { color: #555 }
</style></head><body>
"#;

const LEGEND: &str = "<p>The bar is the energy ‖P(W)‖²/‖W‖². Its mark is the energy to expect by chance: red for the same magnitudes with \
    random signs (chance), or orange for dim Hom_G/dim Hom (dim) where random signs are not known. excess = (energy − chance)/(1 − chance), \
    with the chance that is marked; totals likewise. Click a head to sort.</p>\n<p class=\"note\">worst = largest defect over the group, or over the \
    subgroup that its cell names, in kernel-Frobenius norm, not an operator bound; a range is a proven bracket.</p>\n";

const SCRIPT: &str = r#"<script>
document.querySelectorAll("table").forEach(table => {
  table.querySelectorAll("th").forEach((head, column) => head.addEventListener("click", () => {
    const body = table.tBodies[0], rows = [...body.rows];
    const down = head.dataset.down !== "1";
    head.dataset.down = down ? "1" : "0";
    const key = row => row.cells[column].dataset.key ?? row.cells[column].textContent;
    rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)], [m, n] = [Number(x), Number(y)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = !isNaN(m) && !isNaN(n) ? m - n : x.localeCompare(y);
      return down ? -order : order;
    });
    rows.forEach(row => body.append(row));
  }));
});
document.body.dataset.ready = "1";
</script></body></html>
"#;

/// The whole report of an audit.
pub(crate) fn html(file: &str, audits: &[AuditReport], ranking: &[RankSection]) -> String {
    let mut page = HEAD.to_string();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(page, "<h1>{}</h1>", escape(file));
    page += LEGEND;
    for audit in audits {
        let _ = writeln!(page, "<h2>{}, {} fields</h2>", escape(&audit.group), escape(&audit.fields));
        let total = &audit.total;
        let _ = writeln!(
            page,
            "<p>{} layers, {} weights: energy {}, chance {}, dim {}, excess {}, ‖W−P(W)‖ {}</p>",
            total.layers,
            total.weights,
            part(total.energy()),
            part(total.energy().map(|_| total.random_signs)),
            part(total.energy().map(|_| total.chance)),
            part(total.excess()),
            number(total.energies.perp.sqrt())
        );
        layers(&mut page, audit);
        notes(&mut page, audit);
        for line in by_reason(&audit.untyped) {
            let _ = writeln!(page, "<p class=\"note\">not measured: {}</p>", escape(&line));
        }
    }
    for section in ranking {
        let _ = writeln!(page, "<h2>Which symmetry? {}</h2>", escape(&section.what));
        let _ = writeln!(page, "<p>{}</p>", escape(&section.verdict));
        if section.ranked.is_empty() {
            continue;
        }
        page += "<table><thead><tr><th>group<th>energy<th>chance<th>dim<th>excess<th>indistinguishable from</tr></thead><tbody>\n";
        for row in &section.ranked {
            let (total, same) = (&row.total, row.same_as.join(", "));
            let [chance, dim] = [total.random_signs, total.chance].map(|value| part(total.energy().map(|_| value)));
            let [energy, excess] = [total.energy(), total.excess()].map(part);
            let _ = writeln!(
                page,
                "<tr><td>{}<td>{energy}<td>{chance}<td>{dim}<td>{excess}<td>{}</tr>",
                escape(&row.group),
                escape(&same)
            );
        }
        page += "</tbody></table>\n";
    }
    page + SCRIPT
}

/// A share, or a dash where nothing was measured.
fn part(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.4}"))
}

fn layers(page: &mut String, audit: &AuditReport) {
    *page += "<table><thead><tr><th>layer<th>shape<th>fields<th>‖W‖<th>energy<th><th>chance<th>dim<th>excess<th>‖W−P(W)‖<th>worst\
              <th>defect in</tr></thead><tbody>\n";
    for layer in &audit.layers {
        let name = format!("<tr><td>{}<td>{}<td>{}", escape(&layer.name), shape(&layer.shape), escape(&fields(layer)));
        if let Some((index, value)) = &layer.not_finite {
            let _ = writeln!(page, "{name}<td><td><td>{value} at {index}<td><td><td><td><td><td></tr>");
            continue;
        }
        let norm = number(layer.norm());
        if layer.acts_trivially {
            let _ = writeln!(page, "{name}<td>{norm}<td><td>fixed by the group<td><td><td><td><td><td></tr>");
            continue;
        }
        let (energy, dim) = (layer.energy(), layer.chance);
        let chance = layer.random_signs.map(|chance| format!("{chance:.4}")).unwrap_or_default();
        let (kind, mark, title) = match layer.random_signs {
            Some(chance) => ("signs", chance, "random signs"),
            None => ("dim", dim, "dim Hom_G/dim Hom"),
        };
        let share = |s: &Share| format!("{} {:.0}&nbsp;%", escape(&s.irrep), 100.0 * s.square / layer.energies.perp);
        let shares = layer.isotypic.iter().take(3).map(share).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            page,
            "{name}<td>{norm}<td data-key=\"{energy}\">{energy:.4}<td data-key=\"{energy}\"><div class=\"bar\"><i \
             style=\"width:{:.2}%\"></i><b class=\"{kind}\" title=\"{title}: {mark:.4}\" style=\"left:{:.2}%\"></b></div>\
             <td>{chance}<td>{dim:.4}<td>{:.4}<td>{}{}<td>{shares}</tr>",
            100.0 * energy,
            100.0 * mark,
            layer.excess(),
            number(layer.distance()),
            worst(layer, &audit.group),
        );
    }
    *page += "</tbody></table>\n";
}

/// The cell of the worst defect; it names its group wherever that is not the group of the audit.
fn worst(layer: &LayerAudit, group: &str) -> String {
    let Some(worst) = &layer.worst else { return "<td>".into() };
    let over = if worst.group == group { String::new() } else { format!(" over {}", escape(&worst.group)) };
    format!("<td data-key=\"{}\">{}{over}", worst.bracket.upper, bracket(layer))
}

fn notes(page: &mut String, audit: &AuditReport) {
    for layer in &audit.layers {
        for note in &layer.notes {
            let _ = writeln!(page, "<p class=\"note\">{}: {}</p>", escape(&layer.name), escape(note));
        }
    }
}

fn escape(text: &str) -> String {
    reynolds_report::terminal::printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
