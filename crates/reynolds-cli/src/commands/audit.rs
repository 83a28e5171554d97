//! `reynolds audit`: how equivariant each layer is.

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use reynolds::audit::ranking::Ranking;
use reynolds::audit::{LayerAudit, Total, layer as measure};
use reynolds::group;
use reynolds::plan::{SymmetryPlan, TypedTensor, UniformFields, Untyped};

use crate::args::{AuditArgs, FieldsArg};
use crate::model::{Model, NamedPlan};
use reynolds::projection::Projector;
use reynolds_report::audit::{AuditReport, KernelPicture, Typed, by_reason, sampling};
use reynolds_report::terminal;

pub(crate) fn run(args: &AuditArgs) -> Result<u8> {
    let [path] = &args.models[..] else { return super::course::run(args) };
    let typed = args.typing.group.is_some() || args.typing.plan.is_some();
    if args.rank && args.typing.plan.is_some() {
        bail!("--rank compares groups: expected --fields trivial or regular, found --plan, which names one group");
    }
    // Without a group the question is which one.
    let rank = args.rank || !typed;
    let model = Model::open(path)?;
    let plans = if typed { args.typing.plans(&model)? } else { vec![] };
    if args.require.is_some() && plans.len() != 1 {
        bail!("--require checks one energy: expected --fields trivial or regular, or --plan FILE, found neither");
    }
    let ranked = match args.typing.fields {
        Some(FieldsArg::Uniform(fields)) => fields,
        _ => UniformFields::Trivial,
    };
    let mut report = audit(&model, &plans, rank.then_some(ranked))?;
    if let Some(path) = &args.html {
        report.pictures = pictures(&model, &plans)?;
        model.write_beside(path, &report.page().html())?;
    }
    terminal::print_prepared(&if args.json { report.json()? } else { report.text(terminal::colour()) })?;
    let Some((least, audit)) = args.require.zip(report.typed.first()) else {
        return Ok(0);
    };
    let broken: Vec<&str> =
        audit.layers.iter().filter(|l| l.not_finite.is_some()).map(|l| l.tensor.name.as_str()).collect();
    let energy = audit.total.energies.ratio();
    if broken.is_empty() && audit.total.layers > 0 && energy >= least {
        return Ok(0);
    }
    let found = match (broken.is_empty(), audit.total.layers) {
        (false, _) => format!("weights that are not finite in {}", broken.join(", ")),
        (true, 0) => "no weight on which the group acts".into(),
        (true, _) => format!("energy {energy:.6}"),
    };
    let file = model.file();
    terminal::say(&format!("{file}: --require fell short: expected energy at least {least}, found {found}"));
    Ok(1)
}

/// Audits a model through each typing of its channels; with `rank` it compares groups, too, all channels typed so.
///
/// # Errors
/// If no tensor fits any of the typings; whatever reading the tensors may fail with.
pub fn audit(model: &Model, plans: &[NamedPlan], rank: Option<UniformFields>) -> Result<AuditReport> {
    let typed = plans.iter().map(|named| of_plan(model, named)).collect::<Result<Vec<_>>>()?;
    let nothing = |typed: &Typed| typed.layers.is_empty();
    if !typed.is_empty() && typed.iter().all(nothing) {
        let why = by_reason(&typed.last().context("one audit at least")?.untyped).join("; ");
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        bail!("{}: expected a tensor with channels that fit the fields, found none{why}", model.file());
    }
    let rankings = rank.map_or(Ok(vec![]), |fields| super::rank::rankings(model, fields))?;
    if rank.is_some() && typed.is_empty() && rankings.is_empty() {
        bail!(
            "{}: expected kernels or linear layers of real numbers, on which groups can be compared, found none; complex weights are \
             measured under one group, with --group and --plan (`reynolds plan` drafts a plan)",
            model.file()
        );
    }
    let sampling = if typed.is_empty() { strides(model, &rankings)? } else { None };
    Ok(AuditReport { file: model.file(), typed, rankings, sampling, pictures: vec![] })
}

