//! Which layer a bias, a scale or another tensor of one number per channel belongs to, by names.

use super::Role;

/// A name without what wrappers add to it: "module._orig_mod.conv.parametrizations.weight.original" → "conv.weight".
pub(super) fn unwrapped(name: &str) -> String {
    const WRAPPERS: [&str; 3] = ["_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"];
    let mut parts: Vec<&str> = name.split('.').filter(|part| !WRAPPERS.contains(part)).collect();
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
pub(super) fn is_optimizer_state(name: &str) -> bool {
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

/// A tensor of rank 2 or more: its name, its module and the parent of that, its output and its input channels.
pub(super) struct Layer<'a> {
    name: &'a str,
    module: String,
    parent: String,
    out: usize,
    into: usize,
}

impl<'a> Layer<'a> {
    fn new(name: &'a str, out: usize, into: usize) -> Self {
        let module = split(name).0;
        let parent = split(&module).0;
        Self { name, module, parent, out, into }
    }
}

/// The tensors of rank 2 or more, split into those with fields and the others.
pub(super) fn layers<'a>(
    tensors: impl Iterator<Item = (&'a (String, Vec<usize>), bool)>,
) -> (Vec<Layer<'a>>, Vec<Layer<'a>>) {
    let (typed, others): (Vec<_>, Vec<_>) =
        tensors.filter(|((_, shape), _)| shape.len() >= 2).partition(|(_, is_typed)| *is_typed);
    let layer = |((name, shape), _): (&'a (String, Vec<usize>), bool)| Layer::new(name, shape[0], shape[1]);
    (typed.into_iter().map(layer).collect(), others.into_iter().map(layer).collect())
}

/// The layer that a tensor of `length` numbers belongs to, and whether to its output: the layer of the same module, else, for a norm, the
/// first of the same parent module with as many output channels, else with as many input channels.
///
/// `layers` have fields; a norm may also belong to one of the `others` of rank 2 or more: `None` then.
pub(super) fn owner<'a>(
    name: &str,
    length: usize,
    layers: &[Layer<'a>],
    others: &[Layer<'_>],
) -> Option<(&'a str, bool)> {
    let module = split(name).0;
    if others.iter().any(|other| other.module == module) {
        return None;
    }
    if let Some(own) = layers.iter().find(|layer| layer.module == module) {
        // A transposed convolution has its output channels second.
        return (own.out == length || own.into == length).then_some((own.name, own.out == length));
    }
    let parent = split(&module).0;
    let beside = |layer: &&Layer<'_>| layer.parent == parent;
    let after = layers.iter().filter(beside).find(|layer| layer.out == length).map(|layer| (layer.name, true));
    if after.is_none() && others.iter().filter(beside).any(|other| other.out == length) {
        return None;
    }
    let before = || layers.iter().filter(beside).find(|layer| layer.into == length).map(|layer| (layer.name, false));
    after.or_else(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_stand_beside_the_convolution_of_their_block() {
        let new = |(name, out, into)| Layer::new(name, out, into);
        let layers = [("layer1.0.conv1.weight", 64, 32), ("layer1.0.down.0.weight", 128, 32)].map(new);
        let others =
            [("fc.weight", 10, 64), ("layer1.0.grouped.weight", 48, 1), ("layer1.0.last.weight", 8, 48)].map(new);
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
            assert_eq!(owner(name, length, &layers, &others), expected, "{name}");
        }
        assert_eq!(split("module._orig_mod.conv.parametrizations.weight.original"), ("conv".into(), "weight".into()));
        assert_eq!(split("module"), (String::new(), "module".into()));
        assert_eq!(role("a.running_var"), Some(Role::Scale));
        assert_eq!(role("a.num_batches_tracked"), None);
    }
}
