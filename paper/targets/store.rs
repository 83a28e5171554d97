//! Trains the points of a target, each in a folder of its own; finished points are read from there.
//!
//! ```text
//! <folder of the target>/points/<id>/config.toml     the settings of its run
//!                                    checkpoints/    of a training that was stopped
//!                                    summary.json    metrics, curves, and where it was trained
//!
//! PROGRAM point REPRODUCTION ID --sweep PID [--probe SECONDS] FOLDER --device DEVICE       the process of a point
//! ```
//!
//! A thread that fails begins no further point; of processes, one that fails does not take the others with it, and one that finds too little
//! memory is tried again alone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use reynolds_bench::used_of_mib;
use reynolds_torch::device;
use reynolds_torch::tch::Device;

use super::point::{Frame, Kept, PACE, Point, PointSession};
use reynolds_train::environment::Environment;
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::point_folder::PointFolder;
use reynolds_train::progress::Observer;
use reynolds_train::run_folder;
use reynolds_train::sweep::Launcher;
use reynolds_train::{queue, threads};

/// How long probes train.
const PROBE: Duration = Duration::from_secs(15);
/// What twice as many processes must gain, and the share of the memory that they may take.
const GAIN: f64 = 1.1;
const ROOM: f64 = 0.9;

/// The folders of points, and how missing ones are trained.
pub(crate) struct Store {
    /// The folder of the target.
    pub(crate) reproduction: PathBuf,
    /// Recorded with every point trained from now on.
    pub(crate) environment: Environment,
    pub(crate) device: Device,
    /// Points trained in parallel; empty until processes are counted.
    pub(crate) workers: OnceLock<usize>,
    pub(crate) launcher: Option<Launcher>,
}

/// What came of a point: its results, or nothing if interrupted, or why its process failed.
type Came = Result<Option<Kept>, (usize, Error)>;

impl Store {
    /// That of a process which trains one point.
    pub(crate) fn reading(reproduction: &Path, device: Device) -> Self {
        let (reproduction, environment) = (reproduction.into(), Environment::now(device));
        Self { reproduction, environment, device, workers: 1.into(), launcher: None }
    }

    fn folder(&self, point: &dyn Point) -> PointFolder {
        let config = toml::to_string(&point.settings()).expect("settings are tables of plain values");
        PointFolder::new(self.reproduction.join("points").join(point.id()), config)
    }

    /// A point that was finished with these settings, if there is one.
    fn load(&self, point: &dyn Point) -> Result<Option<Kept>> {
        let folder = self.folder(point);
        if !folder.is_there() || folder.difference()?.is_some() {
            return Ok(None);
        }
        Ok(folder.summary()?.filter(|kept: &Kept| point.suffices(&kept.trained)))
    }

    /// Adds the results of finished points to `frame`; returns the numbers of the others.
    pub(crate) fn read(&self, points: &[Box<dyn Point>], frame: &mut Frame) -> Result<Vec<usize>> {
        let mut missing = Vec::new();
        for (index, point) in points.iter().enumerate() {
            match self.load(point.as_ref())? {
                Some(kept) => frame.insert(point.as_ref(), kept),
                None => missing.push(index),
            }
        }
        Ok(missing)
    }

    /// Whether one of these points is not finished.
    pub(crate) fn misses(&self, points: &[Box<dyn Point>]) -> Result<bool> {
        points.iter().try_fold(false, |misses, point| Ok(misses || self.load(point.as_ref())?.is_none()))
    }

    /// Trains a point on this thread and stores what came of it in the session's folder.
    pub(crate) fn train(&self, point: &dyn Point, session: &PointSession<'_>) -> Result<Option<Kept>> {
        // One thread a point: sums are taken in one order however many workers there are.
        threads::set(1);
        let Some(trained) = point.train(session)? else { return Ok(None) };
        let kept = Kept { trained, environment: Some(self.environment.clone()) };
        PointFolder::new(session.folder.into(), String::new()).finish(&kept)?;
        Ok(Some(kept))
    }

