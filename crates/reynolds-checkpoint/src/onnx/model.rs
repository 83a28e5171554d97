//! The messages of a model that matter here: initialisers, nodes, inputs, with their texts and data in place.

use std::ops::Range;

use super::super::Input;
use super::wire::{Damage, Fields, Wire, numbers};
use crate::error::Result;

/// Nodes, tensors and values of a graph: far more than any network has, and a bound on the memory that a small file can claim.
const COUNT_LIMIT: usize = 1 << 20;
/// Indices of a tensor.
const RANK_LIMIT: usize = 64;

/// A size that is not a number is `None`.
pub(super) type Shape = Vec<Option<usize>>;

/// A graph.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub(super) tensors: Vec<Tensor<'a>>,
    pub(super) nodes: Vec<Node<'a>>,
    /// Names and shapes of inputs, outputs and values between.
    pub(super) shapes: Vec<(&'a str, Shape)>,
}

/// A constant tensor.
#[derive(Debug, Default)]
pub(super) struct Tensor<'a> {
    pub(super) name: &'a str,
    pub(super) dims: Vec<i64>,
    /// Number of its type, as the format counts them.
    pub(super) kind: u64,
    pub(super) data: Data,
    /// Keys and values of data outside the file.
    pub(super) outside: Vec<(&'a str, &'a str)>,
    pub(super) is_outside: bool,
}

/// Where the numbers of a tensor are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Data {
    #[default]
    None,
    /// Little-endian numbers, one after the other.
    Plain(Range<usize>),
    /// In a form that is not read.
    Other(&'static str),
}

/// An operation.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) operation: &'a str,
    pub(super) inputs: Vec<&'a str>,
    pub(super) outputs: Vec<&'a str>,
    attributes: Vec<Attribute<'a>>,
}

/// A named number, list of numbers or text.
#[derive(Debug, Default)]
struct Attribute<'a> {
    name: &'a str,
    number: i64,
    numbers: Vec<i64>,
    text: &'a str,
}

impl Node<'_> {
    fn attribute(&self, name: &str) -> Option<&Attribute<'_>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.attribute(name).map(|attribute| attribute.number)
    }

    pub(super) fn numbers(&self, name: &str) -> Option<&[i64]> {
        self.attribute(name).map(|attribute| &attribute.numbers[..])
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.attribute(name).map(|attribute| attribute.text)
    }
}

/// Whether the bytes are a model: whole fields, with a graph among them.
pub(super) fn is_model(bytes: &[u8]) -> bool {
    let (mut graphs, mut versions) = (0, 0);
    let whole = Fields::of(bytes, 0..bytes.len()).all(|field| match field {
        Ok((7, Wire::Bytes(_))) => {
            graphs += 1;
            true
        }
        Ok((8, Wire::Bytes(_))) => {
            versions += 1;
            true
        }
        Ok((number, _)) => (1..=32).contains(&number),
        Err(_) => false,
    });
    whole && graphs == 1 && versions > 0
}

/// Reads the graph of a model.
pub(super) fn graph<'a>(input: Input<'a>) -> Result<Graph<'a>> {
    let reader = Reader { input };
    let (mut graph, mut version) = (None, false);
    for field in Fields::of(input.bytes, 0..input.bytes.len()) {
        match reader.whole(field)? {
            (7, Wire::Bytes(range)) => graph = Some(reader.graph(range)?),
            (8, Wire::Bytes(_)) => version = true,
            _ => {}
        }
    }
    // The version comes last, so that a file that was cut has none.
    let missing =
        || input.malformed("an ONNX model with a graph and the version of its operations", "none (truncated?)");
    graph.filter(|_| version).ok_or_else(missing)
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    input: Input<'a>,
}

impl<'a> Reader<'a> {
    fn whole<T>(self, field: Result<T, Damage>) -> Result<T> {
        field.map_err(|Damage(at)| {
            self.input.malformed("a whole ONNX model", format!("no field at byte {at} (truncated?)"))
        })
    }

