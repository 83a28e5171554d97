//! The training of a point of a table, in which a diverged run is a result.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use reynolds_torch::tch::{Cuda, Device};

use super::curves::curves;
use super::point::PACE;
use super::{PointSession, Trained};
use reynolds_train::config::{RunConfig, Settings};
use reynolds_train::error::{Error, Result};
use reynolds_train::metrics::Summary;
use reynolds_train::progress::Observer;
use reynolds_train::task::Task;
use reynolds_train::train::{Ending, train};

/// What several points load once.
#[derive(Debug)]
pub(crate) struct Shared<T>(Mutex<HashMap<String, T>>);

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Shared<T> {
    /// What `load` gives, loaded once for each `key`, which must name everything it depends on.
    pub(crate) fn get(&self, key: String, load: impl FnOnce() -> Result<T>) -> Result<T> {
        // A poisoned map is whole: entries are only added.
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !loaded.contains_key(&key) {
            loaded.insert(key.clone(), load()?);
        }
        Ok(loaded[&key].clone())
    }
}

/// Steps of a probe before the clock starts: kernels are chosen, and a step is captured.
const BEFORE: usize = 10;

/// How fast a probe trains, and its end. Waits for the device when the clock starts and stops.
struct Pace<'a> {
    session: &'a PointSession<'a>,
    first: Option<(usize, Instant)>,
    rate: Option<f64>,
}

impl<'a> Pace<'a> {
    fn of(session: &'a PointSession<'a>) -> Self {
        Self { session, first: None, rate: None }
    }

    fn now(&self) -> Instant {
        if let Device::Cuda(number) = self.session.device {
            Cuda::synchronize(number as i64);
        }
        Instant::now()
    }

    fn measured(&self) -> Option<Trained> {
        let metrics = [(PACE.to_string(), self.rate?)].into();
        Some(Trained { metrics, ..Trained::default() })
    }
}

impl Observer for Pace<'_> {
    fn step(&mut self, done: usize, _: Option<f64>) {
        let (Some(probe), None) = (self.session.probe, self.rate) else { return };
        match self.first {
            None if done >= BEFORE => self.first = Some((done, self.now())),
            Some((first, start)) if start.elapsed() >= probe => {
                self.rate = Some((done - first) as f64 / (self.now() - start).as_secs_f64());
                self.session.interrupt.request();
            }
            _ => {}
        }
    }
}

/// Trains a model and adds the curves of these metrics to what `tested` makes of the summary; `None` if interrupted. A probe has its pace alone. A run whose
/// loss becomes non-finite has the metric "diverged" = 1, and the failure "training" says why.
pub(crate) fn trained<S: Settings, T: Task>(
    run: &RunConfig<S>,
    task: &mut T,
    parameters: f64,
    of: &[&str],
    session: &PointSession<'_>,
    tested: impl FnOnce(&T, &Summary) -> Result<Trained>,
) -> Result<Option<Trained>> {
    let (mut journal, mut pace) = (session.journal(run), Pace::of(session));
    let trained = train(task, &run.train, &run.penalty, &mut journal, &mut pace, session.interrupt);
    if session.probe.is_some() {
        return trained.map(|_| pace.measured());
    }
    let mut trained = match trained {
        Ok(Ending::Interrupted { .. }) => return Ok(None),
        Ok(Ending::Finished(summary)) => {
            let mut trained = match tested(task, &summary) {
                Err(Error::Interrupted) => return Ok(None),
                trained => trained?,
            };
            for (name, value) in [("epochs", summary.epochs), ("steps", summary.steps)] {
                trained.metrics.insert(name.into(), value as f64);
            }
            trained
        }
        Err(error @ Error::NotFinite { .. }) => Trained {
            metrics: [("diverged".to_string(), 1.0)].into(),
            failures: [("training".to_string(), error.to_string())].into(),
            ..Trained::default()
        },
        Err(error) => return Err(error),
    };
    trained.metrics.insert("parameters".into(), parameters);
    trained.arrays.extend(curves(&journal.records, of));
    Ok(Some(trained))
}
