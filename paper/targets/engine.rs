//! A reproduction from beginning to end.

use std::path::PathBuf;
use std::time::Instant;

use reynolds_torch::tch::Device;
use serde::{Deserialize, Serialize};

use super::findings::{Made, Reproduction, command, differing, spelt};
use super::point::{Frame, Point};
use super::provenance::Provenance;
use super::store::{Store, train_all};
use super::{Budget, Target};
use reynolds_train::config::{self, Assignment, Settings};
use reynolds_train::environment::Environment;
use reynolds_train::error::{Error, Result};
pub use reynolds_train::run::Session;
use reynolds_train::run_folder::RunFolder;
use reynolds_train::threads;

/// Where a reproduction leaves its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A new folder `root/reproduce/<target>/<time>-<id>`; the root is "runs" as a rule.
    Under(PathBuf),
    /// The folder of a reproduction that was stopped; its own budget and settings hold.
    Resume(PathBuf),
}

/// What `reynolds reproduce` is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub budget: Budget,
    /// Settings of the target, over those of the budget.
    pub assignments: Vec<Assignment>,
    pub place: Place,
    /// Models trained in parallel; 0 = one per processor, and one at a time on a GPU.
    pub workers: usize,
}

/// How it ended.
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

/// The config.toml of a reproduction.
#[derive(Serialize, Deserialize)]
struct Document<S> {
    target: String,
    budget: String,
    version: String,
    settings: S,
}

/// Trains what a target needs, draws it, and writes its folder.
pub(crate) fn reproduce<T: Target>(target: &T, request: &Request, mut session: Session<'_>) -> Result<Outcome> {
    let (folder, budget, settings) = match &request.place {
        Place::Under(root) => {
            let settings = config::load(&target.settings(request.budget), None, &request.assignments)?;
            target.points(&settings)?;
            let folder = RunFolder::create(&root.join("reproduce"), target.name())?;
            let (name, version) = (target.name().into(), env!("CARGO_PKG_VERSION").into());
            let document =
                Document { target: name, budget: request.budget.name().into(), version, settings: settings.clone() };
            let text = toml::to_string(&document).expect("settings are tables of plain values");
            folder.write("config.toml", text.as_bytes())?;
            (folder, request.budget, settings)
        }
        Place::Resume(path) => {
            let folder = RunFolder::open(path)?;
            let (budget, settings) = read(&folder, target)?;
            (folder, budget, settings)
        }
    };
    let workers = match (session.device, request.workers) {
        (Device::Cpu, workers) => threads::resolve(workers),
        (_, 0) => 1,
        (_, workers) => workers,
    };
    let now = Environment::now(session.device);
    let again = device_option(&now.device);
    let store = Store::new(&folder.file("points"), now.clone());
    let Some((frame, environments, speed)) = trained(target, &settings, workers, &store, &mut session)? else {
        let path = folder.path().to_path_buf();
        let command = format!("reynolds reproduce {} --resume {}{again}", target.name(), path.display());
        return Ok(Outcome::Interrupted { folder: path, command });
    };
    let findings = target.findings(&settings, &frame)?;
    let provenance = Provenance::new(environments, now);
    let command = command(target, budget, &settings) + &device_option(provenance.device());
    let (name, about, but) = (target.name(), target.about(), differing(target, budget, &settings));
    let mut title = format!("{name}: {about}\nbudget {but}\n{}", spelt(&target.shown(&settings)));
    title.extend(provenance.mixed().map(|mixed| format!("\n{mixed}")));
    let made = Made { target, budget, settings: &settings, provenance, speed: &speed, command: &command };
    made.write(folder.path(), &frame, &findings)?;
    Ok(Outcome::Finished(Box::new(Reproduction { folder: folder.path().into(), title, speed, findings })))
}

/// `--device cuda:0`, or nothing where that is the default.
fn device_option(device: &str) -> String {
    if device == "cpu" { String::new() } else { format!(" --device {device}") }
}

/// Points, where each was trained, and how fast.
type Phases = (Frame, Vec<Option<Environment>>, String);

/// All points of a target, phase by phase, and how fast they were trained; `None` if someone interrupted.
fn trained<T: Target>(
    target: &T,
    settings: &T::Settings,
    workers: usize,
    store: &Store,
    session: &mut Session<'_>,
) -> Result<Option<Phases>> {
    let (mut frame, mut environments, mut now, mut seconds) = (Frame::default(), Vec::new(), 0, 0.0);
    if let Some(plan) = target.plan(settings)? {
        session.observer.say(&plan);
    }
    let mut phase = target.points(settings)?;
    let mut prepared = false;
    while !phase.is_empty() {
        // Tables of finished points need no data.
        if !prepared && !all_finished(&phase, store)? {
            if !target.prepare(settings, session)? {
                return Ok(None);
            }
            prepared = true;
        }
        let start = Instant::now();
        let done =
            train_all(&phase, frame.len(), workers, session.device, store, session.observer, &session.interrupt)?;
        let Some(done) = done else { return Ok(None) };
        now += done.now;
        seconds += if done.now > 0 { start.elapsed().as_secs_f64() } else { 0.0 };
        environments.extend(done.environments);
        for (point, trained) in phase.iter().zip(done.trained) {
            frame.insert(point.as_ref(), trained);
        }
        phase = target.more(settings, &frame)?;
        phase.retain(|point| frame.find(point.as_ref()).is_none());
    }
    let speed = speed(frame.len(), now, workers, seconds);
    Ok(Some((frame, environments, speed)))
}