    fn text(self, range: Range<usize>) -> Result<&'a str> {
        let bytes = &self.input.bytes[range];
        let not_text =
            |_| self.input.malformed("names in UTF-8", format!("\"{}\"", bytes[..bytes.len().min(40)].escape_ascii()));
        std::str::from_utf8(bytes).map_err(not_text)
    }

    fn fields(self, range: Range<usize>) -> impl Iterator<Item = Result<(u64, Wire)>> + 'a {
        Fields::of(self.input.bytes, range).map(move |field| self.whole(field))
    }

    fn counted<T>(self, list: &[T]) -> Result<()> {
        let more = || self.input.malformed(format!("at most {COUNT_LIMIT} nodes, tensors or values"), "more");
        (list.len() < COUNT_LIMIT).then_some(()).ok_or_else(more)
    }

    fn graph(self, range: Range<usize>) -> Result<Graph<'a>> {
        let mut graph = Graph::default();
        for field in self.fields(range) {
            match field? {
                (1, Wire::Bytes(range)) => {
                    self.counted(&graph.nodes)?;
                    let (node, constant) = self.node(range)?;
                    match (constant, node.outputs.first()) {
                        (Some(tensor), Some(&name)) => graph.tensors.push(Tensor { name, ..tensor }),
                        _ => graph.nodes.push(node),
                    }
                }
                (5, Wire::Bytes(range)) => {
                    self.counted(&graph.tensors)?;
                    graph.tensors.push(self.tensor(range)?);
                }
                (11..=13, Wire::Bytes(range)) => {
                    self.counted(&graph.shapes)?;
                    graph.shapes.extend(self.value(range)?);
                }
                _ => {}
            }
        }
        Ok(graph)
    }

    /// A node, and the tensor that it is if it is a constant.
    fn node(self, range: Range<usize>) -> Result<(Node<'a>, Option<Tensor<'a>>)> {
        let (mut node, mut constant) = (Node::default(), None);
        for field in self.fields(range) {
            match field? {
                (1, Wire::Bytes(range)) => node.inputs.push(self.text(range)?),
                (2, Wire::Bytes(range)) => node.outputs.push(self.text(range)?),
                (3, Wire::Bytes(range)) => node.name = self.text(range)?,
                (4, Wire::Bytes(range)) => node.operation = self.text(range)?,
                (5, Wire::Bytes(range)) => {
                    let (attribute, tensor) = self.attribute(range)?;
                    constant = constant.or(tensor.filter(|_| attribute.name == "value"));
                    node.attributes.push(attribute);
                }
                _ => {}
            }
        }
        let constant = constant.filter(|_| node.operation == "Constant");
        Ok((node, constant))
    }

    fn attribute(self, range: Range<usize>) -> Result<(Attribute<'a>, Option<Tensor<'a>>)> {
        let (mut attribute, mut tensor) = (Attribute::default(), None);
        for field in self.fields(range) {
            match field? {
                (1, Wire::Bytes(range)) => attribute.name = self.text(range)?,
                (3, Wire::Number(number)) => attribute.number = number as i64,
                // Any bytes may stand here; those that are a text are looked at.
                (4, Wire::Bytes(range)) => attribute.text = self.text(range).unwrap_or_default(),
                (5, Wire::Bytes(range)) => tensor = Some(self.tensor(range)?),
                (8, wire) => self.whole(numbers(self.input.bytes, &wire, &mut attribute.numbers))?,
                _ => {}
            }
        }
        Ok((attribute, tensor))
    }

    fn tensor(self, range: Range<usize>) -> Result<Tensor<'a>> {
        let mut tensor = Tensor::default();
        for field in self.fields(range) {
            match field? {
                (1, wire) => self.whole(numbers(self.input.bytes, &wire, &mut tensor.dims))?,
                (2, Wire::Number(kind)) => tensor.kind = kind,
                // Single and double precision lie packed as they lie in memory.
                (4 | 10, Wire::Bytes(range)) if tensor.data == Data::None => tensor.data = Data::Plain(range),
                (4 | 10, _) => tensor.data = Data::Other("numbers in several pieces"),
                (5 | 6 | 7 | 11, _) if tensor.data == Data::None => tensor.data = Data::Other("packed integers"),
                (8, Wire::Bytes(range)) => tensor.name = self.text(range)?,
                (9, Wire::Bytes(range)) => tensor.data = Data::Plain(range),
                (13, Wire::Bytes(range)) => {
                    let (mut key, mut value) = ("", "");
                    for field in self.fields(range) {
                        match field? {
                            (1, Wire::Bytes(range)) => key = self.text(range)?,
                            (2, Wire::Bytes(range)) => value = self.text(range)?,
                            _ => {}
                        }
                    }
                    tensor.outside.push((key, value));
                }
                (14, Wire::Number(place)) => tensor.is_outside = place == 1,
                _ => {}
            }
            if tensor.dims.len() > RANK_LIMIT {
                let found = format!("{}", tensor.dims.len());
                return Err(self.input.bad_tensor(tensor.name, format!("at most {RANK_LIMIT} dimensions"), found));
            }
        }
        Ok(tensor)
    }

    /// Name and shape of a value: ValueInfo.type.tensor_type.shape.dim.
    fn value(self, range: Range<usize>) -> Result<Option<(&'a str, Shape)>> {
        let (mut name, mut shape) = ("", None);
        for field in self.fields(range) {
            match field? {
                (1, Wire::Bytes(range)) => name = self.text(range)?,
                (2, Wire::Bytes(range)) => shape = self.inner(range, &[1, 2])?,
                _ => {}
            }
        }
        let Some(shape) = shape else { return Ok(None) };
        let mut sizes = Vec::new();
        for field in self.fields(shape) {
            let (1, Wire::Bytes(range)) = field? else { continue };
            let mut size = None;
            for field in self.fields(range) {
                if let (1, Wire::Number(number)) = field? {
                    size = usize::try_from(number).ok().filter(|&size| size > 0 && size < 1 << 32);
                }
            }
            sizes.push(size);
            if sizes.len() > RANK_LIMIT {
                return Ok(None);
            }
        }
        Ok(Some((name, sizes)))
    }

    /// The message at the end of a path of fields.
    fn inner(self, range: Range<usize>, path: &[u64]) -> Result<Option<Range<usize>>> {
        let Some((&number, path)) = path.split_first() else { return Ok(Some(range)) };
        for field in self.fields(range) {
            if let (found, Wire::Bytes(range)) = field?
                && found == number
            {
                return self.inner(range, path);
            }
        }
        Ok(None)
    }
}
