//! The checkpoint of a run: a safetensors file.
//!
//! ```text
//! NAME                          parameters and running statistics, in their own shape: `reynolds audit` reads the file
//! optimizer.exp_avg(_sq).NAME   moments of Adam          optimizer.trained.NAME        θ of constrained or residual weights
//! optimizer.best_weights.NAME   best weights so far      optimizer.penalty.STATE       state of a decoupled penalty
//! ```
//!
//! Complex parameters are C64 (in double precision F64 with a last axis of two). The metadata are JSON under the one key "reynolds" (the
//! order of several keys is undefined): version, settings, progress, and last a checksum of all tensors and of the metadata before it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use reynolds_torch::Parameters;
use reynolds_torch::parameters::Entry;
use reynolds_torch::tch::{Device, Kind, Tensor};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::journal::{Progress, Snapshot, Weights};

const KEY: &str = "reynolds";
const THETA: &str = "optimizer.trained.";
const FIRST: &str = "optimizer.exp_avg.";
const SECOND: &str = "optimizer.exp_avg_sq.";
const BEST: &str = "optimizer.best_weights.";
const PENALTY: &str = "optimizer.penalty.";

/// The metadata of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Label {
    /// Version of this crate.
    pub(crate) version: String,
    /// The complete settings.
    pub(crate) config: String,
    /// Optimiser steps done; 0 in the file of the best weights, which has no optimiser state.
    pub(crate) steps: i64,
    pub(crate) progress: Progress,
    pub(crate) lengths: Lengths,
    /// Number of flat tensors that are trained in place of the parameters, if any.
    pub(crate) trained: Option<usize>,
    /// CRC-32C of all tensors in the order of their names, then of the text of this label up to here.
    pub(crate) crc32c: u32,
}

impl Label {
    fn new(config: &str, progress: Progress) -> Self {
        let (version, config) = (env!("CARGO_PKG_VERSION").into(), config.into());
        Self { version, config, steps: 0, progress, lengths: Lengths::default(), trained: None, crc32c: 0 }
    }
}

/// Ends the part of a label's text that its checksum covers. No JSON string contains it: quotes inside are escaped.
const CHECKSUM: &str = ",\"crc32c\":";

/// Lengths of the append-only files of the run folder, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Lengths {
    pub(crate) metrics: u64,
    pub(crate) timing: u64,
    pub(crate) events: u64,
    /// CRC-32C of the metrics.
    pub(crate) metrics_crc32c: u32,
}

/// The file that a run resumes from.
pub(crate) fn encode_last(
    snapshot: &Snapshot,
    parameters: &Parameters,
    config: &str,
    lengths: Lengths,
) -> Result<Vec<u8>> {
    let mut tensors = weights_named("", &snapshot.weights, parameters)?;
    if let Some(theta) = &snapshot.theta {
        tensors.extend(pieces(THETA, theta, parameters)?);
    }
    tensors.extend(pieces(FIRST, &snapshot.first, parameters)?);
    tensors.extend(pieces(SECOND, &snapshot.second, parameters)?);
    if let Some(best) = &snapshot.best {
        tensors.extend(weights_named(BEST, best, parameters)?);
    }
    for (name, tensor) in &snapshot.penalty {
        tensors.push((format!("{PENALTY}{name}"), plain(tensor)?));
    }
    let trained = snapshot.theta.as_ref().map(|theta| theta.size()[0] as usize / parameters.len());
    let label = Label::new(config, snapshot.progress.clone());
    encode(tensors, Label { steps: snapshot.steps, lengths, trained, ..label })
}

/// The file of the best weights; `None` if there are none. It does not depend on when it is written, which differs in a resumed run.
pub(crate) fn encode_best(snapshot: &Snapshot, parameters: &Parameters, config: &str) -> Result<Option<Vec<u8>>> {
    let Some((weights, best)) = snapshot.best.as_ref().zip(snapshot.progress.best) else { return Ok(None) };
    let progress = Progress { epoch: best.epoch, best: Some(best), ..Progress::default() };
    encode(weights_named("", weights, parameters)?, Label::new(config, progress)).map(Some)
}

