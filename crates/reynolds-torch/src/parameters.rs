//! All parameters of a network in one flat storage.
//!
//! ```text
//! flat:  [ z … | w₁ … | w₂ … | b … ]   real numbers; complex parameters come first, as (re, im) pairs
//! ```
//!
//! Each named parameter is a leaf of the tape that shares its bytes with the flat tensor, so an optimiser step, the penalty and a
//! checkpoint are a few operations on one tensor however many layers there are.
//!
//! Running statistics of a network are no parameters: they lie in a second flat storage, off the tape, that no optimiser sees.
//!
//! ```
//! use reynolds_torch::{Parameters, tch::{Device, Kind}};
//! let mut builder = Parameters::builder();
//! builder.real("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0])?;
//! builder.complex("c", &[1], &[(0.5, -1.0)])?;
//! let parameters = builder.build(Kind::Float, Device::Cpu)?;
//! let loss = parameters.get("w")?.square().sum(Kind::Float);
//! let gradient = parameters.gradient(&loss)?;
//! assert_eq!(Vec::<f32>::try_from(&gradient)?, [0.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use std::collections::HashMap;

use tch::{Device, Kind, Tensor};

use crate::device::upload;
use crate::error::{Error, Result, check_size};

/// One parameter's place in the flat storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name in plans and checkpoints.
    pub name: String,
    /// Its shape, `[out, in, k…]`; of complex numbers if `complex`.
    pub shape: Vec<usize>,
    /// Whether its numbers are complex.
    pub complex: bool,
    /// Where it begins in the flat storage, in real numbers.
    pub start: usize,
}

impl Entry {
    /// How many numbers it has, complex ones counted once.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many real numbers of the flat storage it takes.
    pub fn len(&self) -> usize {
        self.numel() * if self.complex { 2 } else { 1 }
    }

    /// Whether it has no number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its part of a flat tensor, a view in its shape; pairs as complex numbers.
    pub(crate) fn part(&self, flat: &Tensor) -> Result<Tensor> {
        let part = flat.f_narrow(0, self.start as i64, self.len() as i64)?;
        let mut sizes: Vec<i64> = self.shape.iter().map(|&side| side as i64).collect();
        if !self.complex {
            return Ok(part.f_view(sizes.as_slice())?);
        }
        sizes.push(2);
        Ok(part.f_view(sizes.as_slice())?.f_view_as_complex()?)
    }
}

/// Collects named parameters before they are laid out.
#[derive(Debug, Default)]
pub struct Builder {
    trained: Collected,
    running: Collected,
}

/// Entries with their values, in the order they were added.
#[derive(Debug, Default)]
struct Collected {
    entries: Vec<Entry>,
    values: Vec<f64>,
}

impl Builder {
    /// Adds a real parameter.
    pub fn real(&mut self, name: &str, shape: &[usize], values: &[f64]) -> Result<()> {
        let entry = self.entry(name, shape, false)?;
        self.trained.add(entry, values)
    }

    /// Adds a complex parameter.
    pub fn complex(&mut self, name: &str, shape: &[usize], values: &[(f64, f64)]) -> Result<()> {
        let entry = self.entry(name, shape, true)?;
        self.trained.add(entry, &values.iter().flat_map(|&(re, im)| [re, im]).collect::<Vec<f64>>())
    }

    /// Adds a running statistic: numbers that the network keeps itself and no optimiser changes.
    pub fn statistic(&mut self, name: &str, shape: &[usize], values: &[f64]) -> Result<()> {
        let entry = self.entry(name, shape, false)?;
        self.running.add(entry, values)
    }

    fn entry(&self, name: &str, shape: &[usize], complex: bool) -> Result<Entry> {
        match self.trained.entries.iter().chain(&self.running.entries).any(|entry| entry.name == name) {
            true => Err(Error::parameter(name, "a unique name", "a second parameter of that name")),
            false => Ok(Entry { name: name.into(), shape: shape.to_vec(), complex, start: 0 }),
        }
    }

    /// Sorts parameters in storage by a key (stable): neighbours are updated together.
    pub fn arrange<K: Ord>(&mut self, key: impl Fn(&Entry) -> K) {
        self.trained.entries.sort_by_key(key);
    }

