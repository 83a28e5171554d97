//! `table-medmnist`, `table-medmnist-efficiency`, `fig-sensitivity`, `fig-confusion` and `fig-shapes`: volumes told apart by a plain CNN,
//! by networks that are equivariant under SO(3) or O(3), and by what lies between.
//!
//! ```text
//! first       every row on every set at the first seed, with the paper's strengths or with all that are tried
//! then        the other seeds of what was best on validation
//! measured    a process for each row and minibatch, alone
//! ```
//!
//! Paper: section "MedMNIST", `tab:medmnist`, `tab:model_efficiency`, `fig:sweep_lambdas_medmnist`, `fig:confusion_medmnist`.

mod accuracy;
mod budget;
mod cells;
mod claims;
mod confusion;
mod efficiency;
mod figures;
mod notes;
mod sensitivity;
mod settings;
mod shapes;
#[cfg(test)]
mod synthetic;
mod target;
#[cfg(test)]
mod tests;
mod tuning;
mod volume_run;

pub(crate) use efficiency::Efficiency;
pub(crate) use target::{ACCURACY, CONFUSION, SENSITIVITY, SHAPES};
