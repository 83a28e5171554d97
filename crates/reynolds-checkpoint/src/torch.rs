//! PyTorch's zip format: `<archive>/data.pkl` names the tensors, `<archive>/data/<key>` are their storages.

use super::pickle::{self, Fault, Id, Pickle, StorageName, Value, View};
use super::{Contents, Entry, Input, Storage, StorageId, zip};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// Bytes of a pickle, which names tensors but does not hold them.
const PICKLE_LIMIT: usize = 1 << 28;
/// So many times as long as its compressed form a pickle may be; names of tensors compress about tenfold.
const RATIO_LIMIT: usize = 100;
/// Depth of nested containers.
const DEPTH_LIMIT: usize = 64;
/// Bytes of one key.
const KEY_LIMIT: usize = 1 << 12;
/// Containers and tensors that are visited beyond one for each byte of the pickle; a shared container is visited once per path to it.
const VISIT_LIMIT: usize = 1 << 12;
/// Bytes of all names together.
const NAME_LIMIT: usize = 1 << 27;
/// What to do about a pickle that is refused.
const HINT: &str = "save model.state_dict() with torch.save, or convert to .safetensors";

/// The member with the pickle, if the archive is a PyTorch file.
pub(super) fn pickle_of(archive: &zip::Archive) -> Option<usize> {
    let is_pickle = |name: &str| name == "data.pkl" || (name.ends_with("/data.pkl") && name.matches('/').count() == 1);
    archive.members.iter().position(|member| is_pickle(&member.name))
}

/// Reads the pickle, finds its tensors and checks each against its storage.
pub(super) fn parse(input: Input<'_>, mut archive: zip::Archive, member_of_pickle: usize) -> Result<Contents> {
    let folder = archive.members[member_of_pickle].name.strip_suffix("data.pkl").unwrap_or_default().to_owned();
    let members: HashMap<String, usize> =
        archive.members.iter().enumerate().map(|(number, member)| (member.name.clone(), number)).collect();
    let member = |name: &str| members.get(&format!("{folder}{name}")).copied();
    // PyTorch reads without checking, and can be told not to compute checksums.
    archive.members.iter_mut().for_each(|member| member.verify = false);
    if let Some(order) = member("byteorder") {
        let order = archive.members[order].beginning(input, 16)?;
        if order.trim_ascii() != b"little" {
            let found = format!("{:?} (save again on a little-endian machine)", order.escape_ascii().to_string());
            return Err(input.malformed("byte order \"little\"", found));
        }
    }
    if member("constants.pkl").is_some() {
        return Err(
            input.malformed("a saved state_dict", "a TorchScript archive (save torch.jit.load(file).state_dict())")
        );
    }
    let packed = &archive.members[member_of_pickle];
    let most = PICKLE_LIMIT.min((1 << 20) + RATIO_LIMIT * packed.data().len());
    if packed.size > most {
        return Err(input.bad_tensor(
            &packed.name,
            format!("a pickle of at most {most} bytes"),
            packed.size.to_string(),
        ));
    }
    let bytes = archive.members[member_of_pickle].contents(input)?;
    let parsed = pickle::read(&bytes).map_err(|fault| match fault {
        Fault::Refused(what) => Error::Refused { file: input.path.into(), what, hint: HINT },
        Fault::Malformed(found) => {
            input.bad_tensor(&archive.members[member_of_pickle].name, "a pickle of tensors", found)
        }
    })?;

    let most = VISIT_LIMIT + bytes.len();
    let mut walk = Walk { input, pickle: &parsed, path: Vec::new(), visits: 0, most, named: 0, found: Vec::new() };
    walk.visit(parsed.root)?;
    let (mut entries, mut storages, mut ids) = (Vec::with_capacity(walk.found.len()), Vec::new(), HashMap::new());
    for (name, view) in walk.found {
        let Value::Storage(storage) = &parsed.values[view.storage] else { continue };
        let number = member(&format!("data/{}", storage.key));
        let missing = || input.bad_tensor(&name, format!("its storage {folder}data/{}", storage.key), "no such member");
        let number = number.ok_or_else(missing)?;
        let bytes = archive.members[number].size;
        let id = *ids.entry(number).or_insert_with(|| {
            storages.push(Storage::Member(number));
            StorageId(storages.len() - 1)
        });
        entries.push(entry(input, name, view, storage, bytes, id)?);
    }
    drop(parsed);
    drop(bytes);
    Ok(Contents { entries, storages, archive })
}