    /// The parameters that were added, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.trained.entries
    }

    /// Lays the parameters out in real numbers of `kind`: complex ones first, for a pair must begin at an even place, then the real
    /// ones, each in the order they were added.
    pub fn build(self, kind: Kind, device: Device) -> Result<Parameters> {
        let Collected { mut entries, values } = self.trained;
        entries.sort_by_key(|entry| !entry.complex);
        let values: Vec<f64> =
            entries.iter().flat_map(|entry| &values[entry.start..][..entry.len()]).copied().collect();
        lay_out(&mut entries);
        let statistics = upload(&self.running.values, kind, device)?;
        Parameters::over(entries, upload(&values, kind, device)?, self.running.entries, statistics)
    }
}

impl Collected {
    fn add(&mut self, entry: Entry, values: &[f64]) -> Result<()> {
        if values.len() != entry.len() {
            let expected = format!("{} real numbers for shape {:?}", entry.len(), entry.shape);
            return Err(Error::parameter(entry.name, expected, values.len()));
        }
        self.entries.push(Entry { start: self.values.len(), ..entry });
        self.values.extend_from_slice(values);
        Ok(())
    }
}

/// Named parameters that share one flat storage.
#[derive(Debug)]
pub struct Parameters {
    flat: Tensor,
    entries: Vec<Entry>,
    leaves: Vec<Tensor>,
    index: HashMap<String, usize>,
    statistics: Tensor,
    statistics_entries: Vec<Entry>,
}

impl Parameters {
    /// An empty set to add to.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The same parameters: storage and leaves are shared.
    pub fn shallow_clone(&self) -> Self {
        Self {
            flat: self.flat.shallow_clone(),
            entries: self.entries.clone(),
            leaves: self.leaves.iter().map(Tensor::shallow_clone).collect(),
            index: self.index.clone(),
            statistics: self.statistics.shallow_clone(),
            statistics_entries: self.statistics_entries.clone(),
        }
    }

    fn over(entries: Vec<Entry>, flat: Tensor, statistics_entries: Vec<Entry>, statistics: Tensor) -> Result<Self> {
        let leaf = |entry: &Entry| -> Result<Tensor> { Ok(entry.part(&flat)?.f_detach()?.f_set_requires_grad(true)?) };
        let leaves = entries.iter().map(leaf).collect::<Result<_>>()?;
        let index = entries.iter().enumerate().map(|(number, entry)| (entry.name.clone(), number)).collect();
        Ok(Self { flat, entries, leaves, index, statistics, statistics_entries })
    }

    /// The flat storage `[len]`. Not on the tape.
    pub fn flat(&self) -> &Tensor {
        &self.flat
    }

    /// The flat storage, to change in place: every parameter changes with it.
    pub fn flat_mut(&mut self) -> &mut Tensor {
        &mut self.flat
    }

    /// Real numbers in the flat storage.
    pub fn len(&self) -> usize {
        self.flat.size()[0] as usize
    }

    /// Whether there is no parameter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where each parameter lies, in the order of the flat storage.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Where the storage is.
    pub fn device(&self) -> Device {
        self.flat.device()
    }