/// What strides and paddings do under the group that was found for kernels.
fn strides(model: &Model, rankings: &[Ranking]) -> Result<Option<String>> {
    let found = rankings.iter().find_map(|ranking| Some((ranking.found.group.as_ref()?, ranking.fields?)));
    let Some((name, fields)) = found else { return Ok(None) };
    let resolved = model.resolved(&SymmetryPlan::uniform(&group::parse(name)?, fields)?)?;
    Ok(sampling(resolved.layers.iter()).map(|line| format!("Under {name}: {line}.")))
}

pub(super) fn of_plan(model: &Model, named: &NamedPlan) -> Result<Typed> {
    let (group, layers, untyped) = audit_plan(model, &named.plan)?;
    let total = Total::of(&layers);
    let untyped = untyped.into_iter().chain(model.unread.iter().cloned()).collect();
    Ok(Typed { group, fields: named.fields.clone(), layers, untyped, total })
}

/// Audits every tensor that a plan types, several at a time.
fn audit_plan(model: &Model, plan: &SymmetryPlan) -> Result<(String, Vec<LayerAudit>, Vec<Untyped>)> {
    let resolved = model.resolved(plan)?;
    let weights = resolved.layers.iter().map(|layer| layer.len() as u64).sum();
    let bar = reynolds_report::bar(weights, "auditing");
    let one = |layer: &TypedTensor| -> Result<LayerAudit> {
        let mut audit = measure(layer, model.read(&layer.name)?).with_context(|| model.file())?;
        model.release(&layer.name);
        let changed = resolved.changed_fields.iter().filter(|(name, _)| *name == layer.name);
        audit.notes.extend(changed.map(|(_, remark)| remark.clone()));
        if let Some(first) = model.tied.get(&layer.name) {
            audit.notes.push(format!("the same bytes as {first}, counted once"));
            audit.tied_to = Some(first.clone());
        }
        bar.inc(layer.len() as u64);
        Ok(audit)
    };
    let layers = resolved.layers.par_iter().map(one).collect::<Result<Vec<_>>>()?;
    bar.finish_and_clear();
    Ok((resolved.group.name(), layers, resolved.untyped))
}

/// Kernels of a page: of the first layers with kernels in two dimensions, the pair of channels with the largest one.
fn pictures(model: &Model, plans: &[NamedPlan]) -> Result<Vec<KernelPicture>> {
    /// Layers that are drawn.
    const LAYERS: usize = 6;
    /// Longest side.
    const SIDE: usize = 15;
    let mut pictures = Vec::new();
    for named in plans {
        let resolved = model.resolved(&named.plan)?;
        let shown = resolved.layers.iter().filter(|layer| match layer.shape[..] {
            [_, _, rows, columns] => rows.max(columns) <= SIDE && rows * columns > 1 && !layer.acts_trivially(),
            _ => false,
        });
        for layer in shown.take(LAYERS) {
            let weights = model.read(&layer.name)?.to_f64().into_owned();
            let (points, into) = (layer.shape[2] * layer.shape[3], layer.shape[1]);
            // Weights that are not finite have no projection.
            let Ok(after) = layer.projector.project(&weights) else { continue };
            let square = |kernel: &[f64]| kernel.iter().map(|w| w * w).sum::<f64>();
            let largest = weights.chunks(points).enumerate().max_by(|a, b| square(a.1).total_cmp(&square(b.1)));
            let Some((pair, before)) = largest else { continue };
            pictures.push(KernelPicture {
                typing: [resolved.group.name(), named.fields.clone()],
                name: layer.name.clone(),
                channels: [pair / into, pair % into],
                sides: [layer.shape[2], layer.shape[3]],
                before: before.to_vec(),
                after: after[pair * points..][..points].to_vec(),
            });
        }
    }
    Ok(pictures)
}
