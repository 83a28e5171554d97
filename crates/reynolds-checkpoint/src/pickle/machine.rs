//! The stack machine: the opcodes that PyTorch's pickles use, and no others.

use super::class::{Class, call, find, persistent};
use super::{Fault, Id, Pickle, Value};
use std::collections::HashMap;

/// Number of values a pickle may make: far more than any checkpoint needs, and a bound on the memory that a small file can claim.
const VALUE_LIMIT: usize = 1 << 24;
/// Open marks: one for each container that is being filled.
const MARK_LIMIT: usize = 1 << 12;

/// The machine at work.
struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// Heights of the stack at the open marks.
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
}

fn malformed<T>(what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Malformed(what.into()))
}

/// Reads a pickle.
pub(in super::super) fn read(bytes: &[u8]) -> Result<Pickle<'_>, Fault> {
    let (values, stack, marks, memo) = (Vec::new(), Vec::new(), Vec::new(), HashMap::new());
    let mut machine = Machine { bytes, at: 0, values, stack, marks, memo };
    loop {
        let opcode = machine.take(1)?[0];
        if opcode == b'.' {
            let root = machine.pop()?;
            return Ok(Pickle { values: machine.values, root, length: machine.at });
        }
        machine.step(opcode)?;
    }
}

impl<'a> Machine<'a> {
    fn step(&mut self, opcode: u8) -> Result<(), Fault> {
        match opcode {
            0x80 => match self.take(1)?[0] {
                0..=5 => Ok(()),
                version => malformed(format!("version {version} of the pickle protocol")),
            },
            0x95 => self.take(8).map(drop),
            b'(' => {
                if self.marks.len() == MARK_LIMIT {
                    return malformed(format!("more than {MARK_LIMIT} open marks"));
                }
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'J' => {
                let number = self.number(4)? as u32 as i32;
                self.push(Value::Int(i64::from(number)))
            }
            b'K' | b'M' => {
                let number = self.number(if opcode == b'K' { 1 } else { 2 })?;
                self.push(Value::Int(number as i64))
            }
            0x8a | 0x8b => self.long(if opcode == 0x8a { 1 } else { 4 }),
            b'G' => self.take(8).and_then(|_| self.push(Value::Opaque)),
            b'X' | 0x8c | 0x8d => {
                let bytes = self.sized(match opcode {
                    b'X' => 4,
                    0x8c => 1,
                    _ => 8,
                })?;
                match std::str::from_utf8(bytes) {
                    Ok(text) => self.push(Value::Text(text)),
                    Err(_) => malformed("a text that is not UTF-8"),
                }
            }
            b'B' => self.sized(4).and_then(|_| self.push(Value::Opaque)),
            b'C' => self.sized(1).and_then(|_| self.push(Value::Opaque)),
            // What Python 2 calls a text.
            b'T' | b'U' => {
                let bytes = self.sized(if opcode == b'T' { 4 } else { 1 })?;
                self.push(std::str::from_utf8(bytes).map_or(Value::Opaque, Value::Text))
            }
            b'0' => self.pop().map(drop),
            b'1' => self.unmark().map(drop),
            0x8e | 0x96 => self.sized(8).and_then(|_| self.push(Value::Opaque)),
            b')' => self.push(Value::Tuple(Vec::new())),
            0x85..=0x87 => {
                let mut items = Vec::with_capacity(3);
                for _ in 0x85..=opcode {
                    items.push(self.pop()?);
                }
                items.reverse();
                self.push(Value::Tuple(items))
            }
            b't' => self.unmark().and_then(|items| self.push(Value::Tuple(items))),
            b']' => self.push(Value::List(Vec::new())),
            b'l' => self.unmark().and_then(|items| self.push(Value::List(items))),
            b'a' => self.pop().and_then(|item| self.append(vec![item])),
            b'e' => self.unmark().and_then(|items| self.append(items)),
            b'}' => self.push(Value::Dict(Vec::new())),
            b'd' => {
                let items = self.unmark()?;
                self.push(Value::Dict(Vec::new()))?;
                self.set(items)
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(vec![key, value])
            }
            b'u' => self.unmark().and_then(|items| self.set(items)),
            0x8f => self.push(Value::Opaque),
            0x90 => self.unmark().and_then(|_| self.top().map(drop)),
            0x91 => self.unmark().and_then(|_| self.push(Value::Opaque)),
            b'q' | b'r' => {
                let key = self.number(if opcode == b'q' { 1 } else { 4 })?;
                self.remember(key)
            }
            0x94 => self.remember(self.memo.len() as u64),
            b'h' | b'j' => {
                let key = self.number(if opcode == b'h' { 1 } else { 4 })?;
                match self.memo.get(&key) {
                    Some(&id) => self.push_id(id),
                    None => malformed(format!("memo {key}, which was never set")),
                }
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.global(module, name)
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (&self.values[module], &self.values[name]) {
                    (&Value::Text(module), &Value::Text(name)) => self.global(module, name),
                    _ => malformed("a global without a name"),
                }
            }
            b'R' | 0x81 => self.reduce(),
            0x92 => {
                // Arguments by name hold no tensors.
                self.pop()?;
                self.reduce()
            }
            b'b' => self.build(),
            b'Q' => {
                let id = self.pop()?;
                match persistent(&self.values[id], &self.values)? {
                    Ok(storage) => self.push(storage),
                    Err(class) => self.push_id(class),
                }
            }
            _ => Err(Fault::Refused(format!("opcode 0x{opcode:02x} ({:?})", opcode as char))),
        }
    }

    /// The next bytes.
    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        match self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += length;
                Ok(bytes)
            }
            None => malformed("an unfinished pickle (truncated?)"),
        }
    }

    /// A little-endian number of at most 8 bytes.
    fn number(&mut self, length: usize) -> Result<u64, Fault> {
        Ok(self.take(length)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Bytes after their length.
    fn sized(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        match usize::try_from(self.number(length)?) {
            Ok(length) => self.take(length),
            Err(_) => malformed("a text longer than memory"),
        }
    }

    fn line(&mut self) -> Result<&'a str, Fault> {
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|&byte| byte == b'\n').map(|end| std::str::from_utf8(&rest[..end])) {
            Some(Ok(line)) => {
                self.at += line.len() + 1;
                Ok(line)
            }
            _ => malformed("an unfinished name"),
        }
    }

    /// A two's complement integer after its length; beyond 64 bits only read past.
    fn long(&mut self, length: usize) -> Result<(), Fault> {
        let bytes = self.sized(length)?;
        let sign = if bytes.last().is_some_and(|&byte| byte >= 0x80) { -1 } else { 0 };
        self.push(match bytes.len() {
            0..=8 => Value::Int(bytes.iter().rev().fold(sign, |number, &byte| number << 8 | i64::from(byte))),
            _ => Value::Opaque,
        })
    }

    fn push(&mut self, value: Value<'a>) -> Result<(), Fault> {
        if self.values.len() >= VALUE_LIMIT {
            return malformed(format!("more than {VALUE_LIMIT} values"));
        }
        self.values.push(value);
        self.push_id(self.values.len() - 1)
    }

    fn push_id(&mut self, id: Id) -> Result<(), Fault> {
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> Result<Id, Fault> {
        self.top()?;
        self.stack.pop().ok_or_else(|| Fault::Malformed("an empty stack".into()))
    }

    /// The uppermost value above the last mark.
    fn top(&self) -> Result<Id, Fault> {
        match self.stack.last() {
            Some(&id) if self.stack.len() > self.marks.last().copied().unwrap_or(0) => Ok(id),
            _ => malformed("an empty stack"),
        }
    }

    /// All values above the last mark, which is taken away.
    fn unmark(&mut self) -> Result<Vec<Id>, Fault> {
        match self.marks.pop() {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => malformed("no mark"),
        }
    }

    fn remember(&mut self, key: u64) -> Result<(), Fault> {
        let id = self.top()?;
        self.memo.insert(key, id);
        Ok(())
    }

    fn append(&mut self, items: Vec<Id>) -> Result<(), Fault> {
        let id = self.top()?;
        match &mut self.values[id] {
            Value::List(list) => list.extend(items),
            Value::Object(_) => return self.add_part(id, Value::List(items)),
            Value::Opaque => {}
            _ => return malformed("items appended to what is no list"),
        }
        Ok(())
    }

    /// Keys and values in turn, into the dictionary on top.
    fn set(&mut self, items: Vec<Id>) -> Result<(), Fault> {
        let id = self.top()?;
        let (pairs, rest) = items.as_chunks::<2>();
        match &mut self.values[id] {
            Value::Dict(dict) if rest.is_empty() => dict.extend(pairs.iter().map(|&[key, value]| (key, value))),
            Value::Object(_) if rest.is_empty() => {
                let items = pairs.iter().map(|&[key, value]| (key, value)).collect();
                return self.add_part(id, Value::Dict(items));
            }
            _ => return malformed("items set in what is no dictionary"),
        }
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), Fault> {
        match find(module, name) {
            Some(class) => self.push(Value::Class(class)),
            None => Err(Fault::Refused(format!("{}.{}", shorten(module), shorten(name)))),
        }
    }

    fn reduce(&mut self) -> Result<(), Fault> {
        let (arguments, class) = (self.pop()?, self.pop()?);
        let class = match &self.values[class] {
            Value::Class(class) => class,
            // A method, say, that another call gave.
            Value::Object(_) | Value::Opaque => &Class::Unknown,
            _ => return malformed("a call of what is no class"),
        };
        match call(class, arguments, &self.values)? {
            Ok(value) => self.push(value),
            Err(id) => self.push_id(id),
        }
    }

    /// Keeps what an object was filled with.
    fn add_part(&mut self, object: Id, part: Value<'a>) -> Result<(), Fault> {
        self.push(part)?;
        let part = self.pop()?;
        if let Value::Object(parts) = &mut self.values[object] {
            parts.push(part);
        }
        Ok(())
    }

    /// `BUILD` gives an object its attributes. A state_dict has `_metadata`, the versions of its modules, which are not needed; what is opaque
    /// has no attributes here.
    fn build(&mut self) -> Result<(), Fault> {
        let state = self.pop()?;
        let object = self.top()?;
        match &mut self.values[object] {
            Value::Object(parts) => {
                parts.push(state);
                Ok(())
            }
            Value::Dict(_) | Value::Opaque => Ok(()),
            _ => Err(Fault::Refused("opcode BUILD on a tensor or container".into())),
        }
    }
}

/// A name short enough for a message.
fn shorten(name: &str) -> String {
    name.chars().take(80).collect()
}