    /// Name and shape of every parameter: what a [`reynolds::plan::SymmetryPlan`] resolves.
    pub fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        self.entries.iter().map(|entry| (entry.name.clone(), entry.shape.clone())).collect()
    }

    /// A parameter, as a leaf of the tape.
    pub fn get(&self, name: &str) -> Result<Tensor> {
        let number = self.index.get(name).ok_or_else(|| Error::parameter(name, "a parameter", "none of that name"))?;
        Ok(self.leaves[*number].shallow_clone())
    }

    /// A running statistic, in its shape: changing it in place changes the storage. Layers keep theirs in their forward pass, which borrows
    /// the parameters like any other.
    pub fn statistic(&self, name: &str) -> Result<Tensor> {
        let entry = self.statistics_entries.iter().find(|entry| entry.name == name);
        entry.ok_or_else(|| Error::parameter(name, "a running statistic", "none of that name"))?.part(&self.statistics)
    }

    /// The flat storage of the running statistics, `[m]`, empty if there are none. Not on the tape.
    pub fn statistics(&self) -> &Tensor {
        &self.statistics
    }

    /// Where each running statistic lies in [`Parameters::statistics`].
    pub fn statistics_entries(&self) -> &[Entry] {
        &self.statistics_entries
    }

    /// All parameters as one tensor `[len]` on the tape: what is done with it reaches the leaves.
    pub fn on_tape(&self) -> Result<Tensor> {
        on_tape(&self.leaves)
    }

    /// The gradient of a loss, flat `[len]`, and zero where the loss does not depend on a parameter. Nothing is accumulated in the leaves.
    ///
    /// # Errors
    /// [`Error::Setting`] if the loss is no number or not on the tape; [`Error::Torch`] if its graph has been freed by another backward pass.
    pub fn gradient(&self, loss: &Tensor) -> Result<Tensor> {
        let parts = self.gradients(loss)?.into_iter().zip(&self.entries).map(|(gradient, entry)| match gradient {
            Some(gradient) => Ok(gradient),
            None => Ok(self.flat.f_narrow(0, entry.start as i64, entry.len() as i64)?.f_zeros_like()?),
        });
        Ok(Tensor::f_cat(&parts.collect::<Result<Vec<_>>>()?, 0)?)
    }

    /// Adds the gradient of a loss to `gradient`, flat `[len]`, in place: nothing where the loss does not depend on a parameter.
    pub fn add_gradient(&self, loss: &Tensor, gradient: &mut Tensor) -> Result<()> {
        for (part, entry) in self.gradients(loss)?.into_iter().zip(&self.entries) {
            if let Some(part) = part {
                let _ = gradient.f_narrow(0, entry.start as i64, entry.len() as i64)?.f_add_(&part)?;
            }
        }
        Ok(())
    }

    /// The gradient by each parameter the loss depends on, a vector of real numbers.
    fn gradients(&self, loss: &Tensor) -> Result<Vec<Option<Tensor>>> {
        // libtorch would follow a null pointer without a graph, and sum up a loss of many numbers.
        if loss.numel() != 1 || !loss.requires_grad() {
            let found = format!("{:?}, {} the tape", loss.size(), if loss.requires_grad() { "on" } else { "not on" });
            return Err(Error::setting("loss", "one number on the tape", found));
        }
        let gradients = Tensor::f_run_backward(&[loss], &self.leaves, false, false)?;
        gradients.iter().map(|gradient| gradient.defined().then(|| real_numbers(gradient)).transpose()).collect()
    }

    /// A copy in another number type; the same storage if it is that already.
    pub fn to_kind(&self, kind: Kind) -> Result<Self> {
        let (flat, statistics) = (self.flat.f_to_kind(kind)?, self.statistics.f_to_kind(kind)?);
        Self::over(self.entries.clone(), flat, self.statistics_entries.clone(), statistics)
    }

    /// Overwrites the storage.
    ///
    /// # Errors
    /// [`Error::Setting`] if the length differs.
    pub fn assign(&mut self, values: &Tensor) -> Result<()> {
        let _guard = tch::no_grad_guard();
        check_size("flat tensor", &self.flat, values)?;
        self.flat.f_copy_(values)?;
        Ok(())
    }

    /// Overwrites the running statistics.
    ///
    /// # Errors
    /// [`Error::Setting`] if their number differs.
    pub fn assign_statistics(&mut self, values: &Tensor) -> Result<()> {
        let _guard = tch::no_grad_guard();
        check_size("running statistics", &self.statistics, values)?;
        self.statistics.f_copy_(values)?;
        Ok(())
    }
}

/// A real or complex tensor as a vector of real numbers, on the tape if it is.
fn real_numbers(tensor: &Tensor) -> Result<Tensor> {
    let real = if tensor.is_complex() { tensor.f_resolve_conj()?.f_view_as_real()? } else { tensor.shallow_clone() };
    Ok(real.f_reshape([-1])?)
}

/// Tensors, one after the other, as one vector of real numbers on the tape.
pub(crate) fn on_tape(tensors: &[Tensor]) -> Result<Tensor> {
    Ok(Tensor::f_cat(&tensors.iter().map(real_numbers).collect::<Result<Vec<_>>>()?, 0)?)
}

