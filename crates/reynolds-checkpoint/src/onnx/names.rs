//! Names of tensors: their own, or those of the nodes that use them where exporters only numbered them.

use std::collections::HashMap;

use super::model::{Graph, Node};

/// What each input of an operation is called.
fn role(operation: &str, input: usize) -> Option<&'static str> {
    Some(match (operation, input) {
        ("Conv" | "ConvTranspose" | "Gemm" | "MatMul", 1) => "weight",
        ("Conv" | "ConvTranspose" | "Gemm", 2) => "bias",
        ("BatchNormalization", 1) => "weight",
        ("BatchNormalization", 2) => "bias",
        ("BatchNormalization", 3) => "running_mean",
        ("BatchNormalization", 4) => "running_var",
        _ => return None,
    })
}

/// Whether an exporter made the name up: a number, `onnx::Conv_321`, `Conv__23_weights_fused_bn`, `const_fold_opt__7`.
fn is_numbered(name: &str) -> bool {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.starts_with("onnx::")
        || name.ends_with("_fused_bn")
        || digits.is_empty()
        || (digits.len() < name.len() && (digits.ends_with("__") || digits == "val_"))
}

/// The module a node stands for: "/layer1/layer1.0/conv1/Conv" → "layer1.0.conv1", "stem/BiasAdd" → "stem"; `None` for "Conv_12".
fn module(path: &str, operation: &str) -> Option<String> {
    let path = path.split(':').next().unwrap_or_default().trim_matches('/');
    let mut parts: Vec<&str> = path.split('/').collect();
    let made_up = |part: &str| {
        let plain = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').to_ascii_lowercase();
        let kinds = [
            "conv2d",
            "conv1d",
            "conv3d",
            "biasadd",
            "matmul",
            "depthwise",
            "fusedbatchnormv",
            "batchnorm",
            "conv",
            "gemm",
            "add",
        ];
        plain == operation.to_ascii_lowercase() || kinds.contains(&&*plain)
    };
    if parts.last().is_some_and(|part| made_up(part)) {
        parts.pop();
    }
    if parts.last().is_none_or(|part| part.is_empty() || is_numbered(part)) {
        return None;
    }
    // PyTorch repeats the path of a module in its name.
    let mut named: Vec<&str> = Vec::new();
    for part in parts {
        let joined = named.last().is_some_and(|last| part.strip_prefix(last).is_some_and(|rest| rest.starts_with('.')));
        if joined {
            named.pop();
        }
        named.push(part);
    }
    Some(named.join("."))
}

/// The name of every tensor, each once.
pub(super) fn of(graph: &Graph<'_>) -> Vec<String> {
    let mut users: HashMap<&str, (&Node<'_>, &str)> = HashMap::new();
    for node in &graph.nodes {
        for (number, input) in node.inputs.iter().enumerate() {
            if let Some(role) = role(node.operation, number) {
                users.entry(input).or_insert((node, role));
            }
        }
    }
    let found = |name: &str| -> Option<String> {
        let (node, role) = users.get(name).filter(|_| is_numbered(name))?;
        let output = node.outputs.first().copied().unwrap_or_default();
        let module = module(node.name, node.operation).or_else(|| module(output, node.operation))?;
        Some(format!("{module}.{role}"))
    };
    let mut names: Vec<String> =
        graph.tensors.iter().map(|tensor| found(tensor.name).unwrap_or_else(|| tensor.name.to_owned())).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    let shared: Vec<bool> = names.iter().map(|name| counts[&**name] > 1).collect();
    // A name that two would have is taken by neither.
    for (number, tensor) in graph.tensors.iter().enumerate().filter(|(number, _)| shared[*number]) {
        names[number] = tensor.name.to_owned();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_name_what_exporters_numbered() {
        for (path, expected) in [
            ("/layer1/layer1.0/conv1/Conv", Some("layer1.0.conv1")),
            ("/features/features.0/Conv", Some("features.0")),
            ("stem/BiasAdd", Some("stem")),
            ("bn_1/FusedBatchNormV3:0", Some("bn_1")),
            ("Conv_12", None),
            ("Conv__440", None),
            ("321", None),
            ("", None),
        ] {
            assert_eq!(module(path, "Conv").as_deref(), expected, "{path}");
        }
        for (name, numbered) in [
            ("onnx::Conv_321", true),
            ("321", true),
            ("Conv__23_weights_fused_bn", true),
            ("const_fold_opt__7", true),
            ("conv1.weight", false),
            ("layer_1", false),
            ("conv2", false),
        ] {
            assert_eq!(is_numbered(name), numbered, "{name}");
        }
    }
}
