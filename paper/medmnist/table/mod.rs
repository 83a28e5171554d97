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

mod budget;
mod cells;
mod claims;
#[cfg(test)]
mod committed;
mod confusion;
mod efficiency;
mod figures;
mod measured;
mod notes;
mod paper;
mod sensitivity;
mod settings;
mod shapes;
#[cfg(test)]
mod synthetic;
mod tables;
mod target;
#[cfg(test)]
mod tests;
mod tuning;
mod volume_run;
mod written;

pub(crate) use efficiency::EFFICIENCY;
pub(crate) use target::{ACCURACY, CONFUSION, SENSITIVITY, SHAPES};
