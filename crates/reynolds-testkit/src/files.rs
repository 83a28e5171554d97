//! Builders of small checkpoint files, good and bad: safetensors, npz and PyTorch, byte by byte.

use std::io::Write;

use ::safetensors::{Dtype, serialize, tensor::TensorView};

/// A member of an archive to be built.
#[derive(Debug, Clone)]
pub struct Member {
    /// Name in the archive.
    pub name: String,
    /// What it holds.
    pub contents: Vec<u8>,
    /// Whether it is compressed.
    pub deflated: bool,
    /// What the directory claims as the size; the truth if `None`.
    pub claimed: Option<u32>,
}

/// A stored member.
pub fn stored(name: &str, contents: &[u8]) -> Member {
    Member { name: name.into(), contents: contents.into(), deflated: false, claimed: None }
}

/// A deflated member.
pub fn deflated(name: &str, contents: &[u8]) -> Member {
    Member { deflated: true, ..stored(name, contents) }
}

/// A zip archive.
pub fn zip(members: &[Member]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let data = match member.deflated {
            false => member.contents.clone(),
            true => {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
                encoder.write_all(&member.contents).and_then(|()| encoder.finish()).expect("memory takes every write")
            }
        };
        let size = member.claimed.unwrap_or(member.contents.len() as u32);
        // Version needed, flags, method, time, date; checksum, sizes; lengths of name and extra field.
        let mut shared = Vec::new();
        for field in [20, 0, if member.deflated { 8 } else { 0 }, 0, 0] {
            shared.extend(u16::to_le_bytes(field));
        }
        for field in [crc32fast::hash(&member.contents), data.len() as u32, size] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend((member.name.len() as u16).to_le_bytes());
        shared.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&shared);
        // Comment, disk, attributes, then the offset.
        directory.extend([0; 10]);
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(member.name.as_bytes());
        file.extend(b"PK\x03\x04");
        file.extend(&shared);
        file.extend(member.name.as_bytes());
        file.extend(&data);
    }
    let start = file.len() as u32;
    file.extend(&directory);
    file.extend(b"PK\x05\x06\x00\x00\x00\x00");
    for _ in 0..2 {
        file.extend((members.len() as u16).to_le_bytes());
    }
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// An array.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A safetensors file of that header and buffer.
pub fn safetensors(header: &str, buffer: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(buffer);
    bytes
}

/// A safetensors file of single-precision tensors: name, shape, values.
pub fn singles(tensors: &[(&str, &[usize], Vec<f32>)]) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|t| t.2.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let view =
        |shape: &[usize], bytes| TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("a value for each place");
    let views = tensors.iter().zip(&bytes).map(|(&(name, shape, _), bytes)| (name, view(shape, bytes)));
    serialize(views, None).expect("tensors with different names")
}

/// A text in a pickle.
pub fn text(text: &str) -> Vec<u8> {
    [b"X".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

/// A tensor in a pickle: a view of `storage` with `elements` numbers; sizes below 256.
pub fn tensor(storage: &str, elements: u8, offset: u8, shape: &[u8], strides: &[u8]) -> Vec<u8> {
    let mut bytes = b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec();
    bytes.extend(text("storage"));
    bytes.extend(b"ctorch\nFloatStorage\n");
    bytes.extend(text(storage));
    bytes.extend(text("cpu"));
    bytes.extend([b'K', elements, b't', b'Q', b'K', offset]);
    for numbers in [shape, strides] {
        bytes.push(b'(');
        numbers.iter().for_each(|&number| bytes.extend([b'K', number]));
        bytes.push(b't');
    }
    bytes.extend(b"\x89ccollections\nOrderedDict\n)RtR");
    bytes
}

/// A dictionary in a pickle.
pub fn dictionary(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"}(".to_vec();
    for (key, value) in items {
        bytes.extend(text(key));
        bytes.extend(value);
    }
    bytes.push(b'u');
    bytes
}

/// A PyTorch file of that pickled object, with storages.
pub fn torch(object: &[u8], storages: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let pickle = [b"\x80\x02", object, b"."].concat();
    let mut members = vec![stored("model/data.pkl", &pickle), stored("model/byteorder", b"little")];
    members.extend(storages.iter().map(|(key, bytes)| stored(&format!("model/data/{key}"), bytes)));
    zip(&members)
}
