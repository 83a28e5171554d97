//! `reynolds project`: W ← P(W).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use reynolds::plan::{ResolvedPlan, Role, TypedTensor, Untyped};
use reynolds::projection::Projector;
use reynolds::scalar::Real;
use reynolds_checkpoint::{Checkpoint, Entry, Format, Values, whole_file};

use crate::args::ProjectArgs;
use crate::layout::Layout;
use crate::model::Model;
use crate::shards;
use reynolds_report::audit::{ProjectedTensor, ProjectionReport, by_reason};
use reynolds_report::terminal;

pub(crate) fn run(args: &ProjectArgs) -> Result<u8> {
    if args.typing.plan.is_none() && (args.typing.fields.is_none() || args.typing.group.is_none()) {
        bail!(
            "project: expected --plan FILE, or --group G with --fields trivial or regular, found no fields of the channels"
        );
    }
    let model = Model::open(&args.model)?;
    let plans = args.typing.plans(&model)?;
    let plan = &plans.first().context("one typing")?.plan;
    let restricted = args.to.as_deref().map(|subgroup| plan.restricted_to(subgroup)).transpose()?;
    let resolved = model.resolved(restricted.as_ref().unwrap_or(plan))?;
    let chosen: Vec<&TypedTensor> = resolved
        .layers
        .iter()
        .filter(|layer| !layer.acts_trivially() && (layer.role == Role::Weight || !args.weights_only))
        .collect();
    if chosen.is_empty() {
        let why = by_reason(&resolved.untyped).join("; ");
        bail!("{}: expected a tensor on which {} acts, found none ({why})", model.file(), resolved.group.name());
    }
    let bar = reynolds_report::bar(2 * chosen.iter().map(|layer| layer.len() as u64).sum::<u64>(), "projecting");
    let measured = |layer: &&TypedTensor| -> Result<ProjectedTensor> {
        let row = measure(&model, layer, args.blend).with_context(|| model.file())?;
        bar.inc(layer.len() as u64);
        Ok(row)
    };
    let tensors = chosen.par_iter().map(measured).collect::<Result<Vec<_>>>()?;
    // Before anything is written: what fails here must leave no output behind.
    let broken = broken(&model, &resolved, args);
    let names: Vec<&str> = chosen.iter().map(|layer| layer.name.as_str()).collect();
    let layers: HashMap<&str, &TypedTensor> = names.iter().copied().zip(chosen.iter().copied()).collect();
    let replaced = args.out.exists();
    let write = |shard: usize, out: &Path| {
        let checkpoint = &model.shards[shard];
        let names: Vec<&str> = names.iter().copied().filter(|name| model.is_in(name, shard)).collect();
        checkpoint.write_with(out, &names, |entry| {
            let layer = layers.get(&*entry.name);
            let values =
                layer.context("a tensor that was asked for").and_then(|layer| project(&model, layer, args.blend));
            bar.inc(entry.len() as u64);
            values
                .map(|projected| Layout::of(checkpoint, entry).write(projected.values, &entry.shape))
                .map_err(|error| of_tensor(checkpoint, entry, &error))
        })
    };
    match shards::of(model.path())? {
        None => write(0, &args.out)?,
        Some(files) => into_folder(&model, &files, &args.out, write)?,
    }
    bar.finish_and_clear();
    let [from, to] = [&args.model, &args.out].map(|path| path.display().to_string());
    let report = ProjectionReport { from, to, replaced, group: resolved.group.name(), tensors, broken };
    terminal::print_prepared(&report.text(terminal::colour()))?;
    let converted = |shard: &&Checkpoint| {
        shard.format() != Format::Safetensors
            && args.out.extension().is_some_and(|end| end.eq_ignore_ascii_case("safetensors"))
    };
    for shard in model.shards.iter().filter(converted) {
        let left_out = shard.left_out_of_safetensors();
        if !left_out.is_empty() {
            terminal::say(&format!("left out, because safetensors has no such tensors: {}", left_out.join(", ")));
        }
    }
    Ok(0)
}

