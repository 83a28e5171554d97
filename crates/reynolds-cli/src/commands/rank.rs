//! `reynolds audit --rank`: compares groups to find the symmetry of the weights.

use std::collections::BTreeSet;

use anyhow::Result;
use reynolds::audit::{LayerAudit, Total, ranking};
use reynolds::group;
use reynolds::plan::{SymmetryPlan, UniformFields};

use super::audit::audit_plan;
use crate::model::Model;
use reynolds_report::audit::Ranking;

type Tensors = Vec<(String, Vec<usize>)>;

/// Ranks the groups for planar kernels, spatial kernels and linear maps, where the model has such.
pub(super) fn rankings(model: &Model, fields: UniformFields) -> Result<Vec<Ranking>> {
    let of_rank = |rank: usize| -> Tensors { model.tensors.iter().filter(|t| t.1.len() == rank).cloned().collect() };
    let mut rankings = Vec::new();
    for (what, rank, groups) in [("2-D kernels", 4, &ranking::PLANAR[..]), ("3-D kernels", 5, &ranking::SPATIAL[..])] {
        let tensors = of_rank(rank);
        if !tensors.is_empty() {
            rankings.push(kernels(model, fields, what, &tensors, groups)?);
        }
    }
    if let Some(ranking) = linear(model, &of_rank(2))? {
        rankings.push(ranking);
    }
    Ok(rankings)
}

fn kernels(model: &Model, fields: UniformFields, what: &str, tensors: &Tensors, groups: &[&str]) -> Result<Ranking> {
    let mut audits: Vec<(&str, Vec<LayerAudit>)> = Vec::new();
    for &name in groups {
        let plan = SymmetryPlan::uniform(&group::parse(name)?, fields)?;
        audits.push((name, audit_plan(model, &plan, tensors)?.1));
    }
    // Groups are compared on the kernels on which all of them act.
    let acted = |layers: &[LayerAudit]| -> BTreeSet<String> {
        layers.iter().filter(|layer| layer.counts()).map(|layer| layer.tensor.name.clone()).collect()
    };
    let shared = audits.iter().map(|(_, layers)| acted(layers)).reduce(|a, b| &a & &b).unwrap_or_default();
    let what = format!("{what}, {fields} fields, on {} of {} tensors", shared.len(), tensors.len());
    if shared.is_empty() {
        let verdict = format!("nothing to compare: no tensor is acted upon by each of {}", groups.join(", "));
        return Ok(Ranking { what, verdict, ranked: vec![] });
    }
    let grids: BTreeSet<&[usize]> = tensors.iter().filter(|t| shared.contains(&t.0)).map(|t| &t.1[2..]).collect();
    let mut ranked = Vec::new();
    for (name, layers) in &audits {
        let mut same_as = Vec::new();
        for &other in groups.iter().filter(|other| *other != name) {
            let mut same = true;
            for grid in &grids {
                same = same && ranking::indistinguishable(name, other, fields, grid)?;
            }
            if same {
                same_as.push(other.to_string());
            }
        }
        let total = Total::of(layers.iter().filter(|layer| shared.contains(&layer.tensor.name)));
        ranked.push(ranking::Ranked { group: name.to_string(), total, same_as });
    }
    ranking::sort(&mut ranked);
    Ok(Ranking { what, verdict: ranking::verdict(&ranked), ranked })
}

/// Linear maps, each under the largest S_n that can permute its channels.
fn linear(model: &Model, tensors: &Tensors) -> Result<Option<Ranking>> {
    let size = |t: &(String, Vec<usize>)| ranking::symmetric_group_for(t.1[0], t.1[1]);
    let sizes: BTreeSet<usize> = tensors.iter().filter_map(size).collect();
    let mut ranked = Vec::new();
    for n in sizes {
        let chosen: Tensors = tensors.iter().filter(|t| size(t) == Some(n)).cloned().collect();
        let text = reynolds::plan::suggest(&group::parse(&format!("S{n}"))?, &chosen);
        // A plan without layers is refused: these tensors are no weights, or too large for S_n.
        let Ok(plan) = SymmetryPlan::from_toml(&text) else { continue };
        let (group, layers, _) = audit_plan(model, &plan, &chosen)?;
        let total = Total::of(&layers);
        if total.layers > 0 {
            ranked.push(ranking::Ranked { group, total, same_as: vec![] });
        }
    }
    ranking::sort(&mut ranked);
    let what = "linear layers: S_n permutes n equal blocks of channels; each layer under the largest n that divides its channels".to_string();
    let most = ranked.iter().filter(|row| row.total.excess() >= Some(ranking::BEYOND_CHANCE));
    let beyond: Vec<&str> = most.map(|row| row.group.as_str()).collect();
    let verdict =
        if beyond.is_empty() { "none beyond chance".into() } else { format!("beyond chance: {}", beyond.join(", ")) };
    Ok((!ranked.is_empty()).then_some(Ranking { what, verdict, ranked }))
}
