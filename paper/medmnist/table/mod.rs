//! `table-medmnist`, `table-medmnist-efficiency`, `fig-sensitivity`, `fig-confusion` and `fig-shapes`: volumes classified by a plain CNN, by
//! equivariant networks and by relaxed ones.
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

// What most files here need.
use self::cells::{Cell, CellColumn, find, over, strength};
use self::settings::TargetSettings;
use self::target::Trains;
use self::volume_run::VolumeRun;
use crate::medmnist::networks::{Architecture, Symmetry};
use crate::medmnist::rows::{Row, Strengths, group_head};
use crate::medmnist::sets::Set;
use crate::medmnist::{MedExperiment, MedSettings};
use crate::targets::columns::{Column, decimals, shown, spread};
use crate::targets::curves::sheet;
use crate::targets::findings::{Figure, Findings};
use crate::targets::judge::{Difference, judged, over_seeds};
use crate::targets::point::{Frame, Point, PointSession, Trained};
use crate::targets::published::Published;
use crate::targets::runs::{Runs, is_diverged};
use crate::targets::sample::{Sample, three_digits};
use crate::targets::{Budget, Chosen, Named, Numbers, Target, boxed, columns, curves, runs};
use reynolds_report::figure::{Colour, Key, LineChart, Sheet};
use reynolds_report::{Check, Reason, Table, Verdict};
use reynolds_train::config::RunConfig;
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;
use std::ops::Range;
use std::sync::LazyLock;

pub(crate) use efficiency::Efficiency;
pub(crate) use target::{ACCURACY, CONFUSION, SENSITIVITY, SHAPES};
