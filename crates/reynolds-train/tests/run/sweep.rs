//! A grid of runs in child processes: the children are this test program itself.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use reynolds_torch::tch::Device;
use reynolds_train::Result;
use reynolds_train::config::Assignment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, resume};
use reynolds_train::sweep::{Axis, Grid, Launcher, Point, Status, Sweep};

use crate::logistic::{Fault, Logistic, session};

const ARGUMENTS: &str = "REYNOLDS_TEST_CHILD";
const FAULT: &str = "fault.txt";

/// The settings of a point.
fn tree(point: &Point) -> toml::Table {
    point.text.parse().unwrap()
}

/// The child process: `run logistic --sweep PID --resume FOLDER --device cpu`. A file in the folder asks for a fault.
#[test]
#[ignore = "run by the tests of sweeps as a child"]
fn child() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let words: Vec<&str> = arguments.split('\n').collect();
    let sweep = std::os::unix::process::parent_id().to_string();
    assert_eq!(words[..5], ["run", "logistic", "--sweep", &*sweep, "--resume"]);
    assert_eq!(words[6..8], ["--device", "cpu"]);
    let folder = Path::new(words[5]);
    let fault = match std::fs::read_to_string(folder.join(FAULT)).as_deref() {
        Ok("nan") => Fault::NotANumber(6),
        Ok("killed") => Fault::Killed(17),
        _ => Fault::None,
    };
    let interrupt = Interrupt::on_signal();
    match resume(&Logistic { fault }, folder, session(&mut Silent, Device::Cpu, &interrupt)) {
        Ok(Outcome::Interrupted { .. }) => std::process::exit(130),
        Ok(_) => std::process::exit(0),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    }
}

/// A shell that passes its arguments in the environment, because a test program takes none.
fn launcher(root: &Path) -> Launcher {
    let script = root.join("child.sh");
    let program = std::env::current_exe().unwrap();
    let text = format!(
        "{ARGUMENTS}=$(printf '%s\\n' \"$@\")\nexport {ARGUMENTS}\nexec '{}' --exact sweep::child --include-ignored --nocapture\n",
        program.display()
    );
    std::fs::write(&script, text).unwrap();
    Launcher { program: "/bin/sh".into(), before: vec![script.into()] }
}

/// A grid over these axes: the folder of its sweep, and its points.
fn grid(axes: &[&str], assignments: &[Assignment], seeds: &[u64], jobs: usize) -> Result<(PathBuf, Vec<Point>)> {
    let axes: Vec<Axis> = axes.iter().map(|text| text.parse().unwrap()).collect();
    let grid = Grid { experiment: &Logistic::default().into(), file: None, assignments, axes: &axes, seeds };
    let points = grid.points(jobs)?;
    Ok((grid.folder(Path::new("runs"))?, points))
}

const AXES: [&str; 2] = ["penalty.lambda_perp=0,0.1", "model.note=a,\"b c\""];

fn sweep(root: &Path, assignments: &[Assignment]) -> Sweep {
    let (folder, points) = grid(&AXES, assignments, &[0, 7], 2).unwrap();
    Sweep {
        folder: root.join(folder),
        experiment: "logistic".into(),
        device: "cpu".into(),
        jobs: 2,
        launcher: launcher(root),
        points,
        files: Vec::new(),
    }
}

