//! A reproduction from beginning to end.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use reynolds_torch::tch::Device;

use super::findings::{Made, Reproduction, command, differing, spelt};
use super::provenance::Provenance;
use super::store::Store;
use super::{Budget, Frame, PointSession, Target, document};
use reynolds_report::terminal::shell_word;
use reynolds_train::config::{self, Assignment};
use reynolds_train::environment::Environment;
use reynolds_train::error::{Error, Result};
pub use reynolds_train::run::Session;
use reynolds_train::run_folder::RunFolder;
use reynolds_train::sweep::Launcher;
use reynolds_train::threads;

/// The folder of a reproduction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputFolder {
    /// A new folder `root/reproduce/<target>/<time>-<id>`; the root is "runs" by default.
    Under(PathBuf),
    /// The folder of a reproduction that was stopped, with its own budget and settings.
    Resume(PathBuf),
}

/// Arguments of `reynolds reproduce`.
#[derive(Debug, Clone)]
pub struct Request {
    pub budget: Budget,
    /// Settings of the target, over those of the budget.
    pub assignments: Vec<Assignment>,
    pub folder: OutputFolder,
    pub jobs: Jobs,
    /// Starts a process for each model; `None`: models are threads of this one.
    pub launcher: Option<Launcher>,
}

/// Models trained in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jobs {
    /// The fastest number of processes, by the steps of some seconds, that fits into memory; threads: one per processor.
    Auto,
    /// 0 = one per processor, and one at a time on a GPU.
    Number(usize),
}

#[derive(Debug)]
pub enum Outcome {
    Finished(Box<Reproduction>),
    /// Finished models are kept, and the checkpoints of the others.
    Interrupted {
        folder: PathBuf,
        /// The command that resumes it.
        command: String,
    },
}

/// Trains what a target needs, draws it, and writes its folder.
pub(crate) fn reproduce<T: Target>(target: &T, request: &Request, mut session: Session<'_>) -> Result<Outcome> {
    let (folder, budget, settings) = match &request.folder {
        OutputFolder::Under(root) => {
            let settings = config::load(&target.settings(request.budget), None, &request.assignments)?;
            target.points(&settings)?;
            let folder = RunFolder::create(&root.join("reproduce"), target.name())?;
            document::write(&folder, target, request.budget, &settings)?;
            (folder, request.budget, settings)
        }
        OutputFolder::Resume(path) => {
            let folder = RunFolder::open(path)?;
            let (budget, settings) = document::read(folder.path(), target)?;
            (folder, budget, settings)
        }
    };
    let (launcher, environment) = (request.launcher.clone(), Environment::now(session.device));
    let workers = match (session.device, request.jobs) {
        (_, Jobs::Auto) if launcher.is_some() => None,
        (Device::Cpu, Jobs::Auto) => Some(threads::resolve(0)),
        (Device::Cpu, Jobs::Number(number)) => Some(threads::resolve(number)),
        (_, Jobs::Auto) => Some(1),
        (_, Jobs::Number(number)) => Some(number.max(1)),
    };
    let workers = workers.map_or_else(OnceLock::new, OnceLock::from);
    let store = Store { reproduction: folder.path().into(), environment, device: session.device, workers, launcher };
    let Some((frame, speed)) = trained(target, &settings, &store, &mut session)? else {
        let path = folder.path().to_path_buf();
        let command = format!("reynolds reproduce {} --resume {}", target.name(), shell_word(&path));
        let command = command + &device_option(&store.environment.device);
        return Ok(Outcome::Interrupted { folder: path, command });
    };
    let findings = target.findings(&settings, &frame)?;
    let provenance = Provenance::new(frame.iter().map(|entry| entry.environment.clone()), store.environment);
    let command = command(target, budget, &settings) + &device_option(provenance.device());
    let (name, about, but) = (target.name(), target.about(), differing(target, budget, &settings));
    let mut title = format!("{name}: {about}\nbudget {but}\n{}", spelt(&target.shown(&settings)));
    title.extend(provenance.mixed().map(|mixed| format!("\n{mixed}")));
    let made = Made { target, budget, settings: &settings, provenance, speed: &speed, command: &command };
    made.write(folder.path(), &frame, &findings)?;
    Ok(Outcome::Finished(Box::new(Reproduction { folder: folder.path().into(), title, speed, findings })))
}

/// Trains one point of a reproduction, which another process has begun and waits for; what it makes of it is in `session.folder`.
pub(super) fn train_point<T: Target>(
    target: &T,
    reproduction: &Path,
    id: &str,
    session: &PointSession<'_>,
) -> Result<()> {
    let (_, settings) = document::read(reproduction, target)?;
    let store = Store::reading(reproduction, session.device);
    let (mut frame, mut phase) = (Frame::default(), target.points(&settings)?);
    while !phase.is_empty() {
        if let Some(point) = phase.iter().find(|point| point.id() == id) {
            return store.train(point.as_ref(), session).map(drop);
        }
        store.read(&phase, &mut frame)?;
        phase = target.more(&settings, &frame)?;
        phase.retain(|point| frame.find(point.as_ref()).is_none());
    }
    Err(Error::config("point", format!("one of {}", target.name()), id))
}

/// `--device cuda:0`, or nothing where that is the default.
fn device_option(device: &str) -> String {
    if device == "cpu" { String::new() } else { format!(" --device {device}") }
}