    /// Adds the results of these points to `frame`, which holds those of earlier phases; returns how many were trained now, `None` if
    /// interrupted.
    pub(crate) fn train_all(
        &self,
        points: &[Box<dyn Point>],
        frame: &mut Frame,
        observer: &mut dyn Observer,
        interrupt: &Interrupt,
    ) -> Result<Option<usize>> {
        let total = frame.len() + points.len();
        let missing = self.read(points, frame)?;
        let (together, alone): (Vec<usize>, Vec<usize>) = missing.iter().partition(|&&index| !points[index].alone());
        let workers = match (self.workers.get().copied(), together.first()) {
            (Some(workers), _) => workers,
            (None, None) => 1,
            (None, Some(&first)) => self.counted(points[first].as_ref(), together.len(), observer, interrupt)?,
        };
        let mut done = total - missing.len();
        observer.counting("models");
        observer.begin(done, total);
        let work = |index: usize| -> Result<Came> {
            let (point, folder) = (points[index].as_ref(), self.folder(points[index].as_ref()));
            folder.begin_anew()?;
            match self.launcher.as_ref().filter(|_| !point.alone()) {
                None => {
                    let session = PointSession { device: self.device, interrupt, folder: folder.path(), probe: None };
                    Ok(Ok(self.train(point, &session)?))
                }
                Some(launcher) => Ok(self.in_a_process(launcher, point, interrupt).map_err(|error| (index, error))),
            }
        };
        let mut failed: Vec<(usize, Error)> = Vec::new();
        let mut run = |order: &[usize], workers: usize, failed: &mut Vec<(usize, Error)>| {
            queue::run_jobs(order, workers, interrupt, &work, &mut |index, came| {
                match came {
                    Ok(None) => return Ok(()),
                    Ok(Some(kept)) => frame.insert(points[index].as_ref(), kept),
                    Err(failure) => {
                        failed.push(failure);
                        return Ok(());
                    }
                }
                done += 1;
                observer.step(done, None);
                Ok(())
            })
        };
        let mut result = run(&together, workers, &mut failed);
        let no_room = |(_, error): &(usize, Error)| error.to_string().to_lowercase().contains("out of memory");
        let again: Vec<usize> = failed.extract_if(.., |failure| no_room(failure)).map(|(index, _)| index).collect();
        result = result.and_then(|()| run(&again, 1, &mut failed));
        result = result.and_then(|()| run(&alone, 1, &mut failed));
        observer.end();
        result?;
        failed.sort_by_key(|(index, _)| *index);
        match failed.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok((done == total).then_some(missing.len())),
        }
    }

    /// Trains a point in a child process.
    fn in_a_process(&self, launcher: &Launcher, point: &dyn Point, interrupt: &Interrupt) -> Result<Option<Kept>> {
        let folder = self.folder(point);
        if !self.child(launcher, point, &[], folder.path(), interrupt)? {
            return Ok(None);
        }
        folder.summary()
    }

    /// Runs the command of a point with these options; `false` if it was cancelled.
    fn child(
        &self,
        launcher: &Launcher,
        point: &dyn Point,
        options: &[&OsStr],
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<bool> {
        let (id, sweep) = (point.id(), std::process::id().to_string());
        let command: [&OsStr; 5] =
            ["point".as_ref(), self.reproduction.as_ref(), id.as_ref(), "--sweep".as_ref(), sweep.as_ref()];
        launcher.on_folder(&[&command, options].concat(), folder, &device::name(self.device), interrupt)
    }

    /// How many processes at a time are fastest, doubled while that pays and memory has room, by probes of one point.
    fn counted(
        &self,
        point: &dyn Point,
        most: usize,
        observer: &mut dyn Observer,
        interrupt: &Interrupt,
    ) -> Result<usize> {
        let launcher = self.launcher.as_ref().expect("processes are counted");
        let memory = || if let Device::Cuda(number) = self.device { used_of_mib(number) } else { None };
        let before = memory();
        let (mut best, mut fastest, mut alone, mut next) = (1, 0.0, None, 1);
        while next <= most.min(threads::resolve(0)) {
            let Some((pace, used)) = self.probed(launcher, point, next, &memory, interrupt)? else { break };
            let alone = *alone.get_or_insert(pace);
            if pace < GAIN * fastest {
                break;
            }
            (best, fastest) = (next, pace);
            observer.say(&format!("{next} models at a time: {:.1} × the steps of one", pace / alone));
            if let (Some([before, all]), Some([used, _])) = (before, used)
                && before as f64 + 2.0 * used.saturating_sub(before) as f64 > ROOM * all as f64
            {
                observer.say(&format!("no memory for {} at a time", 2 * next));
                break;
            }
            next *= 2;
        }
        interrupt.check()?;
        Ok(*self.workers.get_or_init(|| best))
    }

    /// Steps a second of so many processes together, and the most memory in use meanwhile; `None` if one of them fails or is too short.
    fn probed(
        &self,
        launcher: &Launcher,
        point: &dyn Point,
        processes: usize,
        memory: &(dyn Fn() -> Option<[u64; 2]> + Sync),
        interrupt: &Interrupt,
    ) -> Result<Option<(f64, Option<[u64; 2]>)>> {
        let seconds = PROBE.as_secs().to_string();
        let order: Vec<usize> = (0..processes + 1).collect();
        let running = std::sync::atomic::AtomicUsize::new(processes);
        let (mut paces, mut used) = (Vec::new(), None);
        let work = |index: usize| -> Result<(Option<f64>, Option<[u64; 2]>)> {
            use std::sync::atomic::Ordering;
            if index == processes {
                // Watches the others.
                let mut most: Option<[u64; 2]> = None;
                while running.load(Ordering::SeqCst) > 0 {
                    most = most.max(memory());
                    std::thread::sleep(Duration::from_millis(200));
                }
                return Ok((None, most));
            }
            let folder = tempfile::tempdir().map_err(Error::io(Path::new("a temporary folder"), "create"))?;
            let done = self.child(launcher, point, &["--probe".as_ref(), seconds.as_ref()], folder.path(), interrupt);
            running.fetch_sub(1, Ordering::SeqCst);
            let kept: Option<Kept> =
                if done.is_ok_and(|done| done) { run_folder::summary(folder.path())? } else { None };
            Ok((kept.map(|kept| kept.trained.metric(PACE)), None))
        };
        queue::run_jobs(&order, processes + 1, interrupt, &work, &mut |index, (pace, most)| {
            if index == processes {
                used = most;
            } else {
                paces.extend(pace.filter(|pace| pace.is_finite()));
            }
            Ok(())
        })?;
        Ok((paces.len() == processes).then(|| (paces.iter().sum(), used)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use reynolds::penalty::Form;

    use super::*;
    use crate::so2::{DiskAndArc, FigureSettings};
    use crate::targets::Trained;
    use crate::targets::{Budget, boxed};
    use reynolds_train::progress::Silent;

    type Spec = crate::so2::Spec<DiskAndArc>;

    fn specs(count: u64, epochs: usize) -> Vec<Spec> {
        let mut settings = FigureSettings::of_budget(Budget::Quick);
        settings.run.train.epochs = epochs;
        (0..count).map(|seed| Spec::penalised(&settings, Form::Squared, 0.0, 0.1, seed)).collect()
    }

    fn store(folder: &Path, workers: usize) -> Store {
        let environment = Environment::now(Device::Cpu);
        let (reproduction, workers) = (folder.into(), workers.into());
        Store { reproduction, environment, device: Device::Cpu, workers, launcher: None }
    }

    fn outcome(
        store: &Store,
        points: impl IntoIterator<Item = impl Point + 'static>,
    ) -> Result<Option<(Frame, usize)>> {
        let mut frame = Frame::default();
        let now = store.train_all(&boxed(points), &mut frame, &mut Silent, &Interrupt::new())?;
        Ok(now.map(|now| (frame, now)))
    }

    /// Results, and how many were trained now.
    fn trained(specs: &[Spec], workers: usize, folder: &Path) -> (Vec<Trained>, usize) {
        let (frame, now) = outcome(&store(folder, workers), specs.to_vec()).unwrap().unwrap();
        (frame.iter().map(|entry| entry.trained.clone()).collect(), now)
    }

    #[test]
    fn a_model_keeps_where_it_was_trained_and_an_old_file_does_not_say() {
        let folder = tempfile::tempdir().unwrap();
        let specs = specs(2, 3);
        let first = Environment { device: "cuda:7".into(), ..Environment::now(Device::Cpu) };
        let elsewhere = Store { environment: first.clone(), ..store(folder.path(), 1) };
        outcome(&elsewhere, specs.clone()).unwrap();
        let file = folder.path().join(format!("points/{}/summary.json", specs[1].id()));
        let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        kept.as_object_mut().unwrap().retain(|key, _| !["environment", "crc32c"].contains(&&**key));
        std::fs::write(&file, kept.to_string()).unwrap();
        let (frame, now) = outcome(&store(folder.path(), 1), specs.clone()).unwrap().unwrap();
        let environments: Vec<_> = frame.iter().map(|entry| entry.environment.clone()).collect();
        assert_eq!((environments, now), (vec![Some(first), None], 0));
        std::fs::write(&file, "{").unwrap();
        let error = outcome(&elsewhere, specs).unwrap_err().to_string();
        assert!(error.contains("summary.json: expected the summary of a run"), "{error}");
    }

    #[test]
    fn a_changed_digit_in_a_finished_model_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let specs = specs(1, 2);
        let before = trained(&specs, 1, folder.path());
        let file = folder.path().join(format!("points/{}/summary.json", specs[0].id()));
        let whole = std::fs::read(&file).unwrap();
        let digits: Vec<usize> = (0..whole.len()).filter(|&at| whole[at].is_ascii_digit()).collect();
        // Digits all over it, and the last of the checksum.
        for at in digits.iter().copied().step_by(digits.len() / 20).chain(digits.last().copied()) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            let error = outcome(&store(folder.path(), 1), specs.clone()).unwrap_err().to_string();
            assert!(error.contains("summary.json: expected the summary of a run"), "{at}: {error}");
        }
        std::fs::write(&file, whole).unwrap();
        assert_eq!(trained(&specs, 1, folder.path()), (before.0, 0));
    }

    #[test]
    fn the_number_of_workers_changes_nothing_and_finished_models_are_not_trained_again() {
        let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let specs = |epochs| specs(5, epochs);
        let expected = trained(&specs(3), 1, one.path());
        assert_eq!(trained(&specs(3), 3, three.path()), expected);
        assert_eq!(trained(&specs(3), 2, one.path()), (expected.0.clone(), 0));
        std::fs::remove_file(one.path().join(format!("points/{}/summary.json", specs(3)[2].id()))).unwrap();
        assert_eq!(trained(&specs(3), 2, one.path()), (expected.0, 1));
        assert_eq!(trained(&specs(4), 2, one.path()).1, 5, "other settings are trained anew");
    }

    /// A model that notes how many are trained at the same time.
    struct Crowded(usize);

    /// Models under way, and finished ones.
    static CROWD: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

    impl Point for Crowded {
        fn id(&self) -> String {
            format!("model{}", self.0)
        }

        fn settings(&self) -> serde_json::Value {
            serde_json::json!({})
        }

        fn train(&self, _: &PointSession<'_>) -> Result<Option<Trained>> {
            let [active, done] = &CROWD;
            let before = done.load(Ordering::SeqCst) as f64;
            let mut most = active.fetch_add(1, Ordering::SeqCst) + 1;
            for _ in 0..50 {
                most = most.max(active.load(Ordering::SeqCst));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            active.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
            Ok(Some(crate::targets::synthetic::trained([("most", most as f64), ("before", before)])))
        }

        fn alone(&self) -> bool {
            self.0.is_multiple_of(2)
        }
    }

    #[test]
    fn a_model_that_wants_to_be_alone_comes_after_the_others_and_has_no_neighbour() {
        let folder = tempfile::tempdir().unwrap();
        let (frame, _) = outcome(&store(folder.path(), 3), (0..6).map(Crowded)).unwrap().unwrap();
        let of = |metric: &str, numbers: [usize; 3]| numbers.map(|number| frame.get(&Crowded(number)).metric(metric));
        assert_eq!(of("most", [0, 2, 4]), [1.0; 3]);
        assert!(of("before", [0, 2, 4]).iter().all(|before| *before >= 3.0));
        assert!(of("most", [1, 3, 5]).iter().any(|most| *most > 1.0), "the others are trained together");
    }

    /// A store whose processes are this script, with `point`, the folder of the target and so on as $0, $1, ….
    fn by_script(folder: &Path, script: &str) -> Store {
        let launcher = Launcher { program: "/bin/sh".into(), before: vec!["-c".into(), script.into()] };
        Store { launcher: Some(launcher), ..store(folder, 2) }
    }

    #[test]
    fn a_process_that_fails_takes_no_other_with_it_and_one_without_memory_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"case "$2" in
            model1) echo "error: CUDA fault" >&2; exit 1;;
            model3) [ -e "$1/tried" ] || { touch "$1/tried"; echo "error: CUDA out of memory" >&2; exit 1; };;
        esac
        echo '{"metrics":{"most":1.0}}' > "$5/summary.json""#;
        let models = || (1..12).step_by(2).map(Crowded);
        let error = outcome(&by_script(folder.path(), script), models()).unwrap_err().to_string();
        assert!(error.contains("\"point\" to succeed") && error.contains("CUDA fault"), "{error}");
        let (frame, now) =
            outcome(&by_script(folder.path(), "echo '{\"metrics\":{}}' > \"$5/summary.json\""), models())
                .unwrap()
                .unwrap();
        assert_eq!((frame.len(), now), (6, 1), "all others were finished");
    }

    #[test]
    fn processes_are_counted_by_the_steps_that_they_take_together() {
        let folder = tempfile::tempdir().unwrap();
        // Ten steps a second alone, 18 of two together, of four no more.
        let script = r#"test "$2 $5" = "model1 --probe" || exit 1
        echo >> "$1/count"; count=$(wc -l < "$1/count")
        pace=4.6; [ "$count" -gt 3 ] || pace=9; [ "$count" -gt 1 ] || pace=10
        echo "{\"metrics\":{\"steps_per_s\":$pace}}" > "$7/summary.json""#;
        let counted = |most: usize| {
            let _ = std::fs::remove_file(folder.path().join("count"));
            let store = Store { workers: OnceLock::new(), ..by_script(folder.path(), script) };
            store.counted(&Crowded(1), most, &mut Silent, &Interrupt::new()).unwrap()
        };
        assert_eq!((counted(1), counted(9)), (1, 2.min(threads::resolve(0))));
    }

    #[test]
    fn an_interrupt_leaves_what_is_finished() {
        let (folder, interrupt) = (tempfile::tempdir().unwrap(), Interrupt::new());
        interrupt.request();
        let (store, points) = (store(folder.path(), 2), boxed(specs(5, 3)));
        assert!(store.train_all(&points, &mut Frame::default(), &mut Silent, &interrupt).unwrap().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