#[test]
fn a_grid_is_every_combination_with_every_seed_at_a_place_of_its_own() {
    let (folder, points) = grid(&AXES, &[], &[0, 7], 2).unwrap();
    assert_eq!(folder, grid(&AXES, &[], &[0, 7], 2).unwrap().0);
    assert!(folder.starts_with("runs/sweeps"));
    let epochs = [Assignment::new("train.epochs", 6)];
    assert_ne!(folder, grid(&AXES, &epochs, &[0, 7], 2).unwrap().0, "other settings, another sweep");
    let place = |axis: &str, seeds: &[u64]| grid(&[axis], &[], seeds, 1).unwrap().0;
    let two = place("penalty.lambda_perp=0,0.1", &[0, 1]);
    assert_ne!(two, place("penalty.lambda_perp=0,0.2", &[0, 1]), "other values, another sweep");
    assert_ne!(two, place("penalty.lambda_perp=0,0.1", &[0, 1, 2]), "more seeds, another sweep");
    assert_ne!(two, place("penalty.lambda_perp=0,0.1", &[1, 2]), "other seeds, another sweep");
    assert_eq!(points.len(), 8);
    let names: Vec<_> = points.iter().map(|point| point.folder(Path::new("")).display().to_string()).collect();
    assert_eq!(names[0], "penalty.lambda_perp=0,model.note=a,seed=0");
    assert_eq!(names[1], "penalty.lambda_perp=0,model.note=a,seed=7");
    assert!(names[2].starts_with("penalty.lambda_perp=0,model.note=_b_c_,seed=0-"), "{}", names[2]);
    assert_eq!(tree(&points[6])["penalty"]["lambda_perp"].as_float(), Some(0.1));
    assert_eq!(tree(&points[6])["model"]["note"].as_str(), Some("b c"));
    assert_eq!(tree(&points[7])["seed"].as_integer(), Some(7));
}

#[test]
fn a_bad_axis_is_refused_before_anything_runs() {
    let thousand = format!("train.epochs={}", (1..=1000).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let many = [&*thousand, &thousand.replace("epochs", "batch_size"), &thousand.replace("epochs", "accumulate")];
    let cases: [(&[&str], &str); 6] = [
        (&many, "number of runs: expected at most 100000, found 1000000000"),
        (&["penalty.lambda_prep=1"], "unknown key \"penalty.lambda_prep\": did you mean \"penalty.lambda_perp\"?"),
        (&["train.epochs=1,many"], "train.epochs: expected a whole number"),
        (&["penalty.lambda_perp=1,-1"], "penalty.lambda_perp: expected a finite number"),
        (&["seed=1,2"], "seed: expected a key that is given once"),
        (&["train.epochs=1", "train.epochs=2"], "train.epochs: "),
    ];
    for (axes, message) in cases {
        let refused = grid(axes, &[], &[0], 1).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("--grid: {message}")), "{refused}");
    }
}

#[test]
fn threads_left_open_are_shared_out_and_others_are_kept() {
    let threads = |given: usize, jobs| {
        let (_, points) = grid(&[], &[Assignment::new("train.threads", given)], &[0], jobs).unwrap();
        tree(&points[0])["train"]["threads"].as_integer().unwrap()
    };
    let all = std::thread::available_parallelism().unwrap().get() as i64;
    assert_eq!([threads(0, 1), threads(0, 1000), threads(3, 2)], [all, 1, 3]);
}

#[test]
fn a_failed_run_is_reported_and_stops_no_other_and_a_second_sweep_runs_what_is_left() {
    let root = tempfile::tempdir().unwrap();
    let sweep = sweep(root.path(), &[]);
    for (index, fault) in [(1, "nan"), (4, "killed")] {
        let folder = sweep.points[index].folder(&sweep.folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FAULT), fault).unwrap();
    }
    let mut told = 0;
    let report = sweep.run(&Interrupt::new(), &mut |_| told += 1).unwrap();
    assert_eq!(told, 8);
    for (index, row) in report.rows.iter().enumerate() {
        match (index, &row.status) {
            (1, Status::Failed(message)) => {
                assert!(message.starts_with("epoch 2: the loss is not finite"), "{message}");
            }
            (4, Status::Failed(message)) => assert!(message.ends_with("found killed"), "{message}"),
            (_, status) => assert_eq!(status, &Status::Finished, "{index}"),
        }
    }
    assert_eq!(report.check().unwrap_err().to_string(), "2 of 8 runs failed");
    let csv = std::fs::read_to_string(&report.csv).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    let metrics = "test/accuracy,test/loss,test/seen,validation/accuracy,validation/loss,validation/seen";
    assert_eq!(lines[0], format!("status,folder,penalty.lambda_perp,model.note,seed,{metrics}"));
    assert!(lines[1].starts_with("finished,\"penalty.lambda_perp=0,model.note=a,seed=0\",0,a,0,0."), "{}", lines[1]);
    assert!(lines[2].starts_with("failed,") && lines[2].ends_with(",0,a,7,,,,,,"), "{}", lines[2]);

    // The faults are gone: only the two that failed run, one from its checkpoint.
    for index in [1, 4] {
        std::fs::remove_file(sweep.points[index].folder(&sweep.folder).join(FAULT)).unwrap();
    }
    let again = sweep.run(&Interrupt::new(), &mut |_| {}).unwrap();
    assert!(again.check().is_ok() && !again.interrupted());
    let fresh: Vec<usize> =
        again.rows.iter().enumerate().filter(|(_, row)| row.status == Status::Finished).map(|(i, _)| i).collect();
    assert_eq!(fresh, [1, 4]);
    assert!(!std::fs::read_to_string(&again.csv).unwrap().contains("failed"));
}

