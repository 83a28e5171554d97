//! The globals that are known, and what calling each makes.

use super::super::Dtype;
use super::{Fault, Id, StorageName, Value, View};

/// What a global is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Class {
    /// An empty dictionary: `OrderedDict()`, `defaultdict(factory)`.
    Dict,
    /// Its first argument: `Size(tuple)`, `Counter(dict)`, `_rebuild_parameter(tensor, …)`.
    First,
    /// Something that holds no tensor.
    Opaque,
    /// Any other class or function: calling it makes an inert object.
    Unknown,
    /// `_rebuild_tensor`, `_rebuild_tensor_v2`.
    Tensor,
    /// `_rebuild_tensor_v3`, which states the type itself.
    TypedTensor,
    /// `_rebuild_from_type_v2(function, type, arguments, state)`.
    FromType,
    /// A class of storages: type and bytes of one element.
    Storage(Dtype, usize),
    /// A number type, and bytes of one element.
    Dtype(Dtype, usize),
}

/// The global of that name; `None` for one that exists to run commands, and for tensors in a form that is not read.
pub(super) fn find(module: &str, name: &str) -> Option<Class> {
    const COMMANDS: [&str; 18] = [
        "os",
        "posix",
        "nt",
        "sys",
        "subprocess",
        "shutil",
        "socket",
        "pty",
        "runpy",
        "importlib",
        "ctypes",
        "code",
        "commands",
        "popen2",
        "webbrowser",
        "asyncio",
        "pip",
        "pdb",
    ];
    let builtin = matches!(module, "builtins" | "__builtin__" | "__builtins__");
    let evaluates =
        matches!(name, "eval" | "exec" | "execfile" | "compile" | "__import__" | "open" | "input" | "breakpoint");
    let runs = COMMANDS.contains(&module.split('.').next().unwrap_or_default()) || (builtin && evaluates);
    let unread = module == "torch._utils" && name.starts_with("_rebuild");
    lookup(module, name).or((!runs && !unread).then_some(Class::Unknown))
}

/// The global of that name, if it is on the list.
fn lookup(module: &str, name: &str) -> Option<Class> {
    Some(match (module, name) {
        ("collections", "OrderedDict" | "defaultdict") => Class::Dict,
        ("collections", "Counter") | ("torch", "Size") => Class::First,
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => Class::First,
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Class::Tensor,
        ("torch._utils", "_rebuild_tensor_v3") => Class::TypedTensor,
        ("torch._tensor", "_rebuild_from_type_v2") => Class::FromType,
        ("torch" | "torch._tensor", "Tensor") | ("torch.nn.parameter", "Parameter") => Class::Opaque,
        ("torch", "device") | ("_codecs", "encode") => Class::Opaque,
        // A score kept as a numpy number is common beside a state_dict.
        ("numpy", "dtype") | ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => Class::Opaque,
        (
            "builtins" | "__builtin__",
            "set" | "frozenset" | "complex" | "bytearray" | "int" | "float" | "list" | "dict",
        ) => Class::Opaque,
        ("torch.storage" | "torch", "UntypedStorage") => Class::Storage(Dtype::Other("bytes".into()), 1),
        ("torch", name) => match name.strip_suffix("Storage") {
            Some(kind) => storage(kind).map(|(dtype, size)| Class::Storage(dtype, size))?,
            None => number(name).map(|(dtype, size)| Class::Dtype(dtype, size))?,
        },
        _ => return None,
    })
}

/// The type of `torch.<kind>Storage`.
fn storage(kind: &str) -> Option<(Dtype, usize)> {
    number(match kind {
        "Float" => "float32",
        "Double" => "float64",
        "Half" => "float16",
        "BFloat16" => "bfloat16",
        "Long" => "int64",
        "Int" => "int32",
        "Short" => "int16",
        "Char" => "int8",
        "Byte" => "uint8",
        "Bool" => "bool",
        "ComplexFloat" => "complex64",
        "ComplexDouble" => "complex128",
        "QUInt8" => "quint8",
        "QInt8" => "qint8",
        "QInt32" => "qint32",
        _ => return None,
    })
}

/// The type `torch.<name>` and the bytes of one element.
fn number(name: &str) -> Option<(Dtype, usize)> {
    let size = match name {
        "float32" | "float" => return Some((Dtype::F32, 4)),
        "float64" | "double" => return Some((Dtype::F64, 8)),
        "float16" | "half" => return Some((Dtype::F16, 2)),
        "bfloat16" => return Some((Dtype::BF16, 2)),
        "complex64" => return Some((Dtype::C64, 8)),
        "complex128" => return Some((Dtype::C128, 16)),
        "bool" | "uint8" | "int8" | "quint8" | "qint8" => 1,
        "float8_e4m3fn" | "float8_e5m2" | "float8_e4m3fnuz" | "float8_e5m2fnuz" | "float8_e8m0fnu" => 1,
        "int16" | "uint16" => 2,
        "int32" | "uint32" | "qint32" | "complex32" => 4,
        "int64" | "uint64" => 8,
        _ => return None,
    };
    Some((Dtype::Other(name.into()), size))
}