/// One tensor, checked against its storage of `bytes` bytes.
fn entry(
    input: Input<'_>,
    name: String,
    view: &View,
    storage: &StorageName<'_>,
    bytes: usize,
    id: StorageId,
) -> Result<Entry> {
    if storage.elements.checked_mul(storage.item) != Some(bytes) {
        let expected = format!("a storage of {} × {} bytes", storage.elements, storage.item);
        return Err(input.bad_tensor(&name, expected, format!("{bytes} bytes")));
    }
    let (dtype, item) = match &view.dtype {
        Some((dtype, item)) => (dtype.clone(), *item),
        None => (storage.dtype.clone(), storage.item),
    };
    let empty = input.elements(&name, &view.shape)? == 0;
    let steps = view.shape.iter().zip(&view.strides);
    let last = steps.filter(|_| !empty).try_fold(view.offset, |last, (&size, &stride)| {
        (size - 1).checked_mul(stride).and_then(|step| last.checked_add(step))
    });
    let end = match empty {
        true => view.offset.checked_mul(item),
        false => last.and_then(|last| last.checked_add(1)).and_then(|end| end.checked_mul(item)),
    };
    if end.is_none_or(|end| end > bytes) {
        let found = format!("offset {}, shape {:?}, strides {:?}", view.offset, view.shape, view.strides);
        return Err(input.bad_tensor(&name, format!("a view within its storage of {} elements", bytes / item), found));
    }
    let (shape, strides) = (view.shape.clone(), view.strides.clone());
    let start = view.offset * item;
    Ok(Entry { name, shape, dtype, storage: id, start, strides })
}

/// The search for tensors in nested containers.
struct Walk<'p, 'a> {
    input: Input<'p>,
    pickle: &'p Pickle<'a>,
    /// The keys from the root to here.
    path: Vec<String>,
    visits: usize,
    /// As many visits as there may be.
    most: usize,
    named: usize,
    found: Vec<(String, &'p View)>,
}

impl<'p> Walk<'p, '_> {
    fn visit(&mut self, id: Id) -> Result<()> {
        self.visits += 1;
        let limit = |expected: String, found: &str| Err(self.input.malformed(expected, found));
        if self.visits > self.most {
            return limit(format!("at most {} containers and tensors", self.most), "more, through shared containers");
        }
        if self.path.len() > DEPTH_LIMIT {
            return limit(format!("containers nested at most {DEPTH_LIMIT} deep"), "a deeper one, or a cycle");
        }
        let pickle = self.pickle;
        match &pickle.values[id] {
            Value::Tensor(view) => {
                let name = match self.path.is_empty() {
                    true => "tensor".to_owned(),
                    false => self.path.join("."),
                };
                self.named += name.len();
                if self.named > NAME_LIMIT {
                    return limit(format!("names of at most {NAME_LIMIT} bytes together"), "more");
                }
                self.found.push((name, view));
                Ok(())
            }
            Value::Dict(items) => items.iter().try_for_each(|&(key, value)| self.enter(self.key(key), value)),
            Value::List(items) | Value::Tuple(items) => {
                items.iter().enumerate().try_for_each(|(index, &value)| self.enter(Some(index.to_string()), value))
            }
            _ => Ok(()),
        }
    }

    /// Visits the value of a key if it is a container or a tensor.
    fn enter(&mut self, key: Option<String>, value: Id) -> Result<()> {
        if !matches!(self.pickle.values[value], Value::Tensor(_) | Value::Dict(_) | Value::List(_) | Value::Tuple(_)) {
            return Ok(());
        }
        let Some(key) = key else {
            let found = format!("one under {:?} that is neither", self.path.join("."));
            let expected = format!("keys that are texts of at most {KEY_LIMIT} bytes or whole numbers");
            return Err(self.input.malformed(expected, found));
        };
        self.path.push(key);
        let visited = self.visit(value);
        self.path.pop();
        visited
    }

    fn key(&self, key: Id) -> Option<String> {
        match &self.pickle.values[key] {
            Value::Text(text) if text.len() <= KEY_LIMIT => Some((*text).to_owned()),
            Value::Int(number) => Some(number.to_string()),
            _ => None,
        }
    }
}
