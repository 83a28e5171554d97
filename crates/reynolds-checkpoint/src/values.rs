//! The way of a tensor's values from and to the bytes of a file. f16 and bf16 are widened to f32, which is exact.

use super::entry::{Dtype, Entry};
use half::{bf16, f16};
use reynolds::Values;
use std::borrow::Cow;

/// A number type of a file: little-endian bytes and back.
trait Stored: Copy {
    type Read: bytemuck::Pod;
    const SIZE: usize;
    fn decode(bytes: &[u8]) -> Self::Read;
    /// The bits of the nearest number of this type, ties to even.
    fn encode_f32(value: f32, out: &mut [u8]);
    /// The bits of the nearest number of this type, ties to even.
    fn encode_f64(value: f64, out: &mut [u8]);
}

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

macro_rules! stored {
    ($type:ty, $read:ty, $size:literal, $bytes:ident => $decode:expr, $single:ident => $from_f32:expr, $double:ident => $from_f64:expr) => {
        impl Stored for $type {
            type Read = $read;
            const SIZE: usize = $size;
            fn decode($bytes: &[u8]) -> $read {
                $decode
            }
            fn encode_f32($single: f32, out: &mut [u8]) {
                out.copy_from_slice(&$from_f32.to_le_bytes());
            }
            fn encode_f64($double: f64, out: &mut [u8]) {
                out.copy_from_slice(&$from_f64.to_le_bytes());
            }
        }
    };
}
stored!(f32, f32, 4, b => f32::from_le_bytes(head(b)), x => x, x => (x as f32));
stored!(f64, f64, 8, b => f64::from_le_bytes(head(b)), x => f64::from(x), x => x);
stored!(f16, f32, 2, b => f16::from_le_bytes(head(b)).to_f32(), x => f16::from_f32(x), x => f16::from_f32(to_odd(x)));
stored!(bf16, f32, 2, b => bf16::from_le_bytes(head(b)).to_f32(), x => bf16::from_f32(x), x => bf16::from_f32(to_odd(x)));

/// The entry's elements of `storage` in row-major order. The span of the entry lies within `storage`.
fn gather<'a, S: Stored>(entry: &Entry, storage: &Cow<'a, [u8]>) -> Cow<'a, [S::Read]> {
    if entry.is_contiguous() {
        let span = entry.span(S::SIZE);
        if let (Cow::Borrowed(bytes), true) =
            (storage, cfg!(target_endian = "little") && size_of::<S::Read>() == S::SIZE)
            && let Ok(values) = bytemuck::try_cast_slice(&bytes[span.clone()])
        {
            return Cow::Borrowed(values);
        }
        return Cow::Owned(storage[span].chunks_exact(S::SIZE).map(S::decode).collect());
    }
    let mut values = Vec::with_capacity(entry.len());
    entry.for_each_element(S::SIZE, |at| values.push(S::decode(&storage[at..at + S::SIZE])));
    Cow::Owned(values)
}

/// The values of `entry` in its storage; `None` for types that are not read.
pub(crate) fn decode<'a>(entry: &Entry, storage: &Cow<'a, [u8]>) -> Option<Values<'a>> {
    Some(match entry.dtype {
        Dtype::F32 => Values::F32(gather::<f32>(entry, storage)),
        Dtype::F64 => Values::F64(gather::<f64>(entry, storage)),
        Dtype::F16 => Values::F32(gather::<f16>(entry, storage)),
        Dtype::BF16 => Values::F32(gather::<bf16>(entry, storage)),
        Dtype::Other(_) => return None,
    })
}

fn scatter<S: Stored>(entry: &Entry, values: &Values<'_>, storage: &mut [u8]) {
    let mut n = 0;
    entry.for_each_element(S::SIZE, |at| {
        let out = &mut storage[at..at + S::SIZE];
        match values {
            Values::F32(values) => S::encode_f32(values[n], out),
            Values::F64(values) => S::encode_f64(values[n], out),
        }
        n += 1;
    });
}

/// Writes `values`, as many as the entry has elements, to the entry's place in its storage, rounded to its type.
pub(crate) fn encode(entry: &Entry, values: &Values<'_>, storage: &mut [u8]) {
    match entry.dtype {
        Dtype::F32 => scatter::<f32>(entry, values, storage),
        Dtype::F64 => scatter::<f64>(entry, values, storage),
        Dtype::F16 => scatter::<f16>(entry, values, storage),
        Dtype::BF16 => scatter::<bf16>(entry, values, storage),
        Dtype::Other(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::StorageId;

    fn entry(dtype: Dtype, shape: &[usize], strides: &[usize]) -> Entry {
        let (shape, strides) = (shape.into(), strides.into());
        Entry { name: "t".into(), shape, dtype, storage: StorageId(0), start: 0, strides }
    }

    #[test]
    fn halves_round_to_nearest_even() {
        // 2049 lies midway between the half-precision neighbours 2048 and 2050, 2051 between 2050 and 2052.
        let values = Values::F32(Cow::Owned(vec![2049.0, 2051.0]));
        let mut storage = vec![0; 4];
        encode(&entry(Dtype::F16, &[2], &[]), &values, &mut storage);
        assert_eq!(
            decode(&entry(Dtype::F16, &[2], &[]), &Cow::Owned(storage)),
            Some(Values::F32(vec![2048.0, 2052.0].into()))
        );
        // bf16 has 8 significant bits: 257 → 256, 259 → 260.
        let values = Values::F64(Cow::Owned(vec![257.0, 259.0]));
        let mut storage = vec![0; 4];
        encode(&entry(Dtype::BF16, &[2], &[]), &values, &mut storage);
        assert_eq!(
            decode(&entry(Dtype::BF16, &[2], &[]), &Cow::Owned(storage)),
            Some(Values::F32(vec![256.0, 260.0].into()))
        );
    }

    #[test]
    fn doubles_are_rounded_to_halves_once() {
        // Just above the midpoint 2049: in single precision first it would be the midpoint, and go to the even 2048.
        let values = Values::F64(Cow::Owned(vec![2049.0 + 1e-9, -2049.0 - 1e-9, 1e300]));
        let mut storage = vec![0; 6];
        encode(&entry(Dtype::F16, &[3], &[]), &values, &mut storage);
        let read = decode(&entry(Dtype::F16, &[3], &[]), &Cow::Owned(storage));
        assert_eq!(read, Some(Values::F32(vec![2050.0, -2050.0, f32::INFINITY].into())));
    }

    #[test]
    fn aligned_singles_are_not_copied_and_transposed_ones_are_gathered() {
        let numbers: Vec<f32> = (0..6).map(|n| n as f32).collect();
        let storage = Cow::Borrowed(bytemuck::cast_slice(&numbers));
        assert!(matches!(decode(&entry(Dtype::F32, &[2, 3], &[]), &storage), Some(Values::F32(Cow::Borrowed(_)))));
        let transposed = decode(&entry(Dtype::F32, &[3, 2], &[1, 3]), &storage);
        assert_eq!(transposed, Some(Values::F32(vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0].into())));
    }
}