/// Complex parameters first, for a pair must begin at an even place, then the real ones, one after the other.
pub(crate) fn lay_out(entries: &mut [Entry]) {
    entries.sort_by_key(|entry| !entry.complex);
    let mut start = 0;
    for entry in entries {
        entry.start = start;
        start += entry.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::built;

    fn parameters(make: impl FnOnce(&mut Builder) -> Result<()>) -> Parameters {
        built(make).1
    }

    #[test]
    fn complex_parameters_come_first_and_a_change_of_the_flat_storage_is_seen_by_every_leaf() {
        let mut parameters = parameters(|builder| {
            builder.real("a", &[3], &[1.0, 2.0, 3.0])?;
            builder.complex("z", &[1], &[(4.0, 5.0)])
        });
        parameters.assign(&(parameters.flat() * 2.0)).unwrap();
        assert_eq!(*parameters.flat(), Tensor::from_slice(&[8.0, 10.0, 2.0, 4.0, 6.0]));
        assert_eq!(parameters.get("z").unwrap().imag().double_value(&[0]), 10.0);
        assert_eq!(Vec::<f64>::try_from(parameters.get("a").unwrap().detach()).unwrap(), [2.0, 4.0, 6.0]);
        assert_eq!(parameters.entries()[0].name, "z");
    }

    #[test]
    fn the_gradient_of_a_complex_parameter_is_by_its_real_and_imaginary_part() {
        let parameters = parameters(|builder| builder.complex("z", &[1], &[(3.0, 4.0)]));
        let z = parameters.get("z").unwrap();
        let loss = (&z * z.conj()).real().sum(Kind::Double) + z.imag().sum(Kind::Double) * 10.0;
        assert_eq!(Vec::<f64>::try_from(&parameters.gradient(&loss).unwrap()).unwrap(), [6.0, 18.0]);
    }

    #[test]
    fn parameters_are_laid_out_by_a_key() {
        let parameters = parameters(|builder| {
            builder.real("long", &[1], &[1.0])?;
            builder.real("a", &[1], &[2.0])?;
            builder.arrange(|entry| entry.name.len() > 1);
            Ok(())
        });
        assert_eq!(*parameters.flat(), Tensor::from_slice(&[2.0, 1.0]));
    }

    #[test]
    fn running_statistics_are_apart_from_the_parameters_and_changed_in_place() {
        let parameters = parameters(|builder| {
            builder.real("a", &[2], &[1.0, 2.0])?;
            builder.statistic("mean", &[2], &[0.0, 0.5])?;
            builder.statistic("variance", &[1, 1], &[1.0])?;
            assert!(builder.statistic("a", &[1], &[1.0]).is_err() && builder.real("mean", &[1], &[1.0]).is_err());
            Ok(())
        });
        let _ = parameters.statistic("variance").unwrap().fill_(7.0);
        assert_eq!(Vec::<f64>::try_from(parameters.statistics()).unwrap(), [0.0, 0.5, 7.0]);
        assert_eq!((parameters.len(), parameters.statistic("variance").unwrap().size()), (2, vec![1, 1]));
        let gradient = parameters.gradient(&parameters.get("a").unwrap().sum(Kind::Double)).unwrap();
        assert_eq!(gradient.size(), [2]);
    }

    #[test]
    fn wrong_numbers_names_losses_and_lengths_are_errors_that_change_nothing() {
        let mut parameters = parameters(|builder| {
            builder.real("a", &[2], &[1.0, 2.0])?;
            assert!(builder.real("a", &[1], &[1.0]).is_err() && builder.real("b", &[3], &[1.0]).is_err());
            assert_eq!(builder.entries().len(), 1);
            Ok(())
        });
        assert!(parameters.gradient(&Tensor::from(1.0)).is_err());
        assert!(parameters.gradient(&parameters.get("a").unwrap()).is_err());
        assert!(parameters.assign(&Tensor::from_slice(&[1.0])).is_err());
        assert_eq!(Vec::<f64>::try_from(parameters.flat()).unwrap(), [1.0, 2.0]);
    }
}
