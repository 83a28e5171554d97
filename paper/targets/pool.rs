//! Trains many models, several at a time, each by one thread, and those that want to be alone after the others; what is finished is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use reynolds_torch::tch::Device;
use serde::{Deserialize, Serialize};

use super::model::{Model, Trained};
use reynolds_checkpoint::whole_file;
use reynolds_train::environment::Environment;
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Observer;
use reynolds_train::threads;

/// A finished model as its file holds it.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The settings it was trained with, as TOML: with others it is trained again.
    config: String,
    trained: Trained,
    /// Where it was trained; files of earlier versions do not say.
    #[serde(default)]
    environment: Option<Environment>,
}

/// What came of models, in their order.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) trained: Vec<Trained>,
    /// Where each was trained, if that is known.
    pub(crate) environments: Vec<Option<Environment>>,
    /// How many were trained now.
    pub(crate) now: usize,
}

/// Where finished models are kept.
pub(crate) struct Store {
    folder: PathBuf,
    /// What models are trained in from now on.
    environment: Environment,
}

impl Store {
    pub(crate) fn new(folder: &Path, environment: Environment) -> Self {
        Self { folder: folder.into(), environment }
    }

    fn file(&self, model: &dyn Model) -> PathBuf {
        self.folder.join(format!("{}.json", model.id()))
    }

    /// A model that was finished with these settings, if there is one.
    fn load(&self, model: &dyn Model) -> Result<Option<(Trained, Option<Environment>)>> {
        let file = self.file(model);
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(Error::io(&file, "read"))?,
        };
        let kept: Kept =
            serde_json::from_slice(&bytes).map_err(|error| Error::file(&file, "a finished model", error))?;
        let fits = kept.config == model.config().to_string() && model.suffices(&kept.trained);
        Ok(fits.then_some((kept.trained, kept.environment)))
    }

    /// Whether a model was finished with these settings.
    pub(crate) fn has(&self, model: &dyn Model) -> Result<bool> {
        Ok(self.load(model)?.is_some())
    }

    fn keep(&self, model: &dyn Model, trained: &Trained) -> Result<()> {
        let environment = Some(self.environment.clone());
        let kept = Kept { config: model.config().to_string(), trained: trained.clone(), environment };
        let text = serde_json::to_string(&kept).expect("a model is plain numbers and names");
        Ok(whole_file::write(&self.file(model), text.as_bytes())?)
    }
}