/// All points of a target, phase by phase, and how fast they were trained; `None` if interrupted.
fn trained<T: Target>(
    target: &T,
    settings: &T::Settings,
    store: &Store,
    session: &mut Session<'_>,
) -> Result<Option<(Frame, String)>> {
    let (mut frame, mut now, mut seconds) = (Frame::default(), 0, 0.0);
    if let Some(plan) = target.plan(settings)? {
        session.observer.say(&plan);
    }
    let mut phase = target.points(settings)?;
    let mut prepared = false;
    while !phase.is_empty() {
        // Tables of finished points need no data.
        if !prepared && store.misses(&phase)? {
            if !target.prepare(settings, session)? {
                return Ok(None);
            }
            prepared = true;
        }
        let start = Instant::now();
        let trained = store.train_all(&phase, &mut frame, session.observer, &session.interrupt)?;
        let Some(trained) = trained else { return Ok(None) };
        now += trained;
        seconds += if trained > 0 { start.elapsed().as_secs_f64() } else { 0.0 };
        phase = target.more(settings, &frame)?;
        phase.retain(|point| frame.find(point.as_ref()).is_none());
    }
    let speed = speed(frame.len(), now, store.workers.get().copied().unwrap_or(1), seconds);
    Ok(Some((frame, speed)))
}

fn speed(all: usize, now: usize, workers: usize, seconds: f64) -> String {
    match (all, now) {
        (0, _) => "nothing to train".into(),
        (all, 0) => format!("all {all} models were trained before"),
        (all, now) => {
            let before = if all > now { format!(" ({} more were trained before)", all - now) } else { String::new() };
            let workers = workers.min(now);
            let rate = now as f64 / seconds;
            format!("{now} models in {seconds:.1} s, {workers} at a time{before}: {rate:.2} models/s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::find;
    use crate::targets::synthetic::{finished, reproduced, request};
    use reynolds_train::interrupt::Interrupt;
    use reynolds_train::progress::Silent;

    /// results.json without the environment, which tells the time, and the environment.
    fn results(folder: &std::path::Path) -> (serde_json::Value, serde_json::Value) {
        let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
        let mut results: serde_json::Value = serde_json::from_str(&text).unwrap();
        let environment = results.as_object_mut().unwrap().remove("environment").unwrap();
        (results, environment)
    }

    #[test]
    fn a_reproduction_leaves_its_folder_and_goes_on_to_the_same_results_without_rewriting_where_models_were_trained() {
        let root = tempfile::tempdir().unwrap();
        let folder = OutputFolder::Under(root.path().into());
        let first = finished("fig-so2", &request(folder, &[("seeds", "1"), ("train.epochs", "2")]));
        let folder = first.folder.clone();
        for file in ["figures/fig-so2.svg", "figures/fig-so2-squared.svg", "table.csv", "report.html", "results.json"] {
            assert!(folder.join(file).is_file(), "{file}");
        }
        let page = || std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert_eq!(page().matches("<img src=\"data:image/svg+xml,").count(), 2);
        assert_eq!(page().matches("http").count(), page().matches("xmlns=%22http://www.w3.org/2000/svg%22").count());
        assert!(first.to_string().contains("falls along the path"));
        let (before, environment) = results(&folder);
        assert_eq!((before["models"].as_array().unwrap().len(), &environment["models"]), (10, &10.into()));
        // As if an accelerator had trained all but two, long ago; one of them is trained again.
        let mut points: Vec<_> = std::fs::read_dir(folder.join("points")).unwrap().map(|e| e.unwrap().path()).collect();
        points.sort();
        std::fs::remove_file(points[0].join("summary.json")).unwrap();
        for file in points[2..].iter().map(|point| point.join("summary.json")) {
            let text = std::fs::read_to_string(&file).unwrap().replace("\"device\":\"cpu\"", "\"device\":\"cuda:0\"");
            // Long ago there were no checksums.
            let text = text.split(",\n\"crc32c\"").next().unwrap().to_string() + "}";
            std::fs::write(file, text.replace("\"time\":\"2", "\"time\":\"1")).unwrap();
        }
        let again = finished("fig-so2", &request(OutputFolder::Resume(folder.clone()), &[]));
        assert!(again.speed.starts_with("1 models") && again.speed.contains("9 more"), "{}", again.speed);
        assert!(again.to_string().contains("models of several origins: cuda:0"), "{again}");
        let (after, resumed) = results(&folder);
        assert_eq!(after, before);
        assert_eq!((&resumed["device"], &resumed["models"]), (&"cuda:0".into(), &8.into()));
        let second = &resumed["resumed"][0];
        assert_eq!((&second["device"], &second["time"]), (&"cpu".into(), &environment["time"]));
        assert!(page().contains("--device cuda:0") && page().contains("cpu (2 models)"));
        let other = reproduced("fig-rings", &request(OutputFolder::Resume(folder), &[])).unwrap_err().to_string();
        assert!(other.contains("config.toml: expected target = \"fig-rings\", found fig-so2"), "{other}");
    }

    #[test]
    fn an_interrupt_says_how_to_go_on() {
        let root = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::new();
        interrupt.request();
        let session = Session { device: Device::Cpu, interrupt, observer: &mut Silent };
        let request = request(OutputFolder::Under(root.path().into()), &[]);
        let outcome = find("fig-so2").unwrap().reproduce(&request, session).unwrap();
        let Outcome::Interrupted { folder, command } = outcome else { panic!("it was interrupted") };
        assert_eq!(command, format!("reynolds reproduce fig-so2 --resume {}", folder.display()));
    }
}
