//! A checkpoint and its typing, from the arguments.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use reynolds::group::{self, GroupRef};
use reynolds::plan::{self, Network, ResolvedPlan, SymmetryPlan, UniformFields, Untyped};
use reynolds_checkpoint::{Checkpoint, Entry, Values, whole_file};

use crate::args::{FieldsArg, Typing};
use crate::layout::Layout;

/// An open checkpoint.
#[derive(Debug)]
pub struct Model {
    pub(crate) checkpoint: Checkpoint,
    /// Every tensor that can be read.
    pub(crate) network: Network,
    /// Tensors that cannot be measured, with the reason.
    pub(crate) unread: Vec<Untyped>,
    /// Tensors whose bytes an earlier one has, too, and its name.
    pub(crate) tied: HashMap<String, String>,
}

impl Model {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self::new(Checkpoint::open(path)?))
    }

    /// The tensors of a checkpoint.
    pub fn new(checkpoint: Checkpoint) -> Self {
        let (mut network, mut unread, mut tied) = (Network::default(), Vec::new(), HashMap::new());
        let mut by_storage: HashMap<_, Vec<&Entry>> = HashMap::new();
        for entry in checkpoint.entries() {
            let others = by_storage.entry(entry.storage).or_default();
            if let Some(first) = others.iter().find(|other| other.len() == entry.len() && other.overlaps(entry)) {
                tied.insert(entry.name.clone(), first.name.clone());
            } else {
                others.push(entry);
            }
            let reason = if !entry.is_float() {
                format!("not floating-point ({})", entry.dtype)
            } else if entry.is_empty() || entry.shape.is_empty() {
                "a single number or none".to_string()
            } else {
                let complex = entry.dtype.parts() == 2;
                let list = if complex { &mut network.complex } else { &mut network.tensors };
                list.push((entry.name.clone(), Layout::of(&checkpoint, entry).shape(&entry.shape)));
                continue;
            };
            unread.push(Untyped { name: entry.name.clone(), reason });
        }
        drop(by_storage);
        network.convolutions = checkpoint.convolutions().clone();
        Self { checkpoint, network, unread, tied }
    }

    /// A plan applied to its tensors, complex ones as pairs of real numbers.
    pub(crate) fn resolved(&self, plan: &SymmetryPlan) -> Result<ResolvedPlan> {
        let mut resolved = plan.resolve_network(&self.network).with_context(|| self.file())?;
        let pairs = resolved.complex.iter().map(|tensor| Ok(plan.pairs(tensor)?)).collect::<Result<Vec<_>>>()?;
        resolved.layers.extend(pairs);
        Ok(resolved)
    }

    /// The values of a tensor of this checkpoint, of complex ones real and imaginary part in turn.
    pub(crate) fn read(&self, name: &str) -> Result<Values<'_>> {
        let entry = self.checkpoint.entry(name).with_context(|| format!("no tensor \"{name}\""))?;
        let values = self.checkpoint.read(entry)?;
        Ok(Layout::of(&self.checkpoint, entry).read(values, &entry.shape))
    }

    /// Writes a file about the checkpoint, other than the checkpoint itself.
    pub(crate) fn write_beside(&self, path: &Path, text: &str) -> Result<()> {
        if let (Ok(a), Ok(b)) = (path.canonicalize(), self.checkpoint.path().canonicalize())
            && a == b
        {
            bail!("{}: the output file is the model itself", path.display());
        }
        Ok(whole_file::write(path, text.as_bytes())?)
    }

    /// The file, for messages.
    pub(crate) fn file(&self) -> String {
        self.checkpoint.path().display().to_string()
    }
}

/// A plan and its name: one assumption about the fields of the tensors.
#[derive(Debug)]
pub struct NamedPlan {
    /// "trivial", "regular" or "plan FILE".
    pub fields: String,
    /// The fields of each tensor.
    pub plan: SymmetryPlan,
}

impl Typing {
    /// The plans asked for: one, or both uniform ones where only a group is given.
    pub(crate) fn plans(&self, model: &Model) -> Result<Vec<NamedPlan>> {
        if let Some(path) = &self.plan {
            let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
            let plan = SymmetryPlan::from_toml(&text).with_context(|| path.display().to_string())?;
            if let Some(name) = &self.group
                && !group::same(&group::parse(name)?, plan.group())
            {
                bail!("--group {name}: expected {}, the group of the plan", plan.group().name());
            }
            return Ok(vec![NamedPlan { fields: format!("plan {}", path.display()), plan }]);
        }
        let Some(name) = &self.group else {
            bail!("expected --group G or --plan FILE, found neither");
        };
        let group = group::parse(name)?;
        if group.order().is_none() && self.fields != Some(FieldsArg::Auto) {
            let draft = format!("`reynolds plan {} --group {name} --out plan.toml` writes a draft", model.file());
            bail!("--group {name}: expected --plan FILE, as for every continuous group ({draft}), found none");
        }
        let kinds = match self.fields {
            Some(FieldsArg::Auto) => {
                let plan = SymmetryPlan::from_toml(&plan::suggest(&group, &model.network));
                let plan = plan.with_context(|| format!("{}: no fields can be guessed", model.file()))?;
                return Ok(vec![NamedPlan { fields: "plan guessed from names and shapes".into(), plan }]);
            }
            Some(FieldsArg::Uniform(fields)) => vec![fields],
            None => vec![UniformFields::Trivial, UniformFields::Regular],
        };
        kinds.into_iter().map(|fields| uniform(&group, fields)).collect()
    }
}

fn uniform(group: &GroupRef, fields: UniformFields) -> Result<NamedPlan> {
    Ok(NamedPlan { fields: fields.to_string(), plan: SymmetryPlan::uniform(group, fields)? })
}
