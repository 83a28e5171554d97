//! A reader of pickles that builds inert values and runs nothing.
//!
//! ```text
//! pickle ──opcodes on the list──▶ numbers, texts, containers, storages, tensors, inert objects      other opcodes ──▶ refused
//! ```
//!
//! A pickle is a program for a stack machine whose `GLOBAL` and `REDUCE` opcodes name and call any function of the reader's Python.
//! Here a global is looked up in a fixed table ([`class`]), and a call only ever makes one of the values below. Of an object of any other
//! class only its arguments and attributes are kept, as values; a global that exists to run commands is refused by name.

mod class;
mod machine;

pub(super) use machine::read;

use super::Dtype;
use class::Class;

/// Number of a value in a [`Pickle`].
pub(super) type Id = usize;

/// Why a pickle cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It asks for what is not on the list.
    Refused(String),
    /// It is no well-formed pickle of tensors.
    Malformed(String),
}

/// A storage as the pickle names it; the bytes are a member of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StorageName<'a> {
    pub(super) key: &'a str,
    pub(super) dtype: Dtype,
    /// Bytes of one element.
    pub(super) item: usize,
    /// Number of elements.
    pub(super) elements: usize,
}

/// A tensor: a strided view of a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    /// The storage's value.
    pub(super) storage: Id,
    /// The type, where the tensor states it itself.
    pub(super) dtype: Option<(Dtype, usize)>,
    /// First element, counted in elements.
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// A value; containers refer to others by number, so that sharing costs nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value<'a> {
    None,
    Bool(bool),
    Int(i64),
    Text(&'a str),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Class(Class),
    Storage(Box<StorageName<'a>>),
    Tensor(Box<View>),
    /// An object of a class that is not on the list, or what calling a function would give: the values that its arguments and its state are.
    Object(Vec<Id>),
    /// Read past and not kept: floating-point and long numbers, bytes, sets, devices.
    Opaque,
}

/// The values of a pickle.
#[derive(Debug)]
pub(super) struct Pickle<'a> {
    pub(super) values: Vec<Value<'a>>,
    /// What the pickle as a whole stands for.
    pub(super) root: Id,
    /// Bytes that it takes.
    pub(super) length: usize,
}
