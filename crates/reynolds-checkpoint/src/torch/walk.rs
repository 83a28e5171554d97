//! The search for tensors in a pickle's nested containers.
//!
//! ```text
//! {"state_dict": {"conv.weight": tensor}, "epoch": 3}   ─▶  state_dict.conv.weight
//! a module: its parameters, its buffers, then its modules  ─▶  conv.weight, as its state_dict names them
//! ```

use std::collections::HashSet;

use super::super::Input;
use super::super::pickle::{Id, Pickle, Value, View};
use crate::error::Result;

/// Depth of nested containers.
const DEPTH_LIMIT: usize = 64;
/// Bytes of one key.
const KEY_LIMIT: usize = 1 << 12;
/// Containers and tensors that are visited beyond one for each byte of the pickle; a shared container is visited once per path to it.
const VISIT_LIMIT: usize = 1 << 12;
/// Bytes of all names together.
const NAME_LIMIT: usize = 1 << 27;
/// Where a module keeps its tensors and its modules.
const MODULE: [&str; 3] = ["_parameters", "_buffers", "_modules"];

/// Names and views of all tensors of a pickle of so many bytes.
pub(super) fn tensors<'p>(input: Input<'_>, pickle: &'p Pickle<'_>, length: usize) -> Result<Vec<(String, &'p View)>> {
    let (path, found, most) = (Vec::new(), Vec::new(), VISIT_LIMIT + length);
    let mut walk = Walk {
        input,
        pickle,
        path,
        visits: 0,
        most,
        named: 0,
        found,
        objects: HashSet::new(),
        modules: vec![],
        inside: 0,
        nameless: 0,
    };
    walk.visit(pickle.root)?;
    Ok(walk.found)
}

/// The search.
struct Walk<'i, 'p, 'a> {
    input: Input<'i>,
    pickle: &'p Pickle<'a>,
    /// The keys from the root to here.
    path: Vec<String>,
    visits: usize,
    /// As many visits as there may be.
    most: usize,
    named: usize,
    found: Vec<(String, &'p View)>,
    /// Objects that were visited; those that are no modules may hold each other, and are visited once.
    objects: HashSet<Id>,
    /// The modules from the root to here.
    modules: Vec<Id>,
    /// How many of the values from the root to here are objects that are no modules: what they hold need not have names.
    inside: usize,
    /// How many of them stand under keys that cannot be part of a name.
    nameless: usize,
}

impl<'p> Walk<'_, 'p, '_> {
    fn visit(&mut self, id: Id) -> Result<()> {
        self.visits += 1;
        let limit = |expected: String, found: &str| Err(self.input.malformed(expected, found));
        if self.visits > self.most {
            return limit(format!("at most {} containers and tensors", self.most), "more, through shared containers");
        }
        if self.path.len() > DEPTH_LIMIT {
            return match self.inside {
                0 => limit(format!("containers nested at most {DEPTH_LIMIT} deep"), "a deeper one, or a cycle"),
                _ => Ok(()),
            };
        }
        let pickle = self.pickle;
        match &pickle.values[id] {
            Value::Tensor(_) if self.nameless > 0 => {
                let expected = format!("keys of tensors that are texts of at most {KEY_LIMIT} bytes or whole numbers");
                if self.inside > 0 { Ok(()) } else { limit(expected, "one that is neither") }
            }
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
            Value::Dict(items) => self.enter_all(items),
            Value::List(items) | Value::Tuple(items) => {
                items.iter().enumerate().try_for_each(|(index, &value)| self.enter(Some(index.to_string()), value))
            }
            Value::Object(parts) => self.object(id, parts),
            _ => Ok(()),
        }
    }

    /// A module's tensors under the names of its state_dict; of any other object what its attributes hold.
    fn object(&mut self, id: Id, parts: &'p [Id]) -> Result<()> {
        let sections = self.sections(parts);
        if sections.is_empty() {
            if !self.objects.insert(id) {
                return Ok(());
            }
            self.inside += 1;
            let visited = parts.iter().try_for_each(|&part| self.visit(part));
            self.inside -= 1;
            return visited;
        }
        // A module that holds itself has no state_dict.
        if self.modules.contains(&id) {
            return Ok(());
        }
        self.modules.push(id);
        let visited = sections.into_iter().try_for_each(|items| self.enter_all(items));
        self.modules.pop();
        visited
    }

    /// Parameters, buffers and modules of a module; nothing for other objects.
    fn sections(&self, parts: &[Id]) -> Vec<&'p [(Id, Id)]> {
        let pickle = self.pickle;
        let items = |id: Id| match &pickle.values[id] {
            Value::Dict(items) => Some(&items[..]),
            _ => None,
        };
        let section = |name: &&str| {
            let mut all = parts.iter().filter_map(|&part| items(part)).flatten();
            all.find(|(key, _)| matches!(&pickle.values[*key], Value::Text(text) if text == name))
        };
        match section(&MODULE[0]) {
            None => vec![],
            Some(_) => MODULE.iter().filter_map(section).filter_map(|&(_, value)| items(value)).collect(),
        }
    }

    fn enter_all(&mut self, items: &'p [(Id, Id)]) -> Result<()> {
        items.iter().try_for_each(|&(key, value)| self.enter(self.key(key), value))
    }

    /// Visits the value of a key if it is a container or a tensor.
    fn enter(&mut self, key: Option<String>, value: Id) -> Result<()> {
        let holds = matches!(
            self.pickle.values[value],
            Value::Tensor(_) | Value::Dict(_) | Value::List(_) | Value::Tuple(_) | Value::Object(_)
        );
        if !holds {
            return Ok(());
        }
        let is_nameless = key.is_none();
        self.nameless += usize::from(is_nameless);
        self.path.push(key.unwrap_or_default());
        let visited = self.visit(value);
        self.path.pop();
        self.nameless -= usize::from(is_nameless);
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
