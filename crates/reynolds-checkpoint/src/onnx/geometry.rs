//! Strides, paddings and sizes of the convolutions of a graph. Sizes follow the values from node to node as far as these operations are known.

use std::collections::HashMap;

use reynolds::plan::{Axis, Convolution};

use super::model::{Graph, Node, Shape};

/// Operations that keep the shape of what they take.
const POINTWISE: [&str; 34] = [
    "Relu",
    "Sigmoid",
    "Tanh",
    "LeakyRelu",
    "PRelu",
    "Elu",
    "Selu",
    "Celu",
    "Gelu",
    "Softplus",
    "Softsign",
    "HardSigmoid",
    "HardSwish",
    "Mish",
    "Clip",
    "Erf",
    "Exp",
    "Sqrt",
    "Pow",
    "Abs",
    "Neg",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "BatchNormalization",
    "InstanceNormalization",
    "LRN",
    "Dropout",
    "Identity",
    "Cast",
    "Softmax",
];

/// Largest number that a stride, padding or size may be.
const LIMIT: i64 = 1 << 32;

/// The convolutions by the names of their weights; `constant` gives the integers of a small constant tensor.
pub(super) fn convolutions<'a>(
    graph: &Graph<'a>,
    weights: &HashMap<&'a str, Vec<usize>>,
    constant: impl Fn(&str) -> Option<Vec<i64>>,
) -> HashMap<&'a str, Convolution> {
    let mut shapes: HashMap<&str, Shape> =
        graph.shapes.iter().filter(|(name, _)| !weights.contains_key(name)).cloned().collect();
    // Padded values: what was padded, and by how much.
    let mut padded: HashMap<&str, (&str, Vec<[usize; 2]>)> = HashMap::new();
    let mut found = HashMap::new();
    for node in &graph.nodes {
        let (Some(&from), Some(&to)) = (node.inputs.first(), node.outputs.first()) else { continue };
        let shape = match node.operation {
            "Conv" | "ConvTranspose" => {
                let Some((&name, weight)) = node.inputs.get(1).and_then(|name| weights.get_key_value(name)) else {
                    continue;
                };
                let (source, added) = padded.get(from).map_or((from, None), |(source, added)| (*source, Some(added)));
                let Some(convolution) = convolution(node, weight, shapes.get(source), added) else { continue };
                let shape = output(&convolution, weight);
                found.entry(name).or_insert(convolution);
                shape
            }
            "MaxPool" | "AveragePool" | "LpPool" => pooled(node, shapes.get(from)),
            "GlobalAveragePool" | "GlobalMaxPool" => shapes.get(from).map(ones),
            "Transpose" => transposed(node, shapes.get(from)),
            "Concat" if node.number("axis") == Some(1) => node.inputs.iter().find_map(|name| shapes.get(name)).cloned(),
            "Pad" => {
                let pads = node.numbers("pads").map(<[i64]>::to_vec).or_else(|| constant(node.inputs.get(1)?));
                let shape = shapes.get(from);
                match pads.and_then(|pads| sides(&pads)).filter(|sides| sides.len() > 2) {
                    Some(sides) => {
                        padded.insert(to, (from, sides[2..].to_vec()));
                        let grown =
                            |(size, side): (&Option<usize>, &[usize; 2])| size.map(|size| size + side[0] + side[1]);
                        shape
                            .filter(|shape| shape.len() == sides.len())
                            .map(|shape| shape.iter().zip(&sides).map(grown).collect())
                    }
                    None => None,
                }
            }
            operation if POINTWISE.contains(&operation) => {
                // The larger of two that are broadcast.
                node.inputs.iter().filter_map(|name| shapes.get(name)).max_by_key(|shape| shape.len()).cloned()
            }
            _ => None,
        };
        if let Some(shape) = shape {
            shapes.entry(to).or_insert(shape);
        }
    }
    found
}

/// Paddings of each axis, from all that lie before and then all that lie behind.
fn sides(pads: &[i64]) -> Option<Vec<[usize; 2]>> {
    let natural = |&pad: &i64| usize::try_from(pad).ok().filter(|_| pad < LIMIT);
    let (before, after) = pads.split_at_checked(pads.len() / 2).filter(|_| pads.len().is_multiple_of(2))?;
    before.iter().zip(after).map(|(before, after)| Some([natural(before)?, natural(after)?])).collect()
}

fn list(node: &Node<'_>, name: &str, axes: usize, default: usize) -> Option<Vec<usize>> {
    match node.numbers(name).filter(|numbers| !numbers.is_empty()) {
        None => Some(vec![default; axes]),
        Some(numbers) if numbers.len() == axes => {
            numbers.iter().map(|&number| usize::try_from(number).ok().filter(|_| number < LIMIT)).collect()
        }
        Some(_) => None,
    }
}

