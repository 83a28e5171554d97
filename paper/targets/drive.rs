//! A reproduction from beginning to end.

use std::path::PathBuf;
use std::time::Instant;

use reynolds_torch::tch::Device;
use toml::{Table, Value};

use super::findings::{Made, Reproduction, command, differing, spelt};
use super::model::{Model, Models};
use super::pool::{Store, train_all};
use super::provenance::Provenance;
use super::{Budget, Target, find};
use reynolds_train::config::Assignment;
use reynolds_train::environment::Environment;
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Observer;
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

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The target.
    pub target: String,
    /// How much.
    pub budget: Budget,
    /// Settings of the target, over those of the budget.
    pub assignments: Vec<Assignment>,
    /// Where it goes.
    pub place: Place,
    /// Models at a time; 0 = as many as the machine has processors, 1 on any other device.
    pub workers: usize,
}

/// What surrounds it.
pub struct Session<'a> {
    /// Where tensors live.
    pub device: Device,
    /// Who may stop it.
    pub interrupt: Interrupt,
    /// Who is told; a step is a model.
    pub observer: &'a mut dyn Observer,
}

/// How it ended.
#[derive(Debug)]
pub enum Outcome {
    /// Everything is in the folder.
    Finished(Box<Reproduction>),
    /// Someone asked for a stop; finished models are kept.
    Interrupted {
        /// Where.
        folder: PathBuf,
        /// The command that goes on.
        command: String,
    },
}

