//! A checkpoint and its typing, from the arguments.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use reynolds::group::{self, GroupRef};
use reynolds::plan::{self, Network, ResolvedPlan, SymmetryPlan, UniformFields, Untyped};
use reynolds_checkpoint::{Checkpoint, Entry, Format, Values, whole_file};

use crate::args::{FieldsArg, Typing};
use crate::layout::Layout;
use crate::shards;

/// An open model: a checkpoint, or several that hold parts of it.
#[derive(Debug)]
pub struct Model {
    path: PathBuf,
    pub(crate) shards: Vec<Checkpoint>,
    /// The shard of each tensor.
    homes: HashMap<String, usize>,
    /// Every tensor that can be read.
    pub(crate) network: Network,
    /// Tensors that cannot be measured, with the reason.
    pub(crate) unread: Vec<Untyped>,
    /// Tensors whose bytes an earlier one has, too, and its name.
    pub(crate) tied: HashMap<String, String>,
}

impl Model {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::of_files(path, |path| Ok(Checkpoint::open(path)?))
    }

    /// As the command opens it, in memory instead of mapped: for programs in which a file that another process shortens must not end this one.
    pub fn load(path: &Path) -> Result<Self> {
        Self::of_files(path, |path| Ok(Checkpoint::load(path)?))
    }

    fn of_files(path: &Path, open: impl Fn(&Path) -> Result<Checkpoint>) -> Result<Self> {
        let shards = match shards::of(path)? {
            None => vec![open(path)?],
            Some(files) => files.iter().map(|file| open(file)).collect::<Result<_>>()?,
        };
        Self::of_shards(path, shards)
    }

    /// The tensors of a checkpoint.
    ///
    /// # Panics
    /// Never: names are unique within a checkpoint.
    pub fn new(checkpoint: Checkpoint) -> Self {
        let path = checkpoint.path().to_path_buf();
        Self::of_shards(&path, vec![checkpoint]).expect("the names of one checkpoint are unique")
    }

    fn of_shards(path: &Path, shards: Vec<Checkpoint>) -> Result<Self> {
        let mut model = Self {
            path: path.into(),
            shards: vec![],
            homes: HashMap::new(),
            network: Network::default(),
            unread: vec![],
            tied: HashMap::new(),
        };
        for (number, checkpoint) in shards.iter().enumerate() {
            model.network.convolutions.extend(checkpoint.convolutions().clone());
            let mut by_place: HashMap<_, &Entry> = HashMap::new();
            for entry in checkpoint.entries() {
                if let Some(first) = model.homes.insert(entry.name.clone(), number) {
                    let [first, second] = [first, number].map(|shard| shards[shard].path().display());
                    bail!(
                        "{}: expected every name once, found \"{}\" in {first} and in {second}",
                        path.display(),
                        entry.name
                    );
                }
                if entry.is_float() && !entry.is_empty() {
                    let first = by_place.entry(entry.place()).or_insert(entry);
                    if first.name != entry.name {
                        model.tied.insert(entry.name.clone(), first.name.clone());
                    }
                }
                model.list(checkpoint, entry);
            }
        }
        model.shards = shards;
        Ok(model)
    }

    /// Whether the nodes of the file show that a tensor with the shape of kernels is something else.
    fn is_no_layer(&self, checkpoint: &Checkpoint, entry: &Entry) -> bool {
        checkpoint.format() == Format::Onnx
            && entry.shape.len() > 2
            && !self.network.convolutions.contains_key(&entry.name)
    }

    /// Notes what a tensor is.
    fn list(&mut self, checkpoint: &Checkpoint, entry: &Entry) {
        let reason = if !entry.is_float() {
            format!("not floating-point ({})", entry.dtype)
        } else if entry.is_empty() || entry.shape.is_empty() {
            "a single number or none".to_string()
        } else if self.is_no_layer(checkpoint, entry) {
            "a constant that is no weight of a convolution".to_string()
        } else {
            let complex = entry.dtype.parts() == 2;
            let list = if complex { &mut self.network.complex } else { &mut self.network.tensors };
            list.push((entry.name.clone(), Layout::of(checkpoint, entry).shape(&entry.shape)));
            return;
        };
        self.unread.push(Untyped { name: entry.name.clone(), reason });
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
        let (checkpoint, entry) = self.entry(name)?;
        let values = checkpoint.read(entry)?;
        Ok(Layout::of(checkpoint, entry).read(values, &entry.shape))
    }

    fn entry(&self, name: &str) -> Result<(&Checkpoint, &Entry)> {
        let checkpoint = self.homes.get(name).map(|&shard| &self.shards[shard]);
        let found = checkpoint.and_then(|checkpoint| Some((checkpoint, checkpoint.entry(name)?)));
        found.with_context(|| format!("no tensor \"{name}\""))
    }

    /// Of a model in several files, lets the system drop a tensor from memory: all of them together may be larger than that.
    pub(crate) fn release(&self, name: &str) {
        if self.shards.len() > 1
            && let Ok((checkpoint, entry)) = self.entry(name)
        {
            checkpoint.release(entry);
        }
    }

    /// Whether the tensor lies in that shard.
    pub(crate) fn is_in(&self, name: &str, shard: usize) -> bool {
        self.homes.get(name) == Some(&shard)
    }

    /// Writes a file about the model, other than one of its own.
    pub(crate) fn write_beside(&self, path: &Path, text: &str) -> Result<()> {
        let own = self.shards.iter().map(Checkpoint::path).chain([&*self.path]);
        if let Ok(there) = path.canonicalize()
            && own.filter_map(|own| own.canonicalize().ok()).any(|own| own == there)
        {
            bail!("{}: the output file is the model itself", path.display());
        }
        Ok(whole_file::write(path, text.as_bytes())?)
    }

    /// The path, for messages.
    pub(crate) fn file(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The plan that `reynolds plan` suggests.
    pub fn guessed(&self, group: &GroupRef) -> Result<NamedPlan> {
        let plan = SymmetryPlan::from_toml(&plan::suggest(group, &self.network));
        let plan = plan.with_context(|| format!("{}: no fields can be guessed", self.file()))?;
        Ok(NamedPlan { fields: "plan guessed from names and shapes".into(), plan })
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
            Some(FieldsArg::Auto) => return Ok(vec![model.guessed(&group)?]),
            Some(FieldsArg::Uniform(fields)) => vec![fields],
            None => vec![UniformFields::Trivial, UniformFields::Regular],
        };
        kinds.into_iter().map(|fields| uniform(&group, fields)).collect()
    }
}

fn uniform(group: &GroupRef, fields: UniformFields) -> Result<NamedPlan> {
    Ok(NamedPlan { fields: fields.to_string(), plan: SymmetryPlan::uniform(group, fields)? })
}
