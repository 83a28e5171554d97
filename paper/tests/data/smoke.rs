//! Truths about the smoke simulator, its files and its data sets.

use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_paper::data::Error;
use reynolds_paper::data::generate::{Event, Summary};
use reynolds_paper::smoke::data::{Buoyancy, SIDE, Setting, SmokeFile, Solver, Symmetry, generate, simulate};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

fn quiet(_: Event<'_, Setting>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The n-th simulation of the rotation data set, shortened.
fn short(number: usize, steps: usize) -> Setting {
    Setting { steps, ..Symmetry::Rotation.simulations()[number].clone() }
}

#[test]
fn the_air_is_free_of_divergence_after_every_step() {
    for mut setting in
        [short(4, 40), Symmetry::Translation.simulations()[7].clone(), Symmetry::Scaling.simulations()[3].clone()]
    {
        setting.steps = 40;
        let mut solver = Solver::new(&setting);
        for step in 0..setting.steps {
            solver.step();
            // The residual is 1e-5 of what the lift, at most 0.2 a unit of smoke, adds; rounding comes on top.
            let worst = solver.divergence().iter().fold(0.0_f32, |most, d| most.max(d.abs()));
            let densest = solver.smoke().iter().fold(0.0_f32, |most, s| most.max(*s));
            assert!(solver.is_solved() && solver.fastest() > 0.0);
            assert!(worst <= 1e-4 * densest, "{} step {step}: {worst}", setting.name);
        }
    }
}

#[test]
fn turned_settings_give_the_turned_simulation() {
    // A quarter turn: (x, y) ↦ (64 − y, x), (vx, vy) ↦ (−vy, vx), as from one side of the rotation data set to the next.
    let mut setting = Setting::new("side", [28.0, 5.0], Buoyancy::Uniform([0.01, 0.05]), 1.0);
    let run = |setting: &Setting| {
        let mut solver = Solver::new(setting);
        (0..30).for_each(|_| solver.step());
        solver
    };
    let mut before = run(&setting);
    for side in 0..4 {
        let Buoyancy::Uniform([bx, by]) = setting.buoyancy else { unreachable!() };
        setting.buoyancy = Buoyancy::Uniform([-by, bx]);
        setting.centre = [64.0 - setting.centre[1], setting.centre[0]];
        let after = run(&setting);
        let mut worst = 0.0_f32;
        for y in 0..SIDE {
            for x in 0..SIDE {
                let turned = after.smoke()[x * SIDE + (SIDE - 1 - y)];
                worst = worst.max((before.smoke()[y * SIDE + x] - turned).abs());
                // The face below (x, y) becomes the face right of its image.
                let turned = after.x_velocity()[x * (SIDE + 1) + SIDE - y];
                worst = worst.max((before.y_velocity(y)[x] + turned).abs());
                let turned = after.y_velocity(x)[SIDE - 1 - y];
                worst = worst.max((before.x_velocity()[y * (SIDE + 1) + x] - turned).abs());
            }
        }
        let scale = before.smoke().iter().fold(1.0_f32, |most, s| most.max(*s));
        assert!(worst <= 1e-4 * scale, "side {side}: {worst}");
        before = after;
    }
    assert_eq!(setting.centre, [28.0, 5.0]);
}

#[test]
fn without_buoyancy_the_smoke_grows_by_the_inflow_and_the_air_stays_still() {
    let setting = Setting::new("still", [20.0, 9.0], Buoyancy::Uniform([0.0, 0.0]), 1.0);
    let mut solver = Solver::new(&setting);
    solver.step();
    let inflow: Vec<f32> = solver.smoke().to_vec();
    let cells: f32 = inflow.iter().sum();
    assert!((70.0..=90.0).contains(&cells), "a disk of radius 5 has {cells} cells");
    for step in 2..=9 {
        solver.step();
        assert!(solver.smoke().iter().zip(&inflow).all(|(now, first)| *now == step as f32 * first));
        assert_eq!(solver.fastest(), 0.0);
    }
}

#[test]
fn advection_makes_no_smoke_denser_than_the_inflow_can() {
    let mut solver = Solver::new(&short(20, 60));
    for step in 1..=60 {
        solver.step();
        assert!(solver.smoke().iter().all(|s| (0.0..=step as f32).contains(s)), "step {step}");
    }
}

#[test]
fn files_do_not_depend_on_the_number_of_threads() {
    let simulations: Vec<Setting> = [3, 8, 14].map(|number| short(number, 12)).to_vec();
    let run = |threads: usize| {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| generate(folder.path(), &simulations, &quiet)).unwrap();
        simulations.iter().map(|s| fs::read(folder.path().join(format!("{}.npz", s.name))).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn what_is_there_is_kept_and_what_is_damaged_or_different_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulations: Vec<Setting> = [0, 1, 2].map(|number| short(number, 5)).to_vec();
    let events = Mutex::new(Vec::new());
    let report = |event: Event<'_, Setting>| {
        let text = match event {
            Event::Kept(setting) => format!("kept {}", setting.name),
            Event::Refused { case, reason } => format!("refused {}: {reason}", case.name),
            Event::Made(setting) => format!("made {}", setting.name),
            _ => return ControlFlow::Continue(()),
        };
        events.lock().unwrap().push(text);
        ControlFlow::Continue(())
    };
    let run = |simulations: &[Setting]| {
        let summary = generate(folder.path(), simulations, &report).unwrap();
        let mut events = std::mem::take(&mut *events.lock().unwrap());
        events.sort();
        (summary, events)
    };
    assert_eq!(run(&simulations).0, Summary { kept: 0, made: 3 });
    assert_eq!(run(&simulations).0, Summary { kept: 3, made: 0 });

    let first = folder.path().join("rotation_k01_j0.npz");
    let whole = fs::read(&first).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&first, &damaged).unwrap();
    fs::write(folder.path().join("rotation_k02_j1.npz"), &whole[..whole.len() / 3]).unwrap();
    simulations[2].velocity_step = 0.5;
    let (summary, events) = run(&simulations);
    assert_eq!(summary, Summary { kept: 0, made: 3 });
    assert!(events[3].contains("refused rotation_k01_j0") && events[3].contains("expected checksum"), "{events:?}");
    assert!(events[4].starts_with("refused rotation_k02_j1"), "{events:?}");
    assert!(events[5].contains("expected velocity_step 0.5, found velocity_step 1.0"), "{events:?}");
    assert_eq!(fs::read(&first).unwrap(), whole);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn a_file_holds_the_frames_and_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let setting = short(6, 4);
    generate(folder.path(), std::slice::from_ref(&setting), &quiet).unwrap();
    let checkpoint = Checkpoint::open(folder.path().join("rotation_k07_j2.npz")).unwrap();
    let velocity = checkpoint.entry("velocity").unwrap();
    assert_eq!(velocity.shape, [3, 2, 64, 64]);
    let read = checkpoint.read(velocity).unwrap();
    assert!(matches!(&read, Values::F32(std::borrow::Cow::Borrowed(_))), "a copy was made");
    assert_eq!(read, Values::F32(simulate(&setting, &|| Ok(())).unwrap().into()));
    assert_eq!(checkpoint.entry("setting").unwrap().dtype.to_string(), "|u1");
}