#[test]
fn children_that_are_stopped_save_and_nothing_more_is_started() {
    let root = tempfile::tempdir().unwrap();
    let long = ["train.epochs", "train.checkpoint_every"].map(|key| Assignment::new(key, 100_000));
    let sweep = sweep(root.path(), &long);
    let interrupt = Interrupt::new();
    // Stops once two children have begun to record.
    let started = |index: usize| {
        let file = sweep.points[index].folder(&sweep.folder).join("metrics.jsonl");
        std::fs::metadata(file).is_ok_and(|file| file.len() > 0)
    };
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !(started(0) && started(1)) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            interrupt.request();
        });
        sweep.run(&interrupt, &mut |_| {}).unwrap()
    });
    assert!(report.interrupted() && report.check().is_ok());
    let statuses: Vec<&Status> = report.rows.iter().map(|row| &row.status).collect();
    assert_eq!(statuses[..2], [&Status::Interrupted, &Status::Interrupted]);
    assert!(statuses[2..].iter().all(|status| **status == Status::Waiting));
    // No checkpoint was due: the ones that are there were saved on the signal.
    for point in &sweep.points[..2] {
        assert!(point.folder(&sweep.folder).join("checkpoints/last.safetensors").is_file());
    }
}

#[test]
fn a_folder_with_other_settings_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let sweep = sweep(root.path(), &[]);
    let folder = sweep.points[3].folder(&sweep.folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), sweep.points[3].text.replace("epochs = 5", "epochs = 9")).unwrap();
    let message = sweep.run(&Interrupt::new(), &mut |_| {}).unwrap_err().to_string();
    assert!(message.ends_with("config.toml: train.epochs: expected 5, as asked for, found 9"), "{message}");
}

#[test]
fn a_sweep_that_another_process_runs_keeps_its_files() {
    let root = tempfile::tempdir().unwrap();
    let mut sweep = sweep(root.path(), &[]);
    sweep.files = vec![("sweep.toml", "mine".into())];
    std::fs::create_dir_all(&sweep.folder).unwrap();
    std::fs::write(sweep.folder.join("sweep.toml"), "theirs").unwrap();
    let lock = std::fs::File::create(sweep.folder.join("lock")).unwrap();
    lock.try_lock().unwrap();
    let message = sweep.run(&Interrupt::new(), &mut |_| {}).unwrap_err().to_string();
    assert!(message.ends_with("found one locked by another process"), "{message}");
    assert_eq!(std::fs::read_to_string(sweep.folder.join("sweep.toml")).unwrap(), "theirs");
    lock.unlock().unwrap();
    let interrupt = Interrupt::new();
    interrupt.request();
    let stopped = sweep.run(&interrupt, &mut |_| {}).unwrap();
    assert!(stopped.interrupted() && stopped.rows.iter().all(|row| row.status == Status::Waiting));
    assert_eq!(std::fs::read_to_string(sweep.folder.join("sweep.toml")).unwrap(), "mine");
}
