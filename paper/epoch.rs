//! The order of the samples of an epoch, made once and put on the device once.

use std::cell::RefCell;
use std::rc::Rc;

/// The order of the current epoch, from which minibatches are cut.
#[derive(Debug)]
pub struct EpochOrder<T>(RefCell<Option<(usize, Rc<T>)>>);

impl<T> Default for EpochOrder<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T> EpochOrder<T> {
    /// The order of an epoch; `make` is called for the first minibatch of each.
    pub fn of<E>(&self, epoch: usize, make: impl FnOnce() -> Result<T, E>) -> Result<Rc<T>, E> {
        let mut current = self.0.borrow_mut();
        if let Some((number, order)) = current.as_ref()
            && *number == epoch
        {
            return Ok(Rc::clone(order));
        }
        // Frees the old order on the device before the new one is made.
        *current = None;
        let order = Rc::new(make()?);
        *current = Some((epoch, Rc::clone(&order)));
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds::random::Random;

    #[test]
    fn an_order_is_made_once_an_epoch() {
        let (orders, made) = (EpochOrder::default(), RefCell::new(Vec::new()));
        for epoch in [0, 0, 1, 1, 0] {
            let make = || {
                made.borrow_mut().push(epoch);
                Ok::<_, ()>(Random::at(3, &[epoch as u64]).permutation(20))
            };
            let order = orders.of(epoch, make).unwrap();
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            assert!(sorted == (0..20).collect::<Vec<_>>() && sorted != *order);
        }
        assert_eq!(*made.borrow(), [0, 1, 0]);
        assert!(orders.of(7, || Err(())).is_err());
    }
}