/// Fills in the checksum and serialises.
fn encode(mut tensors: Vec<(String, TensorBytes)>, mut label: Label) -> Result<Vec<u8>> {
    tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
    let sum = tensors.iter().fold(0, |sum, (_, part)| crc32c::crc32c_append(sum, &part.bytes));
    let text = |label: &Label| serde_json::to_string(label).expect("a label is plain numbers and texts");
    label.crc32c = with_label(sum, &text(&label));
    let metadata = HashMap::from([(KEY.to_string(), text(&label))]);
    let views = tensors.iter().map(|(name, TensorBytes { dtype, shape, bytes })| {
        (name, TensorView::new(*dtype, shape.clone(), bytes).expect("a part has as many bytes as its shape says"))
    });
    Ok(safetensors::serialize(views, Some(metadata)).expect("the views are of parts"))
}

/// Reads a file of [`encode_last`] for these parameters.
pub(crate) fn decode(file: &Path, bytes: &[u8], parameters: &Parameters) -> Result<(Snapshot, Label)> {
    let damaged = |found: String| Error::file(file, "a whole checkpoint", found);
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| damaged(error.to_string()))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| damaged(error.to_string()))?;
    let Some(label) = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY)) else {
        return Err(Error::file(file, "a checkpoint of a run", "a safetensors file of something else"));
    };
    let mut named = tensors.tensors();
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    let sum = with_label(named.iter().fold(0, |sum, (_, view)| crc32c::crc32c_append(sum, view.data())), label);
    let version = serde_json::from_str::<Version>(label).map_err(|error| damaged(error.to_string()))?.version;
    if version != env!("CARGO_PKG_VERSION") {
        let expected = format!("a checkpoint of version {}", env!("CARGO_PKG_VERSION"));
        return Err(Error::file(file, expected, version));
    }
    let label: Label = serde_json::from_str(label).map_err(|error| damaged(error.to_string()))?;
    let mut reader = Reader { file, left: named.into_iter().collect(), parameters };
    let weights = reader.take_weights("")?;
    let theta = label.trained.map(|count| reader.take_pieces(THETA, count)).transpose()?;
    let count = label.trained.unwrap_or(1);
    let first = reader.take_pieces(FIRST, count)?;
    let second = reader.take_pieces(SECOND, count)?;
    let best = if label.progress.best.is_some() { Some(reader.take_weights(BEST)?) } else { None };
    let penalty = reader.take_penalty()?;
    if let Some(name) = reader.left.keys().min() {
        return Err(Error::file(file, "no more tensors than the model has", format!("\"{name}\"")));
    }
    if sum != label.crc32c {
        return Err(damaged(format!("checksum {sum:08x} instead of {:08x}", label.crc32c)));
    }
    let (progress, steps) = (label.progress.clone(), label.steps);
    Ok((Snapshot { progress, weights, theta, first, second, steps, best, penalty }, label))
}

/// The part of a [`Label`] that every version has.
#[derive(Deserialize)]
struct Version {
    version: String,
}

/// Continues the checksum of the tensors over the text of a label.
fn with_label(sum: u32, text: &str) -> u32 {
    let covered = text.rsplit_once(CHECKSUM).map_or(text, |(covered, _)| covered);
    crc32c::crc32c_append(sum, covered.as_bytes())
}

/// A tensor to be written.
struct TensorBytes {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Type and shape of a parameter in a file, if real numbers have this kind.
fn layout(entry: &Entry, kind: Kind) -> (Dtype, Vec<usize>) {
    let mut shape = entry.shape.clone();
    let dtype = match (kind, entry.complex) {
        (Kind::Float, true) => Dtype::C64,
        (Kind::Double, complex) => {
            shape.extend(complex.then_some(2));
            Dtype::F64
        }
        _ => Dtype::F32,
    };
    (dtype, shape)
}

/// Parameters and running statistics under their names with a prefix.
fn weights_named(prefix: &str, weights: &Weights, parameters: &Parameters) -> Result<Vec<(String, TensorBytes)>> {
    let mut parts = named(prefix, &weights.flat, parameters.entries())?;
    parts.extend(named(prefix, &weights.statistics, parameters.statistics_entries())?);
    Ok(parts)
}

fn bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let len = tensor.numel();
    let mut bytes = vec![0; len * tensor.kind().elt_size_in_bytes()];
    tensor.f_to_device(Device::Cpu)?.f_contiguous()?.f_copy_data_u8(&mut bytes, len)?;
    Ok(bytes)
}