/// The windows of a node over `kernel` points: strides, paddings and dilations, with the sizes of its input.
fn windows(
    node: &Node<'_>,
    kernel: &[usize],
    input: Option<&Shape>,
    added: Option<&Vec<[usize; 2]>>,
) -> Option<Vec<Axis>> {
    let n = kernel.len();
    let strides = list(node, "strides", n, 1)?;
    let dilations = list(node, "dilations", n, 1)?;
    let outputs = list(node, "output_padding", n, 0)?;
    let pads = node.numbers("pads").filter(|pads| !pads.is_empty()).map_or_else(|| Some(vec![[0; 2]; n]), sides)?;
    if pads.len() != n || strides.contains(&0) || dilations.contains(&0) {
        return None;
    }
    let same = node.text("auto_pad").filter(|text| text.starts_with("SAME"));
    let sizes = input.filter(|shape| shape.len() == n + 2).map(|shape| &shape[2..]);
    let axis = |at: usize| -> Option<Axis> {
        let (stride, dilation, input) = (strides[at], dilations[at], sizes.and_then(|sizes| sizes[at]));
        let mut padding = pads[at];
        if let Some(same) = same {
            // As much as lets every stride-th point be a centre; the odd one at the end, or at the beginning.
            let reach = (kernel[at].checked_sub(1)?).checked_mul(dilation)? + 1;
            let total = match input {
                _ if stride == 1 => reach - 1,
                Some(input) => {
                    (input.div_ceil(stride) - 1) * stride + reach
                        - input.min((input.div_ceil(stride) - 1) * stride + reach)
                }
                None => return None,
            };
            padding = [total / 2, total - total / 2];
            if same == "SAME_LOWER" {
                padding.reverse();
            }
        }
        if let Some(more) = added.filter(|more| more.len() == n) {
            padding = [padding[0] + more[at][0], padding[1] + more[at][1]];
        }
        Some(Axis { stride, padding, dilation, output_padding: outputs[at], input })
    };
    (0..n).map(axis).collect()
}

fn convolution(
    node: &Node<'_>,
    weight: &[usize],
    input: Option<&Shape>,
    added: Option<&Vec<[usize; 2]>>,
) -> Option<Convolution> {
    let groups = usize::try_from(node.number("group").unwrap_or(1)).ok().filter(|&groups| groups > 0)?;
    let axes = windows(node, weight.get(2..).filter(|sides| !sides.is_empty())?, input, added)?;
    Some(Convolution { transposed: node.operation == "ConvTranspose", groups, axes })
}

/// The shape after a convolution.
fn output(convolution: &Convolution, weight: &[usize]) -> Option<Shape> {
    let size = |(axis, &side): (&Axis, &usize)| -> Option<usize> {
        let reach = side.checked_sub(1)?.checked_mul(axis.dilation)? + 1;
        let input = axis.input?;
        match convolution.transposed {
            false => Some((input + axis.padding[0] + axis.padding[1]).checked_sub(reach)? / axis.stride + 1),
            true => (input.checked_sub(1)?.checked_mul(axis.stride)? + reach + axis.output_padding)
                .checked_sub(axis.padding[0] + axis.padding[1]),
        }
    };
    Some([None, None].into_iter().chain(convolution.axes.iter().zip(&weight[2..]).map(size)).collect())
}

fn pooled(node: &Node<'_>, input: Option<&Shape>) -> Option<Shape> {
    let kernel: Vec<usize> = node
        .numbers("kernel_shape")?
        .iter()
        .map(|&side| usize::try_from(side).ok().filter(|_| side < LIMIT))
        .collect::<Option<_>>()?;
    let up = node.number("ceil_mode") == Some(1);
    let size = |(axis, &side): (Axis, &usize)| -> Option<usize> {
        let reach = side.checked_sub(1)?.checked_mul(axis.dilation)? + 1;
        let span = (axis.input? + axis.padding[0] + axis.padding[1]).checked_sub(reach)?;
        Some(if up { span.div_ceil(axis.stride) } else { span / axis.stride } + 1)
    };
    let axes = windows(node, &kernel, input, None)?;
    Some(input?.iter().take(2).copied().chain(axes.into_iter().zip(&kernel).map(size)).collect())
}

fn ones(shape: &Shape) -> Shape {
    shape.iter().enumerate().map(|(at, &size)| if at < 2 { size } else { Some(1) }).collect()
}

fn transposed(node: &Node<'_>, input: Option<&Shape>) -> Option<Shape> {
    let (order, shape) = (node.numbers("perm")?, input?);
    (order.len() == shape.len()).then(|| order.iter().map(|&at| *shape.get(usize::try_from(at).ok()?)?).collect())
}
