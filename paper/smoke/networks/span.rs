//! Parameters that follow each other in the flat storage, seen as one.

use tch::Tensor;

use reynolds_torch::error::{Error, Result};
use reynolds_torch::parameters::Parameters;

/// A run of the flat storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: i64,
    len: i64,
}

impl Span {
    /// The run of these parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`] if one is missing or does not follow the one before it.
    pub(super) fn of(parameters: &Parameters, names: &[String]) -> Result<Self> {
        let mut span: Option<Self> = None;
        for name in names {
            let entry = parameters.entries().iter().find(|entry| entry.name == *name);
            let entry = entry.ok_or_else(|| Error::parameter(name, "one of the network", "none"))?;
            let Self { start, len } = span.unwrap_or(Self { start: entry.start as i64, len: 0 });
            if entry.start as i64 != start + len {
                return Err(Error::parameter(name, format!("a beginning at {}", start + len), entry.start));
            }
            span = Some(Self { start, len: len + entry.len() as i64 });
        }
        Ok(span.unwrap_or(Self { start: 0, len: 0 }))
    }

    /// This run of a flat tensor in a shape; changing it changes the tensor.
    pub(super) fn view(&self, flat: &Tensor, shape: &[i64]) -> Result<Tensor> {
        Ok(flat.f_narrow(0, self.start, self.len)?.f_view(shape)?)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn parameters_in_a_row_are_one_matrix_and_others_are_refused() {
        let mut builder = Parameters::builder();
        for (name, count) in [("a", 1), ("b", 4), ("c", 2)] {
            builder.real(name, &[count], &vec![1.0; count]).unwrap();
        }
        let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let span = Span::of(&parameters, &names(&["b", "c"])).unwrap();
        let _ = span.view(parameters.flat(), &[2, 3]).unwrap().fill_(5.0);
        assert_eq!(Vec::<f64>::try_from(parameters.flat()).unwrap(), [1.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]);
        assert!(Span::of(&parameters, &names(&["a", "c"])).is_err());
        assert!(Span::of(&parameters, &names(&["d"])).is_err());
    }
}