/// What calling `class` on a tuple of arguments makes: a new value, or one that is already there.
pub(super) fn call<'a>(class: &Class, tuple: Id, values: &[Value<'a>]) -> Result<Result<Value<'a>, Id>, Fault> {
    let malformed = |what: &str| Fault::Malformed(format!("a call with {what}"));
    let Value::Tuple(arguments) = &values[tuple] else { return Err(malformed("arguments that are no tuple")) };
    match class {
        Class::Dict => match arguments[..] {
            [] => Ok(Ok(Value::Dict(Vec::new()))),
            [factory] if matches!(values[factory], Value::Class(_) | Value::None | Value::Object(_)) => {
                Ok(Ok(Value::Dict(Vec::new())))
            }
            _ => Err(malformed("arguments to OrderedDict")),
        },
        Class::First => match arguments.first() {
            Some(&first) => Ok(Err(first)),
            None => Ok(Ok(Value::Opaque)),
        },
        Class::Opaque => Ok(Ok(Value::Opaque)),
        Class::Unknown => Ok(Ok(Value::Object(vec![tuple]))),
        Class::Tensor => view(arguments, None, values).map(Ok),
        Class::TypedTensor => match arguments.get(6).map(|&dtype| &values[dtype]) {
            Some(Value::Class(Class::Dtype(dtype, size))) => {
                view(arguments, Some((dtype.clone(), *size)), values).map(Ok)
            }
            _ => Err(malformed("no type for _rebuild_tensor_v3")),
        },
        Class::FromType => match arguments[..] {
            [function, _, arguments, ..] => match &values[function] {
                Value::Class(Class::FromType) => Err(malformed("itself")),
                Value::Class(class) => call(class, arguments, values),
                _ => Err(malformed("no function for _rebuild_from_type_v2")),
            },
            _ => Err(malformed("too few arguments to _rebuild_from_type_v2")),
        },
        Class::Storage(..) | Class::Dtype(..) => Err(Fault::Refused("a call of a storage class or number type".into())),
    }
}

/// `_rebuild_tensor_v2(storage, offset, shape, strides, …)`.
fn view<'a>(arguments: &[Id], dtype: Option<(Dtype, usize)>, values: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let malformed = |what: &str| Fault::Malformed(format!("a tensor with {what}"));
    let [storage, offset, shape, strides, ..] = *arguments else { return Err(malformed("too few arguments")) };
    if !matches!(values[storage], Value::Storage(_)) {
        return Err(malformed("no storage"));
    }
    let natural = |value: &Value<'_>| match value {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    };
    let numbers = |value: &Value<'_>| match value {
        // PyTorch allows 64 indices at most.
        Value::Tuple(items) if items.len() <= 64 => {
            items.iter().map(|&item| natural(&values[item])).collect::<Option<Vec<_>>>()
        }
        _ => None,
    };
    let offset = natural(&values[offset]).ok_or_else(|| malformed("a bad offset"))?;
    let shape = numbers(&values[shape]).ok_or_else(|| malformed("a bad shape"))?;
    let strides = numbers(&values[strides]).filter(|strides| strides.len() == shape.len());
    let strides = strides.ok_or_else(|| malformed("bad strides"))?;
    Ok(Value::Tensor(Box::new(View { storage, dtype, offset, shape, strides })))
}

/// What a persistent identifier of PyTorch says: `("storage", class, key, location, elements)`, in the legacy format with the view of an older
/// storage behind it; there `("module", class, file, source)`, too, which stands for the class.
pub(super) fn persistent<'a>(id: &Value<'a>, values: &[Value<'a>]) -> Result<Result<Value<'a>, Id>, Fault> {
    let Value::Tuple(items) = id else {
        return Err(Fault::Malformed("a persistent identifier that names no storage".into()));
    };
    if let [kind, class, ..] = items[..]
        && values[kind] == Value::Text("module")
    {
        return Ok(Err(class));
    }
    let view = items.get(5).is_some_and(|&view| values[view] != Value::None);
    if !view
        && let [kind, class, key, _, elements, ..] = items[..]
        && let (Value::Text("storage"), Value::Class(Class::Storage(dtype, item))) = (&values[kind], &values[class])
        && let (&Value::Text(key), &Value::Int(elements)) = (&values[key], &values[elements])
        && let Ok(elements) = usize::try_from(elements)
    {
        return Ok(Ok(Value::Storage(Box::new(StorageName { key, dtype: dtype.clone(), item: *item, elements }))));
    }
    Err(Fault::Malformed("a persistent identifier that names no storage".into()))
}
