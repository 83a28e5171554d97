//! `table-medmnist`, `table-medmnist-efficiency`, `fig-sensitivity`, `fig-confusion` and `fig-shapes`: volumes told apart by a plain CNN,
//! by networks that are equivariant under SO(3) or O(3), and by what lies between.
//!
//! ```text
//! first       every row on every set at seed 0, with the paper's strengths or with all that are tried
//! then        the other seeds of what was best on validation
//! measured    a process for each row, alone
//! ```
//!
//! Paper: section "MedMNIST", `tab:medmnist`, `tab:model_efficiency`, `fig:sweep_lambdas_medmnist`, `fig:confusion_medmnist`.

mod budget;
mod cells;
mod claims;
mod confusion;
mod efficiency;
mod figures;
mod measured;
mod med_model;
mod notes;
mod paper;
mod row;
mod sensitivity;
mod sets;
mod settings;
mod shapes;
#[cfg(test)]
mod synthetic;
mod tables;
mod target;
#[cfg(test)]
mod tests;
mod tuning;
mod written;

use budget::Of;
pub(crate) use target::MedTarget;

/// Paper: `tab:medmnist`.
pub(crate) const ACCURACY: MedTarget = MedTarget {
    name: "table-medmnist",
    about: "classes of MedMNIST volumes told apart by nine networks, SO(3) and O(3) (tab:medmnist)",
    of: Of::Accuracy,
};

/// Paper: `tab:model_efficiency`.
pub(crate) const EFFICIENCY: MedTarget = MedTarget {
    name: "table-medmnist-efficiency",
    about: "parameters, throughput, epoch time and memory of these networks (tab:model_efficiency)",
    of: Of::Efficiency,
};

/// Paper: `fig:sweep_lambdas_medmnist`.
pub(crate) const SENSITIVITY: MedTarget = MedTarget {
    name: "fig-sensitivity",
    about: "accuracy of ours over a grid of λ_G and λ_⊥, by set and group (fig:sweep_lambdas_medmnist)",
    of: Of::Sensitivity,
};

/// Paper: `fig:confusion_medmnist`.
pub(crate) const CONFUSION: MedTarget = MedTarget {
    name: "fig-confusion",
    about: "confusion matrices of the CNN, the SCNN and ours side by side (fig:confusion_medmnist)",
    of: Of::Confusion,
};

/// No figure of the paper: what its method should do where the symmetry is known.
pub(crate) const SHAPES: MedTarget = MedTarget {
    name: "fig-shapes",
    about: "pairs of generated shapes that differ by a turn or a reflection alone, and the best λ_⊥ as the symmetry is broken (section 4.4)",
    of: Of::Shapes,
};