/// Trains what a target needs, draws it, and writes its folder.
///
/// # Errors
/// [`Error::Config`] or [`Error::UnknownKey`] if there is no such target or setting; [`Error::File`] if the folder to go on in is of
/// another target or version, or damaged; what training and the system fail with.
pub fn reproduce(request: &Request, mut session: Session<'_>) -> Result<Outcome> {
    let target = find(&request.target)?;
    let (folder, budget, settings) = match &request.place {
        Place::Under(root) => {
            let mut settings = target.settings(request.budget);
            for assignment in &request.assignments {
                assignment.apply(&mut settings)?;
            }
            target.models(&settings)?;
            let folder = RunFolder::create(&root.join("reproduce"), target.name())?;
            folder.write("config.toml", document(target, request.budget, &settings).to_string().as_bytes())?;
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
    let store = Store::new(&folder.file("checkpoints"), now.clone());
    let Some((models, environments, speed)) = trained(target, &settings, workers, &store, &mut session)? else {
        let path = folder.path().to_path_buf();
        let command = format!("reynolds reproduce {} --resume {}{again}", target.name(), path.display());
        return Ok(Outcome::Interrupted { folder: path, command });
    };
    let findings = target.findings(&settings, &models)?;
    let provenance = Provenance::new(environments, now);
    let command = command(target, budget, &settings) + &device_option(provenance.device());
    let (name, about, but) = (target.name(), target.about(), differing(target, budget, &settings));
    let mut title = format!("{name}: {about}\nbudget {but}\n{}", spelt(&target.applying(&settings)));
    title.extend(provenance.mixed().map(|mixed| format!("\n{mixed}")));
    let made = Made { target, budget, settings: &settings, provenance, speed: &speed, command: &command };
    made.write(folder.path(), &models, &findings)?;
    Ok(Outcome::Finished(Box::new(Reproduction { folder: folder.path().into(), title, speed, findings })))
}

/// " --device cuda:0", or nothing where that is the default.
fn device_option(device: &str) -> String {
    if device == "cpu" { String::new() } else { format!(" --device {device}") }
}

/// Models, where each was trained, and how fast.
type Phases = (Models, Vec<Option<Environment>>, String);

/// All models of a target, phase by phase, and how fast they were trained; `None` if someone interrupted.
fn trained(
    target: &dyn Target,
    settings: &Table,
    workers: usize,
    store: &Store,
    session: &mut Session<'_>,
) -> Result<Option<Phases>> {
    let (mut models, mut environments, mut now, mut seconds) = (Models::default(), Vec::new(), 0, 0.0);
    if let Some(plan) = target.plan(settings)? {
        session.observer.say(&plan);
    }
    let mut phase = target.models(settings)?;
    let mut prepared = false;
    while !phase.is_empty() {
        // Tables of finished models need no data.
        if !prepared && !all_finished(&phase, store)? {
            if !target.prepare(settings, session)? {
                return Ok(None);
            }
            prepared = true;
        }
        let start = Instant::now();
        let done =
            train_all(&phase, models.len(), workers, session.device, store, session.observer, &session.interrupt)?;
        let Some(done) = done else { return Ok(None) };
        now += done.now;
        seconds += if done.now > 0 { start.elapsed().as_secs_f64() } else { 0.0 };
        environments.extend(done.environments);
        for (model, trained) in phase.iter().zip(done.trained) {
            models.insert(model.as_ref(), trained);
        }
        phase = target.more(settings, &models)?;
        phase.retain(|model| models.find(model.as_ref()).is_none());
    }
    let speed = speed(models.len(), now, workers, seconds);
    Ok(Some((models, environments, speed)))
}

fn all_finished(models: &[Box<dyn Model>], store: &Store) -> Result<bool> {
    models.iter().try_fold(true, |all, model| Ok(all && store.has(model.as_ref())?))
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

fn document(target: &dyn Target, budget: Budget, settings: &Table) -> Table {
    Table::from_iter([
        ("target".to_string(), Value::String(target.name().into())),
        ("budget".to_string(), Value::String(budget.name().into())),
        ("version".to_string(), Value::String(env!("CARGO_PKG_VERSION").into())),
        ("settings".to_string(), Value::Table(settings.clone())),
    ])
}

/// Budget and settings of a folder of this target.
fn read(folder: &RunFolder, target: &dyn Target) -> Result<(Budget, Table)> {
    let file = folder.file("config.toml");
    let text = folder.config_text()?.unwrap_or_default();
    let document: Table = text.parse().map_err(|error: toml::de::Error| Error::file(&file, "TOML", error.message()))?;
    let word = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or("nothing");
    for (key, expected) in [("target", target.name()), ("version", env!("CARGO_PKG_VERSION"))] {
        if word(key) != expected {
            return Err(Error::file(&file, format!("{key} = \"{expected}\""), word(key)));
        }
    }
    let budget = word("budget").parse()?;
    match document.get("settings") {
        Some(Value::Table(settings)) => Ok((budget, settings.clone())),
        _ => Err(Error::file(&file, "a table \"settings\"", "none")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::boxed;
    use super::super::model::Trained;
    use super::*;
    use reynolds_train::progress::Silent;

    fn request(target: &str, place: Place, assignments: &[(&str, &str)]) -> Request {
        let assignments = assignments.iter().map(|(key, value)| Assignment::new(key, value)).collect();
        Request { target: target.into(), budget: Budget::Quick, assignments, place, workers: 2 }
    }

    fn done(request: &Request) -> Result<Outcome> {
        reproduce(request, Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent })
    }

    fn finished(request: &Request) -> Reproduction {
        match done(request).unwrap() {
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
        let first = finished(&request("fig-so2", place, &[("seeds", "1"), ("epochs", "2")]));
        let folder = first.folder.clone();
        for file in ["figures/fig-so2.svg", "figures/fig-so2-squared.svg", "table.csv", "report.html", "results.json"] {
            assert!(folder.join(file).is_file(), "{file}");
        }
        let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(!page.contains("http") && page.matches("<svg").count() == 2);
        assert!(first.to_string().contains("falls along the path"));
        let before = results(&folder);
        assert_eq!(before["models"].as_array().unwrap().len(), 10);
        std::fs::remove_file(folder.join("checkpoints/disk-plain-g0-p0.01-seed0.json")).unwrap();
        let again = finished(&request("fig-so2", Place::Resume(folder.clone()), &[]));
        assert!(again.speed.starts_with("1 models") && again.speed.contains("9 more"), "{}", again.speed);
        assert_eq!(results(&folder), before);
        let other = done(&request("fig-rings", Place::Resume(folder), &[])).unwrap_err().to_string();
        assert!(other.contains("config.toml: expected target = \"fig-rings\", found fig-so2"), "{other}");
    }

    /// Two models, then one that depends on what came of them, and one that depends on that. How often it was prepared.
    #[derive(Default)]
    struct Phases(AtomicUsize);

    /// A model that comes to its number.
    struct Number(i32);

    impl Model for Number {
        fn id(&self) -> String {
            format!("number{}", self.0)
        }

        fn config(&self) -> Table {
            Table::from_iter([("number".to_string(), Value::Integer(self.0.into()))])
        }

        fn train(&self, _: Device, _: &Interrupt) -> Result<Option<Trained>> {
            let metrics = [("value".to_string(), f64::from(self.0))].into();
            Ok(Some(Trained { metrics, ..Trained::default() }))
        }
    }

    impl Target for Phases {
        fn name(&self) -> &'static str {
            "phases"
        }

        fn about(&self) -> &'static str {
            "numbers"
        }

        fn settings(&self, _: Budget) -> Table {
            Table::new()
        }

        fn models(&self, _: &Table) -> Result<Vec<Box<dyn Model>>> {
            Ok(boxed([Number(3), Number(5)]))
        }

        fn prepare(&self, _: &Table, _: &mut Session<'_>) -> Result<bool> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(true)
        }

        /// Ten times the greatest of the first phase, and that again.
        fn more(&self, _: &Table, models: &Models) -> Result<Vec<Box<dyn Model>>> {
            let greatest = models.iter().map(|entry| entry.trained.metric("value")).fold(0.0, f64::max);
            Ok(boxed([Number(5), Number(if greatest < 100.0 { 10 * greatest as i32 } else { 3 })]))
        }

        fn findings(&self, _: &Table, _: &Models) -> Result<crate::targets::Findings> {
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
            trained(&target, &Table::new(), 1, &store, &mut session).unwrap().unwrap()
        };
        let (models, environments, speed) = run();
        assert_eq!(environments.len(), 4);
        let values: Vec<f64> = models.iter().map(|entry| entry.trained.metric("value")).collect();
        assert_eq!(values, [3.0, 5.0, 50.0, 500.0]);
        assert!(speed.starts_with("4 models"), "{speed}");
        assert_eq!(run().2, "all 4 models were trained before");
        assert_eq!(target.0.load(Ordering::Relaxed), 1, "what is finished needs no data");
        std::fs::remove_file(folder.path().join("number500.json")).unwrap();
        assert!(run().2.starts_with("1 models"));
        assert_eq!(target.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn bad_requests_leave_nothing() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::Under(root.path().into());
        for (target, key, value, expected) in [
            ("fig-so2", "seed", "1", "did you mean \"seeds\"?"),
            ("fig-so2", "seeds", "0", "seeds: expected a whole number, at least 1"),
            ("fig-so2", "epochs", "many", "expected a whole number"),
            ("fig-projection", "group", "K9", "K9"),
            ("fig-none", "seeds", "1", "expected one of fig-projection"),
        ] {
            let message = done(&request(target, place.clone(), &[(key, value)])).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn going_on_does_not_rewrite_where_models_were_trained() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::Under(root.path().into());
        let folder = finished(&request("fig-so2", place, &[("seeds", "1"), ("epochs", "1")])).folder;
        let environment = || -> serde_json::Value {
            let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["environment"].clone()
        };
        let first = environment();
        let files: Vec<_> =
            std::fs::read_dir(folder.join("checkpoints")).unwrap().map(|file| file.unwrap().path()).collect();
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
        let again = finished(&request("fig-so2", Place::Resume(folder.clone()), &[]));
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
        let outcome = reproduce(&request("fig-so2", Place::Under(root.path().into()), &[]), session).unwrap();
        let Outcome::Interrupted { folder, command } = outcome else { panic!("it was interrupted") };
        assert_eq!(command, format!("reynolds reproduce fig-so2 --resume {}", folder.display()));
    }
}