/// What came of all models; `None` if someone interrupted. The observer is told of these
/// and the `before` models of earlier phases.
pub(crate) fn train_all(
    models: &[Box<dyn Model>],
    before: usize,
    workers: usize,
    device: Device,
    store: &Store,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Option<Done>> {
    let mut all: Vec<Option<(Trained, Option<Environment>)>> =
        models.iter().map(|model| store.load(model.as_ref())).collect::<Result<_>>()?;
    let missing: Vec<usize> = (0..models.len()).filter(|&index| all[index].is_none()).collect();
    let mut done = before + models.len() - missing.len();
    observer.counting("models");
    observer.begin(done, before + models.len());
    let (together, alone): (Vec<usize>, Vec<usize>) = missing.iter().partition(|&&index| !models[index].alone());
    let mut finished = |index: usize, trained: Option<Trained>| -> Result<()> {
        let Some(trained) = trained else { return Ok(()) };
        store.keep(models[index].as_ref(), &trained)?;
        all[index] = Some((trained, Some(store.environment.clone())));
        done += 1;
        observer.step(done, None);
        Ok(())
    };
    let train = |index: usize| models[index].train(device, interrupt);
    let result = in_turn(&together, workers, &train, interrupt, &mut finished)
        .and_then(|()| in_turn(&alone, 1, &train, interrupt, &mut finished));
    observer.end();
    result?;
    Ok(all.into_iter().collect::<Option<Vec<_>>>().map(|all| {
        let (trained, environments) = all.into_iter().unzip();
        Done { trained, environments, now: missing.len() }
    }))
}

/// Trains these models, `workers` at a time, until one fails; of several that do, the first in their order is the reason.
fn in_turn(
    order: &[usize],
    workers: usize,
    train: &(dyn Fn(usize) -> Result<Option<Trained>> + Sync),
    interrupt: &Interrupt,
    finished: &mut dyn FnMut(usize, Option<Trained>) -> Result<()>,
) -> Result<()> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let work = |sender: mpsc::Sender<(usize, Result<Option<Trained>>)>| {
        // One thread a model: sums are taken in one order however many workers there are.
        threads::set(1);
        while !stop.load(Ordering::SeqCst) && !interrupt.requested() {
            let Some(&index) = order.get(next.fetch_add(1, Ordering::SeqCst)) else { break };
            let result = train(index);
            if result.is_err() {
                stop.store(true, Ordering::SeqCst);
            }
            if sender.send((index, result)).is_err() {
                break;
            }
        }
    };
    let mut failure: Option<(usize, Error)> = None;
    std::thread::scope(|scope| {
        for _ in 0..workers.min(order.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        for (index, result) in receiver {
            if let Err(error) = result.and_then(|trained| finished(index, trained)) {
                stop.store(true, Ordering::SeqCst);
                if failure.as_ref().is_none_or(|(first, _)| index < *first) {
                    failure = Some((index, error));
                }
            }
        }
    });
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use reynolds::penalty::Form;

    use super::*;
    use crate::so2::Network;
    use crate::so2::{Problem, Spec};
    use crate::targets::boxed;
    use reynolds_train::progress::Silent;

    fn specs() -> Vec<Spec> {
        let spec = |seed| Spec {
            problem: Problem::DiskAndArc,
            network: Network::So2,
            form: Form::Squared,
            lambda_g: 0.0,
            lambda_perp: 0.1,
            seed,
            epochs: 3,
            drawn: seed == 0,
            decay: false,
        };
        (0..5).map(spec).collect()
    }

    fn trained(specs: &[Spec], workers: usize, folder: &Path) -> (Vec<Trained>, usize) {
        let done = done(specs, workers, folder);
        (done.trained, done.now)
    }

    fn store(folder: &Path) -> Store {
        Store::new(folder, Environment::now(Device::Cpu))
    }

    fn done(specs: &[Spec], workers: usize, folder: &Path) -> Done {
        let models = boxed(specs.to_vec());
        train_all(&models, 0, workers, Device::Cpu, &store(folder), &mut Silent, &Interrupt::new()).unwrap().unwrap()
    }

    #[test]
    fn a_model_keeps_where_it_was_trained_and_an_old_file_does_not_say() {
        let folder = tempfile::tempdir().unwrap();
        let specs = &specs()[..2];
        let first = Environment { device: "cuda:7".into(), ..Environment::now(Device::Cpu) };
        let store = Store::new(folder.path(), first.clone());
        train_all(&boxed(specs.to_vec()), 0, 1, Device::Cpu, &store, &mut Silent, &Interrupt::new()).unwrap();
        let file = folder.path().join(format!("{}.json", specs[1].id()));
        let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        kept.as_object_mut().unwrap().remove("environment").unwrap();
        std::fs::write(&file, kept.to_string()).unwrap();
        let again = done(specs, 1, folder.path());
        assert_eq!((again.environments, again.now), (vec![Some(first), None], 0));
    }

    #[test]
    fn the_number_of_workers_changes_nothing_and_finished_models_are_not_trained_again() {
        let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (specs, expected) = (specs(), trained(&specs(), 1, one.path()));
        assert_eq!(trained(&specs, 3, three.path()), expected);
        assert_eq!(trained(&specs, 2, one.path()), (expected.0.clone(), 0));
        std::fs::remove_file(one.path().join(format!("{}.json", specs[2].id()))).unwrap();
        assert_eq!(trained(&specs, 2, one.path()), (expected.0.clone(), 1));
        let longer: Vec<Spec> = specs.iter().map(|spec| Spec { epochs: 4, ..*spec }).collect();
        assert_eq!(trained(&longer, 2, one.path()).1, 5, "other settings are trained anew");
    }

    /// A model that notes how many are trained at the same time.
    struct Crowded<'a> {
        number: usize,
        alone: bool,
        /// Those under way, and those that are done.
        others: &'a [AtomicUsize; 2],
    }

    impl Model for Crowded<'_> {
        fn id(&self) -> String {
            format!("model{}", self.number)
        }

        fn config(&self) -> toml::Table {
            toml::Table::new()
        }

        fn train(&self, _: Device, _: &Interrupt) -> Result<Option<Trained>> {
            let [active, done] = self.others;
            let before = done.load(Ordering::SeqCst) as f64;
            let mut most = active.fetch_add(1, Ordering::SeqCst) + 1;
            for _ in 0..50 {
                most = most.max(active.load(Ordering::SeqCst));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            active.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
            let metrics = [("most".to_string(), most as f64), ("before".to_string(), before)].into();
            Ok(Some(Trained { metrics, ..Trained::default() }))
        }

        fn alone(&self) -> bool {
            self.alone
        }
    }

    #[test]
    fn a_model_that_wants_to_be_alone_comes_after_the_others_and_has_no_neighbour() {
        static OTHERS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let folder = tempfile::tempdir().unwrap();
        let models = boxed((0..6).map(|number| Crowded { number, alone: number % 2 == 0, others: &OTHERS }));
        let done = train_all(&models, 0, 3, Device::Cpu, &store(folder.path()), &mut Silent, &Interrupt::new());
        let trained = done.unwrap().unwrap().trained;
        let of = |metric: &str, first: usize| [0, 2, 4].map(|number| trained[first + number].metric(metric));
        assert_eq!(of("most", 0), [1.0; 3]);
        assert!(of("before", 0).iter().all(|before| *before >= 3.0));
        assert!(of("most", 1).iter().any(|most| *most > 1.0), "the others are trained together");
    }

    #[test]
    fn an_interrupt_leaves_what_is_finished() {
        let (folder, interrupt) = (tempfile::tempdir().unwrap(), Interrupt::new());
        interrupt.request();
        let store = store(folder.path());
        assert!(train_all(&boxed(specs()), 0, 2, Device::Cpu, &store, &mut Silent, &interrupt).unwrap().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(format!("{}.json", specs()[0].id()));
        std::fs::write(&file, "{").unwrap();
        let store = store(folder.path());
        let error = train_all(&boxed(specs()), 0, 1, Device::Cpu, &store, &mut Silent, &Interrupt::new()).unwrap_err();
        assert!(error.to_string().contains("seed0.json: expected a finished model"), "{error}");
    }
}
