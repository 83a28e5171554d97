//! Which layer a bias, a scale or another tensor of one number per channel belongs to, by names.

use std::collections::HashMap;

use super::Role;

/// A name without what wrappers add to it: "module._orig_mod.conv.parametrizations.weight.original" → "conv.weight"; with full stops, where
/// Keras writes "conv/kernel:0".
pub(super) fn unwrapped(name: &str) -> String {
    const WRAPPERS: [&str; 3] = ["_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"];
    let name = name.strip_suffix(":0").unwrap_or(name);
    let mut parts: Vec<&str> = name.split(['.', '/']).filter(|part| !WRAPPERS.contains(part)).collect();
    while parts.len() > 1 && parts[0] == "module" {
        parts.remove(0);
    }
    if let [.., "parametrizations", tensor, "original"] = parts[..] {
        parts.truncate(parts.len() - 3);
        parts.push(tensor);
    }
    parts.join(".")
}

/// The module a tensor belongs to, and its own name in it: "body.0.conv.weight" → ("body.0.conv", "weight").
pub(super) fn split(name: &str) -> (String, String) {
    let name = unwrapped(name);
    name.rsplit_once('.').map_or((String::new(), name.clone()), |(module, own)| (module.into(), own.into()))
}

/// Whether this is the name of an optimizer's state, which has the shapes of weights.
pub(crate) fn is_optimizer_state(name: &str) -> bool {
    name.starts_with("optimizer") || ["exp_avg", "exp_avg_sq", "momentum_buffer"].iter().any(|end| name.ends_with(end))
}

/// Bias or scale, by the usual names.
pub(super) fn role(name: &str) -> Option<Role> {
    match split(name).1.as_str() {
        "bias" | "beta" | "running_mean" | "moving_mean" => Some(Role::Bias),
        "weight" | "scale" | "gamma" | "running_var" | "moving_variance" => Some(Role::Scale),
        _ => None,
    }
}

/// The tensors of rank 2 or more, found by module and by parent module.
#[derive(Default)]
pub(super) struct Layers<'a> {
    /// The first layer with fields of a module, with its output and its input channels; `None` where one without fields is.
    own: HashMap<String, Option<(&'a str, usize, usize)>>,
    /// The first layer below a parent module with so many output channels; `None` where only ones without fields are.
    after: HashMap<(String, usize), Option<&'a str>>,
    /// As `after`, with so many input channels and fields.
    before: HashMap<(String, usize), &'a str>,
}

impl<'a> Layers<'a> {
    /// Tensors, each with whether it has fields.
    pub(super) fn new(tensors: impl Iterator<Item = (&'a (String, Vec<usize>), bool)>) -> Self {
        let mut found = Self::default();
        let (typed, others): (Vec<_>, Vec<_>) =
            tensors.filter(|((_, shape), _)| shape.len() >= 2).partition(|(_, is_typed)| *is_typed);
        for ((name, shape), is_typed) in typed.into_iter().chain(others) {
            let module = split(name).0;
            let parent = split(&module).0;
            let (out, into) = (shape[0], shape[1]);
            found.after.entry((parent.clone(), out)).or_insert(is_typed.then_some(name.as_str()));
            if is_typed {
                found.before.entry((parent, into)).or_insert(name);
                found.own.entry(module).or_insert(Some((name, out, into)));
            } else {
                found.own.insert(module, None);
            }
        }
        found
    }

    /// The layer that a tensor of `length` numbers belongs to, and whether to its output: the layer of the same module, else, for a norm,
    /// the first of the same parent module with as many output channels, else with as many input channels. `None` also where that is a
    /// layer without fields.
    pub(super) fn owner(&self, name: &str, length: usize) -> Option<(&'a str, bool)> {
        let module = split(name).0;
        if let Some(own) = self.own.get(&module) {
            // A transposed convolution has its output channels second.
            let (layer, out, into) = (*own)?;
            return (out == length || into == length).then_some((layer, out == length));
        }
        let beside = (split(&module).0, length);
        match self.after.get(&beside) {
            Some(after) => after.map(|layer| (layer, true)),
            None => self.before.get(&beside).map(|layer| (*layer, false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_stand_beside_the_convolution_of_their_block() {
        let tensors = [
            ("fc.weight", 10, 64, false),
            ("layer1.0.conv1.weight", 64, 32, true),
            ("layer1.0.down.0.weight", 128, 32, true),
            ("layer1.0.grouped.weight", 48, 1, false),
            ("layer1.0.last.weight", 8, 48, false),
        ]
        .map(|(name, out, into, is_typed)| ((name.to_string(), vec![out, into]), is_typed));
        let layers = Layers::new(tensors.iter().map(|(tensor, is_typed)| (tensor, *is_typed)));
        for (name, length, expected) in [
            ("layer1.0.conv1.bias", 64, Some(("layer1.0.conv1.weight", true))),
            ("layer1.0.bn1.weight", 64, Some(("layer1.0.conv1.weight", true))),
            ("layer1.0.bn0.running_var", 32, Some(("layer1.0.conv1.weight", false))),
            ("layer1.0.down.1.bias", 128, Some(("layer1.0.down.0.weight", true))),
            ("layer1.0.conv1.bias", 32, Some(("layer1.0.conv1.weight", false))),
            ("layer1.0.conv1.bias", 16, None),
            ("module.layer1._orig_mod.0.conv1.bias", 64, Some(("layer1.0.conv1.weight", true))),
            ("fc.bias", 64, None),
            ("layer2.bn.weight", 64, None),
            ("layer1.0.bn2.weight", 48, None),
        ] {
            assert_eq!(layers.owner(name, length), expected, "{name}");
        }
        assert_eq!(split("module._orig_mod.conv.parametrizations.weight.original"), ("conv".into(), "weight".into()));
        assert_eq!(split("model_weights/conv/kernel:0"), ("model_weights.conv".into(), "kernel".into()));
        assert_eq!(split("module"), (String::new(), "module".into()));
        assert_eq!(role("a.running_var"), Some(Role::Scale));
        assert_eq!(role("a.num_batches_tracked"), None);
    }

    #[test]
    fn many_layers_beside_each_other_are_found_by_name() {
        // A search through all of them for each would compare 10¹⁰ names.
        let tensors: Vec<_> = (0..100_000).map(|n| (format!("block.m{n}.weight"), vec![n + 1, 1])).collect();
        let layers = Layers::new(tensors.iter().map(|tensor| (tensor, true)));
        for (n, (name, _)) in tensors.iter().enumerate() {
            assert_eq!(layers.owner(&format!("block.n{n}.bias"), n + 1), Some((name.as_str(), true)));
        }
    }
}
