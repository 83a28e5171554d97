//! However a run ends, it goes on to the same bytes.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use reynolds::random::Random;

use super::support::{Folder, SMALL, assert_same_run, killed_when, wait_until};

const KILLS: usize = 20;

/// The command that begins a small run in the folder `name`.
fn run(name: &str, epochs: usize, checkpoint_every: usize) -> String {
    format!(
        "run so2 --folder {name} {SMALL} --set train.epochs={epochs} --set train.checkpoint_every={checkpoint_every} \
         --set penalty.lambda_perp=0.1"
    )
}

/// The command that goes on with the folder `name` if it is a run yet, else the one that begins it.
fn going_on(folder: &Folder, name: &str) -> String {
    let begun = folder.path(name).join("config.toml").exists();
    if begun { format!("run so2 --resume {name}") } else { run(name, 60, 1) }
}

/// Whether a run has written the metrics of so many epochs.
fn has_lines(folder: &Folder, name: &str, lines: usize) -> bool {
    let file = folder.path(name).join("metrics.jsonl");
    std::fs::read_to_string(file).unwrap_or_default().lines().count() >= lines
}

#[test]
fn killed_twenty_times_a_run_ends_in_the_same_bytes() {
    let folder = Folder::new();
    let begun = Instant::now();
    let mut child = folder.started(&run("whole", 60, 1));
    wait_until(&mut child, || has_lines(&folder, "whole", 1));
    let starting = begun.elapsed();
    assert!(child.wait().unwrap().success());
    let training = begun.elapsed() - starting;
    let mut random = Random::new(4);
    let (mut kills, mut finished) = (0, 0);
    let mut name = String::from("killed");
    while kills < KILLS {
        let mut child = folder.started(&going_on(&folder, &name));
        // Progress adds up, so each go is given a part of the whole; every fourth is killed while it is starting.
        let moment = random.uniform();
        sleep(if kills % 4 == 0 { starting.mul_f64(moment) } else { starting + training.mul_f64(moment / 6.0) });
        child.kill().unwrap();
        if !child.wait().unwrap().success() {
            kills += 1;
            continue;
        }
        // Done before all kills were dealt: another run takes the rest.
        assert_same_run(&folder.path("whole"), &folder.path(&name));
        finished += 1;
        assert!(finished < 100, "{kills} kills only: this machine is too uneven to aim at");
        name = format!("killed{finished}");
    }
    folder.done(&going_on(&folder, &name));
    assert_same_run(&folder.path("whole"), &folder.path(&name));
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_says_how_to_go_on_and_exits_with_130() {
    let folder = Folder::new();
    folder.done(&run("whole", 150, 20));
    let mut stopped = folder.command(&run("stopped", 150, 20));
    let mut child = stopped.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, || has_lines(&folder, "stopped", 5));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("go on with: reynolds run so2 --resume stopped"), "{error}");
    assert!(!folder.path("stopped/summary.json").exists());
    folder.done("run so2 --resume stopped");
    assert_same_run(&folder.path("whole"), &folder.path("stopped"));
}

#[cfg(unix)]
#[test]
fn nothing_in_a_folder_steers_the_terminal_and_the_command_that_goes_on_can_be_pasted() {
    let (folder, name) = (Folder::new(), "it's $HOME \u{1b}[31m\u{202e}");
    let mut begun = folder.command(&run("", 150, 20).replace("--folder", ""));
    let mut child = begun.args(["--folder", name]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, || has_lines(&folder, name, 2));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let error = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    let pasted = error.split("go on with: ").nth(1).unwrap();
    std::fs::write(folder.path(name).join("facts.json"), r#"{"a\u001b]0;title": "\u009b2J\nreport: b\u202e"}"#)
        .unwrap();
    let program = folder.command("").get_program().to_string_lossy().into_owned();
    let script = format!("reynolds() {{ '{program}' \"$@\"; }}; {pasted}");
    let output = Command::new("bash").current_dir(folder.path("")).args(["-c", &script]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && folder.path(name).join("summary.json").exists(), "{pasted}{out}");
    assert!(out.contains("a\\u{1b}]0;title: \\u{9b}2J\\nreport: b\\u{202e}"), "{out}");
    for text in [error, out] {
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text}");
    }
}

#[test]
fn only_the_process_of_a_sweep_ends_with_it() {
    let folder = Folder::new();
    let mut foreign = folder.command(&run("here", 2, 1));
    assert!(foreign.env("REYNOLDS_SWEEP", "1").status().unwrap().success());
    std::fs::remove_file(folder.path("here/summary.json")).unwrap();
    let ended = "--sweep: PID: expected to be started by the process 1, found the process";
    folder.refused("run so2 --sweep 1 --resume here", &[ended, "the sweep has ended"]);
}

#[test]
fn a_run_has_one_writer_at_a_time() {
    let folder = Folder::new();
    let mut child = folder.started(&run("here", 5000, 20));
    wait_until(&mut child, || has_lines(&folder, "here", 1));
    let (code, _, error) = folder.reynolds("run so2 --resume here");
    killed_when(child, || true);
    assert!(code == 2 && error.contains("here"), "{error}");
}