#[test]
fn a_file_that_is_not_there_or_not_the_right_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let message = |path: &Path| SmokeFile::open(path, &Symmetry::Rotation.simulations()[0]).unwrap_err().to_string();
    assert!(message(folder.path()).contains("rotation_k01_j0.npz: cannot open"), "{}", message(folder.path()));
    generate(folder.path(), &[short(0, 3)], &quiet).unwrap();
    let found = message(folder.path());
    assert!(found.ends_with("\"setting\": expected steps 310, found steps 3"), "{found}");
}

#[test]
fn a_stop_after_a_step_keeps_finished_files() {
    let folder = tempfile::tempdir().unwrap();
    let simulations: Vec<Setting> = [0, 1, 2].map(|number| short(number, 6)).to_vec();
    let steps = Mutex::new(0);
    let report = |event: Event<'_, Setting>| {
        let mut steps = steps.lock().unwrap();
        *steps += usize::from(matches!(event, Event::Stepped(_)));
        if *steps == 9 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let stopped = pool.install(|| generate(folder.path(), &simulations, &report)).unwrap_err();
    assert!(matches!(stopped, Error::Interrupted { .. }), "{stopped}");
    assert_eq!(*steps.lock().unwrap(), 9);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(generate(folder.path(), &simulations, &quiet).unwrap(), Summary { kept: 1, made: 2 });
}

#[test]
fn what_another_process_finishes_meanwhile_is_not_made_twice() {
    let folder = tempfile::tempdir().unwrap();
    let simulations: Vec<Setting> = [0, 1].map(|number| short(number, 5)).to_vec();
    let (made, once) = (Mutex::new(0), std::sync::Once::new());
    // The other process: it makes both while the first is under way here.
    let report = |event: Event<'_, Setting>| {
        if matches!(event, Event::Stepped(_)) {
            once.call_once(|| assert_eq!(generate(folder.path(), &simulations, &quiet).unwrap().made, 2));
        }
        *made.lock().unwrap() += usize::from(matches!(event, Event::Made(_)));
        ControlFlow::Continue(())
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let summary = pool.install(|| generate(folder.path(), &simulations, &report)).unwrap();
    assert_eq!((summary, *made.lock().unwrap()), (Summary { kept: 1, made: 1 }, 1));
}
