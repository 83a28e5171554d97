//! The audit as JSON; keys are part of the contract.

use anyhow::Result;
use reynolds::audit::ranking::{Found, Ranking};
use reynolds::audit::{LayerAudit, Total};
use reynolds::group::Element;
use reynolds::plan::Sampling;
use serde_json::{Value, json};

use super::{AuditReport, Course, DEFECT_NOTE, Typed};

/// Version of the layout of keys: grows when a key goes or changes its meaning, not when one is added.
pub const SCHEMA: u32 = 1;
use crate::escape::printable_json;

impl AuditReport {
    /// The audit for programs, as pretty JSON.
    ///
    /// # Errors
    /// If a number cannot be written.
    pub fn json(&self) -> Result<String> {
        let value = json!({
            "schema": SCHEMA,
            "model": self.file,
            "verdict": verdict(self),
            "note": DEFECT_NOTE,
            "audits": self.typed.iter().map(audit).collect::<Vec<_>>(),
            "ranking": self.rankings.iter().map(section).collect::<Vec<_>>(),
        });
        Ok(printable_json(&serde_json::to_string_pretty(&value)?) + "\n")
    }
}

impl Course {
    /// The audits of all checkpoints for programs, as pretty JSON.
    ///
    /// # Errors
    /// If a number cannot be written.
    pub fn json(&self) -> Result<String> {
        let one = |(file, typed): &(String, Typed)| {
            let mut value = audit(typed);
            value["model"] = json!(file);
            value
        };
        let audits = self.checkpoints.iter().map(one).collect::<Vec<_>>();
        Ok(serde_json::to_string_pretty(&json!({ "schema": SCHEMA, "note": DEFECT_NOTE, "audits": audits }))? + "\n")
    }
}

/// What the report says in short, for programs.
fn verdict(report: &AuditReport) -> Value {
    let symmetries =
        report.rankings.iter().map(|ranking| json!({ "what": ranking.what, "group": ranking.found.group }));
    let typed = report.typed.iter().map(|typed| {
        json!({
            "group": typed.group,
            "fields": typed.fields,
            "energy": typed.total.energy(),
            "excess": typed.total.excess(),
            "equivariant": typed.is_equivariant(),
            "sampling": typed.network_sampling().map(Sampling::name),
        })
    });
    json!({
        "symmetries": symmetries.collect::<Vec<_>>(),
        "typed": typed.collect::<Vec<_>>(),
        "text": report.verdict(),
    })
}

/// An element: its number, its angle and reflection, its rotation and inversion, or its two factors.
fn element(g: &Element) -> Value {
    match g {
        Element::Finite(number) => json!({ "number": number.to_string() }),
        Element::Planar(planar) => json!({ "angle": planar.angle, "reflected": planar.reflected }),
        Element::Spatial(spatial) => json!({ "rotation": spatial.rotation, "inverted": spatial.inverted }),
        Element::Pair(pair) => json!({ "factors": [element(&pair.0), element(&pair.1)] }),
    }
}

fn audit(audit: &Typed) -> Value {
    let untyped = audit.untyped.iter().map(|tensor| json!({ "name": tensor.name, "reason": tensor.reason }));
    json!({
        "group": audit.group,
        "fields": audit.fields,
        "total": total(&audit.total),
        "layers": audit.layers.iter().map(layer).collect::<Vec<_>>(),
        "untyped": untyped.collect::<Vec<_>>(),
    })
}

fn total(total: &Total) -> Value {
    let measured = |value: f64| (total.layers > 0).then_some(value);
    json!({
        "layers": total.layers,
        "weights": total.weights,
        "norm": total.energies.total().sqrt(),
        "energy": total.energy(),
        "distance": total.energies.perp.sqrt(),
        "chance_dimension": measured(total.dimension_share),
        "chance_random_signs": measured(total.chance),
        "excess": total.excess(),
    })
}

fn layer(layer: &LayerAudit) -> Value {
    let worst = layer.worst.as_ref().map(|worst| {
        json!({
            "group": worst.group,
            "lower": worst.bracket.lower,
            "upper": worst.bracket.upper,
            "element": worst.bracket.found.as_ref().map(element),
        })
    });
    // Weights that are not finite have no norm and no energy.
    let finite = |value: f64| layer.not_finite.is_none().then_some(value);
    let shares = layer.isotypic.iter().map(|share| json!({ "irrep": share.irrep, "square": share.square }));
    json!({
        "name": layer.tensor.name,
        "shape": layer.tensor.shape,
        "role": layer.tensor.role.name(),
        "domain": layer.tensor.domain,
        "codomain": layer.tensor.codomain,
        "form": layer.tensor.projector.form(),
        "weights": layer.tensor.len(),
        "acts_trivially": layer.tensor.acts_trivially(),
        "norm": finite(layer.norm()),
        "energy": finite(layer.energy()),
        "distance": finite(layer.distance()),
        "chance_dimension": layer.dimension_share(),
        "chance_random_signs": layer.chance,
        "excess": finite(layer.excess()),
        "worst_defect": worst,
        "isotypic": shares.collect::<Vec<_>>(),
        "not_finite": layer.not_finite.as_ref().map(|(index, value)| json!({ "index": index, "value": value })),
        "sampling": layer.tensor.sampling.map(Sampling::name),
        "tied_to": layer.tied_to,
        "notes": layer.notes,
    })
}

fn section(section: &Ranking) -> Value {
    let groups = section.groups.iter().map(|row| {
        json!({
            "group": row.group,
            "z": row.z,
            "p": row.p,
            "indistinguishable_from": row.same_as,
            "total": total(&row.total),
        })
    });
    let layers = section.layers.iter().map(|(name, layer)| {
        let mut value = found(layer);
        value["name"] = json!(name);
        value
    });
    let mut value = found(&section.found);
    value["what"] = json!(section.what);
    value["verdict"] = json!(section.verdict());
    value["groups"] = groups.collect();
    value["layers"] = layers.collect();
    value
}

fn found(found: &Found) -> Value {
    json!({
        "group": found.group,
        "z": found.z,
        "p": found.p,
        "indistinguishable_from": found.same_as,
        "also_beyond_chance": found.also,
    })
}