/// A list of integers, or of numbers in double precision.
fn plain(tensor: &Tensor) -> Result<TensorBytes> {
    let dtype = if tensor.kind() == Kind::Int64 { Dtype::I64 } else { Dtype::F64 };
    Ok(TensorBytes { dtype, shape: vec![tensor.numel()], bytes: bytes(tensor)? })
}

/// The entries of a flat tensor, named with a prefix.
fn named(prefix: &str, flat: &Tensor, entries: &[Entry]) -> Result<Vec<(String, TensorBytes)>> {
    let kind = flat.kind();
    let (width, bytes) = (kind.elt_size_in_bytes(), bytes(flat)?);
    let part = |entry: &Entry| {
        let (dtype, shape) = layout(entry, kind);
        let bytes = bytes[entry.start * width..(entry.start + entry.len()) * width].to_vec();
        (format!("{prefix}{}", entry.name), TensorBytes { dtype, shape, bytes })
    };
    Ok(entries.iter().map(part).collect())
}

/// The prefix of the n-th flat tensor of several: residual weights have two.
fn piece(prefix: &str, number: usize) -> String {
    if number == 0 { prefix.into() } else { format!("{prefix}{number}.") }
}

/// As [`named`], for several flat tensors in one.
fn pieces(prefix: &str, flat: &Tensor, parameters: &Parameters) -> Result<Vec<(String, TensorBytes)>> {
    let len = parameters.len() as i64;
    let mut parts = Vec::new();
    for (number, flat) in flat.f_split(len, 0)?.iter().enumerate() {
        parts.extend(named(&piece(prefix, number), flat, parameters.entries())?);
    }
    Ok(parts)
}

/// The tensors of a file that have not been taken yet.
struct Reader<'a> {
    file: &'a Path,
    left: HashMap<String, TensorView<'a>>,
    parameters: &'a Parameters,
}

impl Reader<'_> {
    fn take_pieces(&mut self, prefix: &str, count: usize) -> Result<Tensor> {
        let entries = self.parameters.entries();
        let parts = (0..count).map(|number| self.take(&piece(prefix, number), entries)).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::f_cat(&parts, 0)?)
    }

    /// The state of a decoupled penalty, empty if there is none.
    fn take_penalty(&mut self) -> Result<BTreeMap<String, Tensor>> {
        let state = |name: &String| Some((name.clone(), name.strip_prefix(PENALTY)?.to_string()));
        let names: Vec<_> = self.left.keys().filter_map(state).collect();
        let mut found = BTreeMap::new();
        for (name, state) in names {
            let view = self.left.remove(&name).expect("a name that was listed");
            let kind = match view.dtype() {
                Dtype::I64 => Kind::Int64,
                Dtype::F64 => Kind::Double,
                other => return Err(Error::file(self.file, format!("tensor \"{name}\" of I64 or F64"), other)),
            };
            let size: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
            let tensor = Tensor::f_from_data_size(view.data(), &size, kind)?;
            found.insert(state, tensor.f_to_device(self.parameters.device())?);
        }
        Ok(found)
    }

    fn take_weights(&mut self, prefix: &str) -> Result<Weights> {
        let flat = self.take(prefix, self.parameters.entries())?;
        Ok(Weights { flat, statistics: self.take(prefix, self.parameters.statistics_entries())? })
    }

    fn take(&mut self, prefix: &str, entries: &[Entry]) -> Result<Tensor> {
        let kind = self.parameters.flat().kind();
        let len: usize = entries.iter().map(Entry::len).sum();
        let mut bytes = Vec::with_capacity(len * kind.elt_size_in_bytes());
        for entry in entries {
            let name = format!("{prefix}{}", entry.name);
            let (dtype, shape) = layout(entry, kind);
            let expected = format!("tensor \"{name}\" of {dtype} {shape:?}");
            let view = self.left.remove(&name).ok_or_else(|| Error::file(self.file, &expected, "none of that name"))?;
            if view.dtype() != dtype || view.shape() != shape {
                return Err(Error::file(self.file, expected, format!("{} {:?}", view.dtype(), view.shape())));
            }
            bytes.extend(view.data());
        }
        let flat = Tensor::f_from_data_size(&bytes, &[len as i64], kind)?;
        Ok(flat.f_to_device(self.parameters.device())?)
    }
}
