//! The cost of a row of a table: steps of an experiment, each in a process of its own while nothing else runs, so that peak memory is that of
//! one network in one mode.

use reynolds_train::error::{Error, Result};
use reynolds_train::sweep::Launcher;
use serde_json::Value;

use super::{Point, PointSession, Trained};
use crate::step::{AnyStep, Step, Timed};

#[derive(Debug, Clone)]
pub(crate) struct Cost<E: Timed> {
    pub(crate) id: String,
    pub(crate) settings: Value,
    pub(crate) parts: Vec<Part<E>>,
    /// Starts the processes; `None`: this program.
    pub(crate) launcher: Option<Launcher>,
}

/// Steps to be measured.
#[derive(Debug, Clone)]
pub(crate) struct Part<E: Timed> {
    pub(crate) step: Step<E>,
    /// Metrics that are kept, and their names in the table.
    pub(crate) kept: Vec<(&'static str, String)>,
    /// Under which name it is kept that these steps failed, as for want of memory; without one that is an error.
    pub(crate) failure: Option<String>,
}

impl<E: Timed<Settings: Send + Sync>> Point for Cost<E> {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn settings(&self) -> Value {
        self.settings.clone()
    }

    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let launcher = self.launcher.clone().map_or_else(Launcher::this_program, Ok)?;
        let mut all = Trained::default();
        let mut before: Option<(&Step<E>, Trained)> = None;
        for Part { step, kept, failure } in &self.parts {
            let measured = match before.take() {
                Some((other, measured)) if other == step => Ok(Some(measured)),
                _ => step.in_a_child(&launcher, session.device, session.interrupt),
            };
            match (measured, failure) {
                (Ok(None), _) => return Ok(None),
                (Ok(Some(measured)), _) => {
                    for (name, name_here) in kept {
                        all.metrics.extend(measured.metrics.get(*name).map(|value| (name_here.clone(), *value)));
                        all.failures.extend(measured.failures.get(*name).map(|why| (name_here.clone(), why.clone())));
                    }
                    before = Some((step, measured));
                }
                (Err(error), None) => return Err(error),
                (Err(Error::File { found, .. }), Some(name)) => drop(all.failures.insert(name.clone(), found)),
                (Err(error), Some(name)) => drop(all.failures.insert(name.clone(), error.to_string())),
            }
        }
        Ok(Some(all))
    }

    fn alone(&self) -> bool {
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::so2::{DiskAndArc, PlaneExperiment};
    use crate::targets::synthetic::train_point;
    use reynolds_train::experiment::Experiment;

    /// Steps with these numbers of points, of which the second may fail, measured by a script.
    fn measured(points: [usize; 3], script: &str) -> Result<Option<Trained>> {
        let part = |number: usize| {
            let mut run = PlaneExperiment::<DiskAndArc>::new().defaults();
            run.settings.data.points = points[number];
            let kept = vec![("train_ms", format!("{number}/train")), ("peak_memory_mib", format!("{number}/memory"))];
            Part::<PlaneExperiment<DiskAndArc>> {
                step: Step::new(run),
                kept,
                failure: (number == 1).then(|| "second".into()),
            }
        };
        let launcher = Launcher { program: "/bin/sh".into(), before: vec!["-c".into(), script.into()] };
        let (id, settings, parts) = ("cost".into(), Value::Null, [0, 1, 2].map(part).into());
        train_point(&Cost { id, settings, parts, launcher: Some(launcher) })
    }

    #[test]
    fn results_of_children_are_kept_by_name_and_failures_with_their_reason() {
        // "$1" is the folder; the child is asked for the command cost, and notes that it was started.
        let starts = tempfile::tempdir().unwrap();
        let write = format!(
            "test \"$0\" = cost && grep -q 'experiment = \"so2\"' \"$1/cost.toml\" && points=$(sed -n 's/^points = //p' \"$1/cost.toml\") && \
             echo >> {}/starts && echo \"{{\\\"metrics\\\":{{\\\"train_ms\\\":$points,\\\"parameters\\\":7}},\
             \\\"failures\\\":{{\\\"peak_memory_mib\\\":\\\"no driver\\\"}}}}\" > \"$1/cost.json\"",
            starts.path().display()
        );
        let trained = measured([4, 12, 12], &write).unwrap().unwrap();
        let numbers = ["0/train", "1/train", "2/train"];
        assert_eq!(numbers.map(|name| trained.metric(name)), [4.0, 12.0, 12.0]);
        assert_eq!((trained.metrics.len(), trained.failures["1/memory"].as_str()), (3, "no driver"));
        // Equal settings are measured once.
        assert_eq!(std::fs::read_to_string(starts.path().join("starts")).unwrap().lines().count(), 2);
        let full = "if grep -q '^points = 12' \"$1/cost.toml\"; then echo 'error: no room' >&2; exit 2; fi";
        let fitting = measured([4, 12, 5], &format!("{full}; {write}")).unwrap().unwrap();
        assert!(fitting.metric(numbers[0]) == 4.0 && fitting.metric(numbers[1]).is_nan(), "{fitting:?}");
        assert_eq!(fitting.failures["second"], "no room");
        for points in [[12, 4, 4], [4, 4, 12]] {
            let failed = measured(points, &format!("{full}; {write}")).unwrap_err().to_string();
            assert!(failed.contains("no room"), "{failed}");
        }
        assert!(measured([4; 3], "true").unwrap_err().to_string().contains("cost.json"), "a child that leaves nothing");
    }
}