fn all_finished(points: &[Box<dyn Point>], store: &Store) -> Result<bool> {
    points.iter().try_fold(true, |all, point| Ok(all && store.has(point.as_ref())?))
}

fn speed(all: usize, now: usize, workers: usize, seconds: f64) -> String {
    match (all, now) {
        (0, _) => "nothing to train".into(),
        (all, 0) => format!("all {all} models were trained before"),
        (all, now) => {
            let before = if all > now { format!(" ({} more were trained before)", all - now) } else { String::new() };
            let workers = workers.min(now);
            let rate = now as f64 / seconds;
            format!("{now} models in {seconds:.1} s on {workers} threads{before}: {rate:.2} models/s")
        }
    }
}

/// Budget and settings of a folder of this target.
fn read<T: Target>(folder: &RunFolder, target: &T) -> Result<(Budget, T::Settings)> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        target: String,
        #[serde(default)]
        budget: String,
        #[serde(default)]
        version: String,
    }
    let file = folder.file("config.toml");
    let text = folder.config_text()?.unwrap_or_default();
    let not_toml = |error: toml::de::Error| Error::file(&file, "TOML", error.message());
    let head: Head = toml::from_str(&text).map_err(not_toml)?;
    for (key, found, expected) in
        [("target", &head.target, target.name()), ("version", &head.version, env!("CARGO_PKG_VERSION"))]
    {
        if found != expected {
            return Err(Error::file(&file, format!("{key} = \"{expected}\""), found));
        }
    }
    let budget = head.budget.parse()?;
    let document: Document<T::Settings> = toml::from_str(&text).map_err(not_toml)?;
    document.settings.validate()?;
    Ok((budget, document.settings))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::point::{PointSession, Trained};
    use super::super::{boxed, find};
    use super::*;
    use reynolds_train::interrupt::Interrupt;
    use reynolds_train::progress::Silent;

    fn request(place: Place, assignments: &[(&str, &str)]) -> Request {
        let assignments = assignments.iter().map(|(key, value)| Assignment::new(key, value)).collect();
        Request { budget: Budget::Quick, assignments, place, workers: 2 }
    }

    fn done(target: &str, request: &Request) -> Result<Outcome> {
        let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
        find(target)?.reproduce(request, session)
    }

    fn finished(target: &str, request: &Request) -> Reproduction {
        match done(target, request).unwrap() {
            Outcome::Finished(reproduction) => *reproduction,
            Outcome::Interrupted { .. } => panic!("nobody interrupts a test"),
        }
    }

    /// results.json without the environment, which tells the time.
    fn results(folder: &std::path::Path) -> serde_json::Value {
        let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
        let mut results: serde_json::Value = serde_json::from_str(&text).unwrap();
        results.as_object_mut().unwrap().remove("environment").unwrap();
        results
    }

    #[test]
    fn a_reproduction_leaves_its_folder_and_goes_on_to_the_same_results() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::Under(root.path().into());
        let first = finished("fig-so2", &request(place, &[("seeds", "1"), ("train.epochs", "2")]));
        let folder = first.folder.clone();
        for file in ["figures/fig-so2.svg", "figures/fig-so2-squared.svg", "table.csv", "report.html", "results.json"] {
            assert!(folder.join(file).is_file(), "{file}");
        }
        let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(!page.contains("http") && page.matches("<svg").count() == 2);
        assert!(first.to_string().contains("falls along the path"));
        let before = results(&folder);
        assert_eq!(before["models"].as_array().unwrap().len(), 10);
        std::fs::remove_file(folder.join("points/disk-plain-g0-p0.01-seed0/summary.json")).unwrap();
        let again = finished("fig-so2", &request(Place::Resume(folder.clone()), &[]));
        assert!(again.speed.starts_with("1 models") && again.speed.contains("9 more"), "{}", again.speed);
        assert_eq!(results(&folder), before);
        let other = done("fig-rings", &request(Place::Resume(folder), &[])).unwrap_err().to_string();
        assert!(other.contains("config.toml: expected target = \"fig-rings\", found fig-so2"), "{other}");
    }

    /// Two models, then one that depends on what came of them, and one that depends on that. How often it was prepared.
    #[derive(Default)]
    struct Phases(AtomicUsize);

    /// A model that comes to its number.
    struct Number(i32);

    impl Point for Number {
        fn id(&self) -> String {
            format!("number{}", self.0)
        }

        fn settings(&self) -> serde_json::Value {
            serde_json::json!({ "number": self.0 })
        }

        fn train(&self, _: &PointSession<'_>) -> Result<Option<Trained>> {
            let metrics = [("value".to_string(), f64::from(self.0))].into();
            Ok(Some(Trained { metrics, ..Trained::default() }))
        }
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Nothing {}

    impl Settings for Nothing {}

    impl Target for Phases {
        type Settings = Nothing;

        fn name(&self) -> &'static str {
            "phases"
        }

        fn about(&self) -> &'static str {
            "numbers"
        }

        fn settings(&self, _: Budget) -> Nothing {
            Nothing {}
        }

        fn points(&self, _: &Nothing) -> Result<Vec<Box<dyn Point>>> {
            Ok(boxed([Number(3), Number(5)]))
        }

        fn prepare(&self, _: &Nothing, _: &mut Session<'_>) -> Result<bool> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(true)
        }

        /// Ten times the greatest of the first phase, and that again.
        fn more(&self, _: &Nothing, models: &Frame) -> Result<Vec<Box<dyn Point>>> {
            let greatest = models.iter().map(|entry| entry.trained.metric("value")).fold(0.0, f64::max);
            Ok(boxed([Number(5), Number(if greatest < 100.0 { 10 * greatest as i32 } else { 3 })]))
        }

        fn findings(&self, _: &Nothing, _: &Frame) -> Result<crate::targets::Findings> {
            Ok(Default::default())
        }
    }

    #[test]
    fn later_phases_see_what_came_of_the_earlier_ones_and_train_only_what_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Environment::now(Device::Cpu));
        let target = Phases::default();
        let run = || {
            let mut session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
            trained(&target, &Nothing {}, 1, &store, &mut session).unwrap().unwrap()
        };
        let (models, environments, speed) = run();
        assert_eq!(environments.len(), 4);
        let values: Vec<f64> = models.iter().map(|entry| entry.trained.metric("value")).collect();
        assert_eq!(values, [3.0, 5.0, 50.0, 500.0]);
        assert!(speed.starts_with("4 models"), "{speed}");
        assert_eq!(run().2, "all 4 models were trained before");
        assert_eq!(target.0.load(Ordering::Relaxed), 1, "what is finished needs no data");
        std::fs::remove_file(folder.path().join("number500/summary.json")).unwrap();
        assert!(run().2.starts_with("1 models"));
        assert_eq!(target.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn bad_requests_leave_nothing() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::Under(root.path().into());
        for (target, key, value, expected) in [
            ("fig-so2", "seedz", "1", "did you mean \"seeds\"?"),
            ("fig-so2", "epochs", "1", "now called \"train.epochs\""),
            ("fig-so2", "seeds", "0", "seeds: expected at least 1, found 0"),
            ("fig-so2", "train.epochs", "many", "expected a whole number"),
            ("fig-projection", "group", "K9", "K9"),
            ("fig-none", "seeds", "1", "expected one of fig-projection"),
        ] {
            let message = done(target, &request(place.clone(), &[(key, value)])).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn going_on_does_not_rewrite_where_models_were_trained() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::Under(root.path().into());
        let folder = finished("fig-so2", &request(place, &[("seeds", "1"), ("train.epochs", "1")])).folder;
        let environment = || -> serde_json::Value {
            let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["environment"].clone()
        };
        let first = environment();
        let files: Vec<_> = std::fs::read_dir(folder.join("points"))
            .unwrap()
            .map(|point| point.unwrap().path().join("summary.json"))
            .collect();
        assert_eq!(first["models"], files.len());
        // As if an accelerator had trained all but one, long ago.
        for file in &files[1..] {
            let text = std::fs::read_to_string(file).unwrap();
            std::fs::write(
                file,
                text.replace("\"device\":\"cpu\"", "\"device\":\"cuda:0\"").replace("\"time\":\"2", "\"time\":\"1"),
            )
            .unwrap();
        }
        let again = finished("fig-so2", &request(Place::Resume(folder.clone()), &[]));
        assert!(again.to_string().contains("models of several origins: cuda:0"), "{again}");
        let second = environment();
        assert_eq!((&second["device"], &second["resumed"][0]["device"]), (&"cuda:0".into(), &"cpu".into()));
        assert_eq!((&second["resumed"][0]["models"], &second["resumed"][0]["time"]), (&1.into(), &first["time"]));
        let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(page.contains("--device cuda:0") && page.contains("cpu (1 model)"));
    }

    #[test]
    fn an_interrupt_says_how_to_go_on() {
        let root = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::new();
        interrupt.request();
        let session = Session { device: Device::Cpu, interrupt, observer: &mut Silent };
        let request = request(Place::Under(root.path().into()), &[]);
        let outcome = find("fig-so2").unwrap().reproduce(&request, session).unwrap();
        let Outcome::Interrupted { folder, command } = outcome else { panic!("it was interrupted") };
        assert_eq!(command, format!("reynolds reproduce fig-so2 --resume {}", folder.display()));
    }
}
