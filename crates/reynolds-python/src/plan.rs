//! Plans: which fields the channels of each layer hold.

use pyo3::prelude::*;
use reynolds::group;
use reynolds::plan::{self, Network, SymmetryPlan, UniformFields};

use crate::error::of_core;
use crate::layers::Layers;

/// Names and shapes of a network's tensors.
pub(crate) type Shapes = Vec<(String, Vec<usize>)>;

/// A symmetry plan of the core.
#[pyclass(frozen, module = "reynolds._reynolds")]
pub(crate) struct Plan {
    pub(crate) plan: SymmetryPlan,
}

#[pymethods]
impl Plan {
    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Self> {
        Ok(Self { plan: SymmetryPlan::from_toml(text).map_err(of_core)? })
    }

    #[staticmethod]
    fn uniform(group: &str, fields: &str) -> PyResult<Self> {
        let fields: UniformFields = fields.parse().map_err(of_core)?;
        let group = group::parse(group).map_err(of_core)?;
        Ok(Self { plan: SymmetryPlan::uniform(&group, fields).map_err(of_core)? })
    }

    /// The text of a plan to start from.
    #[staticmethod]
    fn suggest(group: &str, tensors: Shapes) -> PyResult<String> {
        Ok(plan::suggest(&group::parse(group).map_err(of_core)?, &Network { tensors, ..Network::default() }))
    }

    fn restricted_to(&self, subgroup: &str) -> PyResult<Self> {
        Ok(Self { plan: self.plan.restricted_to(subgroup).map_err(of_core)? })
    }

    #[getter]
    fn group(&self) -> String {
        self.plan.group().name()
    }

    fn resolve(&self, py: Python<'_>, tensors: Shapes) -> PyResult<Layers> {
        let resolved = py.detach(|| self.plan.resolve(&tensors)).map_err(of_core)?;
        Ok(Layers { resolved })
    }
}
