//! Settings, loop, folders and resume, on an experiment small enough to stop at every step.

mod config;
mod folder;
mod logistic;
mod resume;
mod train;
