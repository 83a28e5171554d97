//! Bytes of a storage to values and back.

use super::entry::{Dtype, Entry};
use half::{bf16, f16};
use reynolds::Values;
use std::borrow::Cow;

/// The first `N` bytes; callers pass slices of at least that length.
fn head<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}

/// x in single precision rounded to odd: exact numbers stay, others take the neighbour whose last bit is 1. Rounding that to half
/// precision gives what rounding x at once would give; rounding twice to nearest would not.
fn to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    if nearest.is_nan() || f64::from(nearest) == x {
        return nearest;
    }
    let towards_zero = nearest.to_bits() - u32::from(f64::from(nearest).abs() > x.abs());
    f32::from_bits(towards_zero | 1)
}

/// The values of `entry` in its storage, row-major; `None` for types that are not read. The span of the entry lies within `storage`.
pub(crate) fn decode<'a>(entry: &Entry, storage: &Cow<'a, [u8]>) -> Option<Values<'a>> {
    Some(match entry.dtype {
        Dtype::F32 | Dtype::C64 => Values::F32(
            borrowed(entry, storage).unwrap_or_else(|| gather(entry, storage, |bytes| f32::from_le_bytes(head(bytes)))),
        ),
        Dtype::F64 | Dtype::C128 => Values::F64(
            borrowed(entry, storage).unwrap_or_else(|| gather(entry, storage, |bytes| f64::from_le_bytes(head(bytes)))),
        ),
        Dtype::F16 => Values::F32(gather(entry, storage, |bytes| f16::from_le_bytes(head(bytes)).to_f32())),
        Dtype::BF16 => Values::F32(gather(entry, storage, |bytes| bf16::from_le_bytes(head(bytes)).to_f32())),
        Dtype::Other(_) => return None,
    })
}

/// The elements as they lie in the file, where that is what they are in memory: contiguous, aligned, little-endian.
fn borrowed<'a, T: bytemuck::Pod>(entry: &Entry, storage: &Cow<'a, [u8]>) -> Option<Cow<'a, [T]>> {
    let Cow::Borrowed(bytes) = storage else { return None };
    let usable = cfg!(target_endian = "little") && entry.is_contiguous();
    usable.then(|| {
        bytemuck::try_cast_slice(&bytes[entry.span(entry.dtype.parts() * size_of::<T>())]).ok().map(Cow::Borrowed)
    })?
}

fn gather<T: Copy>(entry: &Entry, storage: &[u8], decode: impl Fn(&[u8]) -> T) -> Cow<'static, [T]> {
    let size = entry.dtype.size().unwrap_or(1);
    let part = size / entry.dtype.parts();
    if entry.is_contiguous() {
        return storage[entry.span(size)].chunks_exact(part).map(decode).collect();
    }
    let mut values = Vec::with_capacity(entry.numbers());
    entry.for_each_element(size, |at| values.extend(storage[at..at + size].chunks_exact(part).map(&decode)));
    values.into()
}

/// Writes `values`, as many as the entry has numbers, to the entry's place in its storage, each as the nearest number of its type, ties
/// to even.
pub(crate) fn encode(entry: &Entry, values: &Values<'_>, storage: &mut [u8]) {
    match (&entry.dtype, values) {
        (Dtype::F32 | Dtype::C64, Values::F32(values)) => scatter(entry, values, storage, f32::to_le_bytes),
        (Dtype::F32 | Dtype::C64, Values::F64(values)) => scatter(entry, values, storage, |x| (x as f32).to_le_bytes()),
        (Dtype::F64 | Dtype::C128, Values::F32(values)) => {
            scatter(entry, values, storage, |x| f64::from(x).to_le_bytes())
        }
        (Dtype::F64 | Dtype::C128, Values::F64(values)) => scatter(entry, values, storage, f64::to_le_bytes),
        (Dtype::F16, Values::F32(values)) => scatter(entry, values, storage, |x| f16::from_f32(x).to_le_bytes()),
        (Dtype::F16, Values::F64(values)) => {
            scatter(entry, values, storage, |x| f16::from_f32(to_odd(x)).to_le_bytes())
        }
        (Dtype::BF16, Values::F32(values)) => scatter(entry, values, storage, |x| bf16::from_f32(x).to_le_bytes()),
        (Dtype::BF16, Values::F64(values)) => {
            scatter(entry, values, storage, |x| bf16::from_f32(to_odd(x)).to_le_bytes())
        }
        (Dtype::Other(_), _) => {}
    }
}

fn scatter<T: Copy, const N: usize>(entry: &Entry, values: &[T], storage: &mut [u8], encode: impl Fn(T) -> [u8; N]) {
    let mut values = values.iter();
    let size = N * entry.dtype.parts();
    entry.for_each_element(size, |at| {
        for (place, &value) in storage[at..at + size].chunks_exact_mut(N).zip(values.by_ref()) {
            place.copy_from_slice(&encode(value));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::StorageId;

    #[test]
    fn numbers_are_rounded_once_and_ties_go_to_even() {
        for (dtype, values, expected) in [
            // 2049 lies midway between the half-precision neighbours 2048 and 2050, 2051 between 2050 and 2052.
            (Dtype::F16, Values::from(vec![2049.0_f32, 2051.0]), vec![2048.0_f32, 2052.0]),
            // bf16 has 8 significant bits: 257 → 256, 259 → 260.
            (Dtype::BF16, Values::from(vec![257.0_f64, 259.0]), vec![256.0, 260.0]),
            // Just above the midpoint 2049: in single precision first it would be the midpoint, and go to the even 2048.
            (
                Dtype::F16,
                Values::from(vec![2049.0 + 1e-9, -2049.0 - 1e-9, 1e300]),
                vec![2050.0, -2050.0, f32::INFINITY],
            ),
        ] {
            let mut storage = vec![0; 2 * values.len()];
            let (name, shape, strides) = ("t".into(), vec![values.len()], vec![1]);
            let entry = Entry { name, shape, dtype, storage: StorageId(0), start: 0, strides };
            encode(&entry, &values, &mut storage);
            assert_eq!(decode(&entry, &Cow::Owned(storage)), Some(expected.into()));
        }
    }
}
