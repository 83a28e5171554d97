//! `reynolds project`: W ← P(W).

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use reynolds::plan::{Layer, ResolvedPlan, Role};
use reynolds::projection::{Lowered, Projector};
use reynolds_data::checkpoint::{Entry, Values};

use crate::args::ProjectArgs;
use crate::model::{Model, tensor};
use crate::report::{self, Projected};
use crate::{output, progress};

/// How often P is applied again until nothing changes: averages of equal numbers may still move by a rounding.
const SETTLING: usize = 8;

pub(crate) fn run(args: &ProjectArgs) -> Result<ExitCode> {
    if args.typing.plan.is_none() && (args.typing.fields.is_none() || args.typing.group.is_none()) {
        bail!(
            "project: expected --plan FILE, or --group G with --fields regular or trivial: what the channels are is an assumption"
        );
    }
    let plans = args.typing.plans()?;
    let plan = &plans.first().context("one typing")?.plan;
    let restricted = args.to.as_deref().map(|subgroup| plan.restricted_to(subgroup)).transpose()?;
    let model = Model::open(&args.model)?;
    let resolved = restricted.as_ref().unwrap_or(plan).resolve(&model.tensors).with_context(|| model.file())?;
    let chosen: Vec<&Layer> = resolved
        .layers
        .iter()
        .filter(|layer| !layer.acts_trivially() && (layer.role == Role::Weight || !args.weights_only))
        .collect();
    if chosen.is_empty() {
        let why = report::reasons(&resolved.untyped);
        bail!("{}: expected tensors on which {} acts, found none: {why}", model.file(), resolved.group.name());
    }
    let bar = progress::bar(2 * chosen.iter().map(|layer| layer.len() as u64).sum::<u64>(), "projecting");
    let measured = |layer: &&Layer| -> Result<Projected> {
        let row = measure(&model, layer, args.blend).with_context(|| model.file())?;
        bar.inc(layer.len() as u64);
        Ok(row)
    };
    let rows = chosen.par_iter().map(measured).collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = chosen.iter().map(|layer| layer.name.as_str()).collect();
    model.checkpoint.write_with(&args.out, &names, |entry| {
        let layer = chosen.iter().find(|layer| layer.name == entry.name);
        let values = layer.context("a tensor that was asked for").and_then(|layer| project(&model, layer, args.blend));
        bar.inc(entry.len() as u64);
        values.map(|(_, after)| Values::F64(after.into())).map_err(|error| of_tensor(&model, entry, &error))
    })?;
    bar.finish_and_clear();
    output::print(&report::projected(args, &resolved.group.name(), &rows, &broken(&model, &resolved, args)?))?;
    Ok(ExitCode::SUCCESS)
}

fn of_tensor(model: &Model, entry: &Entry, error: &anyhow::Error) -> reynolds_data::Error {
    reynolds_data::Error::Tensor {
        file: model.checkpoint.path().into(),
        tensor: entry.name.clone(),
        expected: "a tensor that can be projected".into(),
        found: format!("{error:#}"),
    }
}

/// The tensor before and after, in double precision.
fn project(model: &Model, layer: &Layer, blend: f64) -> Result<(Vec<f64>, Vec<f64>)> {
    let values = model.read(&layer.name)?;
    let before = tensor(&values).to_f64();
    let mut after = layer.projector.project(&before).with_context(|| format!("tensor {}", layer.name))?;
    if matches!(layer.projector.as_ref(), Lowered::Orbits(_)) {
        for _ in 0..SETTLING {
            let again = layer.projector.project(&after)?;
            if again == after {
                break;
            }
            after = again;
        }
    }
    if blend < 1.0 {
        after.iter_mut().zip(&before).for_each(|(p, w)| *p = (1.0 - blend) * w + blend * *p);
    }
    Ok((before, after))
}

fn measure(model: &Model, layer: &Layer, blend: f64) -> Result<Projected> {
    let (before, after) = project(model, layer, blend)?;
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    Ok(Projected {
        name: layer.name.clone(),
        shape: layer.shape.clone(),
        role: layer.role,
        norm: norm(&mut before.iter().copied()),
        moved: norm(&mut before.iter().zip(&after).map(|(w, p)| w - p)),
    })
}

/// What still breaks equivariance after the projection.
fn broken(model: &Model, resolved: &ResolvedPlan, args: &ProjectArgs) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    if args.blend < 1.0 {
        broken.push(format!("the share {} of W − P(W) that --blend kept", 1.0 - args.blend));
    }
    if args.weights_only {
        for layer in resolved.layers.iter().filter(|layer| layer.role != Role::Weight) {
            let moved = measure(model, layer, 1.0)?.moved;
            if moved > 0.0 {
                broken.push(format!("{}: {moved:.4} from constant inside fields (--weights-only)", layer.name));
            }
        }
    }
    for layer in &resolved.layers {
        broken.extend(layer.warnings.iter().map(|warning| format!("{}: {warning}", layer.name)));
    }
    broken.extend(report::by_reason(&resolved.untyped).into_iter().map(|line| format!("unchanged: {line}")));
    Ok(broken)
}