/// Writes every shard into a new folder, under its name, and the index after them.
fn into_folder(
    model: &Model,
    files: &[PathBuf],
    out: &Path,
    write: impl Fn(usize, &Path) -> reynolds_checkpoint::Result<()>,
) -> Result<()> {
    if out.exists() && !std::fs::read_dir(out).is_ok_and(|mut files| files.next().is_none()) {
        bail!(
            "{}: expected the name of a new folder, for a model of {} files, found one that exists",
            out.display(),
            files.len()
        );
    }
    std::fs::create_dir_all(out).with_context(|| format!("{}: cannot make the folder", out.display()))?;
    for (shard, file) in files.iter().enumerate() {
        write(shard, &out.join(file.file_name().unwrap_or_default()))?;
    }
    if let Some(index) = shards::index_of(model.path())? {
        let text = std::fs::read(&index).with_context(|| format!("{}: cannot read", index.display()))?;
        whole_file::write(&out.join(index.file_name().unwrap_or_default()), &text)?;
    }
    Ok(())
}

fn of_tensor(checkpoint: &Checkpoint, entry: &Entry, error: &anyhow::Error) -> reynolds_checkpoint::Error {
    reynolds_checkpoint::Error::Tensor {
        file: checkpoint.path().into(),
        tensor: entry.name.clone(),
        expected: "a tensor that can be projected".into(),
        found: format!("{error:#}"),
    }
}

/// A tensor after the projection, with ‖W‖ and how far it moved.
struct Moved {
    values: Values<'static>,
    norm: f64,
    moved: f64,
}

fn project(model: &Model, layer: &TypedTensor, blend: f64) -> Result<Moved> {
    let moved = match model.read(&layer.name)? {
        Values::F32(before) => blended(layer, &before, blend as f32, |after| Values::F32(after.into())),
        Values::F64(before) => blended(layer, &before, blend, |after| Values::F64(after.into())),
    };
    moved.with_context(|| format!("tensor {}", layer.name))
}

/// (1 − t)W + tP(W), in the precision of the weights.
fn blended<T: Real>(
    layer: &TypedTensor,
    before: &[T],
    blend: T,
    values: impl Fn(Vec<T>) -> Values<'static>,
) -> Result<Moved> {
    let mut after = layer.projector.project(before)?;
    if blend.to_f64() < 1.0 {
        let keep = T::from_f64(1.0) - blend;
        after.iter_mut().zip(before).for_each(|(p, &w)| *p = keep * w + blend * *p);
    }
    let square = |sum: f64, value: f64| sum + value * value;
    let norm = before.iter().map(|w| w.to_f64()).fold(0.0, square).sqrt();
    let moved = before.iter().zip(&after).map(|(w, p)| w.to_f64() - p.to_f64()).fold(0.0, square).sqrt();
    Ok(Moved { values: values(after), norm, moved })
}

fn measure(model: &Model, layer: &TypedTensor, blend: f64) -> Result<ProjectedTensor> {
    let Moved { norm, moved, .. } = project(model, layer, blend)?;
    Ok(ProjectedTensor { name: layer.name.clone(), shape: layer.shape.clone(), role: layer.role, norm, moved })
}

/// What may still break equivariance after the projection.
fn broken(model: &Model, resolved: &ResolvedPlan, args: &ProjectArgs) -> Vec<String> {
    let mut broken: Vec<String> = reynolds_report::audit::sampling(resolved.layers.iter()).into_iter().collect();
    if args.blend < 1.0 {
        broken.push(format!("the share {} of W − P(W) that --blend kept", 1.0 - args.blend));
    }
    if args.weights_only {
        for layer in resolved.layers.iter().filter(|layer| layer.role != Role::Weight) {
            match measure(model, layer, 1.0) {
                Ok(ProjectedTensor { moved, .. }) if moved > 0.0 => {
                    broken.push(format!("{}: {moved:.4} from constant inside fields (--weights-only)", layer.name));
                }
                Ok(_) => {}
                Err(error) => broken.push(format!("{error:#} (not projected: --weights-only)")),
            }
        }
    }
    broken.extend(resolved.changed_fields.iter().map(|(name, remark)| format!("{name}: {remark}")));
    for layer in &resolved.layers {
        broken.extend(layer.warnings.iter().map(|warning| format!("{}: {warning}", layer.name)));
    }
    // What G leaves as it is breaks nothing.
    let harmful: Vec<Untyped> = resolved.untyped.iter().filter(|tensor| !tensor.is_harmless()).cloned().collect();
    broken.extend(by_reason(&harmful).into_iter().map(|line| format!("unchanged: {line}")));
    broken
}
