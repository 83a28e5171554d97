//! Tensors on the host as slices, and which tensors are contiguous vectors on any device.

#![allow(unsafe_code, reason = "tch gives the address of a tensor's numbers and no slice of them")]

use tch::kind::Element;
use tch::{Device, Kind, Tensor};

/// What `work` makes of the numbers of `read` and of `write`, both `[len]`, which it changes in place; `None`, and nothing is done, if they
/// are not available: on another device, of another type, not contiguous, overlapping, or `write` on the tape.
///
/// Safety argument. A tensor `[len]` that is contiguous, on the CPU and of the type of `T` holds `len` numbers from its address on, alive
/// for as long as its handle, which is borrowed here. The two ranges are seen not to overlap, and neither is null or misaligned. Every
/// pattern of bits is a number. On this thread nothing else reads or writes them meanwhile: libtorch runs an operation on the CPU to its
/// end before it returns, and `work`, which only this folder hands in, calls nothing of libtorch on tensors.
///
/// What is left is a condition of tch, not of this module: a `Tensor` is not `Sync` but it is `Send`, so that a shallow clone or a view,
/// which shares the bytes, may be on another thread. Nobody may write to the bytes of `read`, or read or write those of `write`, through such a
/// handle there until this returns. It is the condition that `write.add_(&read)` of libtorch has, which no type of tch checks either: a
/// program that breaks it has a data race with or without this module. Nothing of this crate hands a tensor to another thread.
pub(super) fn with_numbers<T: Element, R>(
    read: &Tensor,
    write: &Tensor,
    work: impl FnOnce(&[T], &mut [T]) -> R,
) -> Option<R> {
    let len = plain(read, T::KIND, Device::Cpu)?;
    if plain(write, T::KIND, Device::Cpu)? != len || write.requires_grad() {
        return None;
    }
    let (from, to) = (address::<T>(read)?, address::<T>(write)?);
    let apart = from.wrapping_add(len) <= to || to.wrapping_add(len) <= from;
    if !apart {
        return None;
    }
    // SAFETY: see above.
    let (numbers, sum) = unsafe { (std::slice::from_raw_parts(from, len), std::slice::from_raw_parts_mut(to, len)) };
    Some(work(numbers, sum))
}

/// Calls `work` on the numbers of `write` `[len]`, changed in place; `None`, and no call, if they cannot be reached.
/// Safe as [`with_numbers`] is, under its condition.
pub(super) fn with_numbers_mut<T: Element, R>(write: &Tensor, work: impl FnOnce(&mut [T]) -> R) -> Option<R> {
    let (len, to) = (plain(write, T::KIND, Device::Cpu)?, address::<T>(write)?);
    if write.requires_grad() {
        return None;
    }
    // SAFETY: see above.
    Some(work(unsafe { std::slice::from_raw_parts_mut(to, len) }))
}

/// What `work` makes of the numbers of `read` `[len]`; `None` if they are not available. Safe as [`with_numbers`] is, under its condition.
pub(super) fn with_numbers_of<T: Element, R>(read: &Tensor, work: impl FnOnce(&[T]) -> R) -> Option<R> {
    let (len, from) = (plain(read, T::KIND, Device::Cpu)?, address::<T>(read)?);
    // SAFETY: see above.
    Some(work(unsafe { std::slice::from_raw_parts(from, len) }))
}

/// The address of the numbers, if it is valid.
fn address<T: Element>(tensor: &Tensor) -> Option<*mut T> {
    let address = tensor.data_ptr().cast::<T>();
    (!address.is_null() && address.is_aligned()).then_some(address)
}

/// The length of a tensor `[len]` of `kind` on `device`, one number after the other.
pub(super) fn plain(tensor: &Tensor, kind: Kind, device: Device) -> Option<usize> {
    let [len] = tensor.size()[..] else { return None };
    let dense = tensor.device() == device && tensor.kind() == kind && !tensor.is_sparse() && !tensor.is_mkldnn();
    // A view may stand for the numbers with the other sign.
    let dense = dense && !tensor.is_neg();
    if dense && tensor.is_contiguous() { usize::try_from(len).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(read: &Tensor, write: &Tensor) -> bool {
        let add = |from: &[f32], to: &mut [f32]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        with_numbers(read, write, add).is_some()
    }

    fn sum(read: &Tensor) -> Option<f32> {
        with_numbers_of(read, |numbers: &[f32]| numbers.iter().sum())
    }

    #[test]
    fn neighbours_of_one_storage_are_read_and_changed_in_place() {
        let storage = Tensor::from_slice(&[1.0_f32, 2.0, 10.0, 20.0]);
        assert!(add(&storage.narrow(0, 0, 2), &storage.narrow(0, 2, 2)));
        assert!(add(&storage.narrow(0, 2, 2), &storage.narrow(0, 0, 2)));
        assert_eq!(Vec::<f32>::try_from(&storage).unwrap(), [12.0, 24.0, 11.0, 22.0]);
        // To read needs nothing of the tape.
        assert_eq!(sum(&storage.narrow(0, 1, 2).copy().set_requires_grad(true)), Some(35.0));
    }

    #[test]
    fn tensors_that_are_no_plain_slices_are_left_alone() {
        let zeros = || Tensor::zeros([4], (Kind::Float, Device::Cpu));
        let wrong = [
            zeros().to_kind(Kind::Double),
            zeros().view([2, 2]),
            zeros().narrow(0, 0, 0),
            zeros().to_sparse_sparse_dim(1),
            zeros().internal_neg_view(),
            Tensor::zeros([8], (Kind::Float, Device::Cpu)).slice(0, 0, 8, 2),
        ];
        for (number, wrong) in wrong.iter().enumerate() {
            assert!(sum(wrong).is_none() && !add(wrong, &zeros()) && !add(&zeros(), wrong), "tensor {number}");
        }
        let storage = Tensor::zeros([7], (Kind::Float, Device::Cpu));
        let overlapping = [storage.narrow(0, 0, 4), storage.narrow(0, 3, 4)];
        assert!(!add(&overlapping[0], &overlapping[1]) && !add(&overlapping[1], &overlapping[0]));
        assert!(!add(&zeros(), &zeros().narrow(0, 0, 3)) && !add(&zeros(), &zeros().set_requires_grad(true)));
    }
}
