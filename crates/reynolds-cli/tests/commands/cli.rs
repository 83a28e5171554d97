//! The command as a user meets it: one run per subcommand, the round trip, and bad input.

use std::path::Path;

use reynolds::random::Random;
use reynolds_testkit::files::{dictionary, safetensors, singles, tensor, torch};
use safetensors::SafeTensors;
use serde_json::Value;

use crate::Folder;

const NETWORK: [(&str, &[usize]); 5] = [
    ("stem.weight", &[8, 3, 3, 3]),
    ("body.conv.weight", &[8, 8, 3, 3]),
    ("body.conv.bias", &[8]),
    ("body.bn.running_var", &[8]),
    ("head.weight", &[10, 8]),
];

/// A folder with a checkpoint of random weights.
fn random(tensors: &[(&str, &[usize])]) -> Folder {
    let mut random = Random::new(1);
    let mut draw = |shape: &[usize]| (0..shape.iter().product()).map(|_| random.normal() as f32).collect();
    Folder::with(&tensors.iter().map(|&(name, shape)| (name, shape, draw(shape))).collect::<Vec<_>>())
}

/// A number of the first audit's total.
fn total(audit: &Value, key: &str) -> f64 {
    audit["audits"][0]["total"][key].as_f64().unwrap()
}

#[test]
fn help_lists_every_command() {
    let folder = random(&[]);
    let out = folder.succeeds("--help");
    for command in ["audit", "project", "plan", "run", "sweep", "reproduce", "data", "bench"] {
        assert!(out.lines().any(|line| line.trim_start().starts_with(command)), "{command}: {out}");
    }
    folder.refuses("--nonsense", &["unexpected argument"]);
    folder.refuses("", &["Usage"]);
}

/// The program alone in a folder of its own, with `path` as its PATH.
fn alone(path: &Path, line: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("reynolds");
    std::fs::copy(assert_cmd::cargo::cargo_bin("reynolds"), &program).unwrap();
    // A process that another test starts meanwhile holds the copy open for writing until it has become its own program.
    let output = loop {
        match std::process::Command::new(&program).args(line.split_whitespace()).env("PATH", path).output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            done => break done.unwrap(),
        }
    };
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn training_is_handed_over_and_its_missing_program_is_named() {
    let path = tempfile::tempdir().unwrap();
    for command in ["run so2 --seeds 3", "sweep so2", "reproduce --help", "data", "bench"] {
        let (code, said) = alone(path.path(), command);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("needs the program reynolds-paper") && said.lines().count() == 1, "{said}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let program = path.path().join("reynolds-paper");
        std::fs::write(&program, "#!/bin/sh\necho handed \"$@\"\nexit 7\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (code, said) = alone(path.path(), "run so2 --seeds 3 --help");
        assert_eq!((code, said.as_str()), (Some(7), "handed run so2 --seeds 3 --help\n"));
    }
}

#[test]
fn audit_prints_a_table_and_the_reasons() {
    let out = random(&NETWORK).succeeds("audit model.safetensors --group C4 --fields regular");
    for (start, words) in [
        ("body.conv.weight", "2 regular -> 2 regular"),
        ("body.conv.bias", "2 regular"),
        ("body.bn.running_var", "2 regular"),
        ("not measured: stem.weight", "3 input channels do not split into fields of 4"),
        ("not measured: head.weight", "its fields have to be given in a plan"),
    ] {
        let line = out.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {out}"));
        assert!(line.contains(words), "{line}");
    }
    assert!(out.contains("says nothing about outputs"));
    assert!(!out.contains('\u{1b}'), "no colour when piped");
}

#[test]
fn a_group_alone_shows_both_typings_side_by_side() {
    let folder = random(&NETWORK);
    let out = folder.succeeds("audit model.safetensors --group C4");
    assert!(out.contains("trivial: energy") && out.contains("regular: energy") && out.contains("Neither is known"));
    let value = folder.json("audit model.safetensors --group C4 --json");
    let fields: Vec<&str> = value["audits"].as_array().unwrap().iter().map(|a| a["fields"].as_str().unwrap()).collect();
    assert_eq!(fields, ["trivial", "regular"]);
}

#[test]
fn project_then_audit_gives_energy_one_and_projecting_twice_changes_nothing() {
    let folder = random(&NETWORK);
    for typing in ["--group C4 --fields regular", "--group D4 --fields trivial", "--group C2 --fields regular"] {
        let out = folder.succeeds(&format!("project model.safetensors once.safetensors {typing}"));
        assert!(out.contains("body.conv.weight") && out.contains("What may still break equivariance"), "{out}");
        assert!(out.contains("% of ‖W‖: expect the accuracy to be lost"), "{out}");
        let energy = |file: &str| total(&folder.json(&format!("audit {file}.safetensors --json {typing}")), "energy");
        assert!(energy("model") < 0.7 && (energy("once") - 1.0).abs() < 1e-12, "{typing}");
        let existed = folder.path("twice.safetensors").exists();
        let out = folder.succeeds(&format!("project once.safetensors twice.safetensors {typing}"));
        assert_eq!((out.contains("(replaced), onto"), out.contains("expect the accuracy")), (existed, false), "{out}");
        assert_eq!(folder.read("once.safetensors"), folder.read("twice.safetensors"), "{typing}");
        folder.succeeds(&format!("audit once.safetensors --require 0.999999 {typing}"));
        assert_eq!(folder.reynolds(&format!("audit model.safetensors --require 0.99 {typing}")).0, 1);
    }
}

#[test]
fn projection_leaves_every_other_tensor_alone() {
    let folder = random(&NETWORK);
    let text = folder.succeeds("project model.safetensors out.safetensors --group C4 --fields regular --weights-only");
    assert!(text.contains("body.conv.bias") && text.contains("--weights-only"), "{text}");
    let files = ["model.safetensors", "out.safetensors"].map(|name| folder.read(name));
    let [before, after] = files.each_ref().map(|file| SafeTensors::deserialize(file).unwrap());
    for (name, _) in NETWORK {
        let same = before.tensor(name).unwrap().data() == after.tensor(name).unwrap().data();
        assert_eq!(same, name != "body.conv.weight", "{name}");
    }
}

#[test]
fn a_blend_keeps_its_share_and_a_subgroup_keeps_more() {
    let folder = random(&NETWORK);
    let typing = "--group D4 --fields regular";
    let distance = |file: &str| total(&folder.json(&format!("audit {file} --json {typing}")), "distance");
    let after = |extra: &str| {
        folder.succeeds(&format!("project model.safetensors out.safetensors {typing} {extra}"));
        distance("out.safetensors")
    };
    let whole = distance("model.safetensors");
    assert!((after("--blend 0.25") / whole - 0.75).abs() < 1e-5);
    let (all, some) = (after(""), after("--to C4"));
    assert!(all < 1e-5 && some > 0.1 * whole && some < whole, "{all} {some} {whole}");
    folder.refuses(&format!("project model.safetensors x.safetensors {typing} --to C3"), &["C3 is not a subgroup"]);
}

#[test]
fn a_written_plan_can_be_audited() {
    let folder = random(&NETWORK);
    let out = folder.succeeds("plan model.safetensors --group C4");
    assert!(out.contains("name = \"body.conv.weight\"\ndomain = \"2 regular\"\ncodomain = \"2 regular\""), "{out}");
    let said = folder.succeeds("plan model.safetensors --group C4 --out plan.toml");
    assert_eq!((folder.text("plan.toml"), &*said), (out, "wrote plan.toml: 4 rules, and 1 commented out\n"));
    let value = folder.json("audit model.safetensors --plan plan.toml --json");
    assert_eq!(value["audits"][0]["total"]["layers"], 2);
    folder.refuses("audit model.safetensors --plan plan.toml --group D4", &["C4, the group of the plan"]);
}

#[test]
fn a_linear_layer_takes_what_the_layer_before_gives_or_a_remark_says_so() {
    let folder = random(&[("conv.weight", &[32, 8, 3, 3]), ("fc.weight", &[10, 32]), ("out.weight", &[10, 7])]);
    let draft = folder.succeeds("plan model.safetensors --group C4");
    let rule = "# off: its fields cannot be guessed from its shape; the domain is what conv.weight gives\n\
                # [[layer]]  # [10, 32]\n# name = \"fc.weight\"\n# domain = \"8 regular\"\n# codomain = \"10 trivial\"\n";
    assert!(draft.contains(rule) && draft.contains("from its shape\n# [[layer]]  # [10, 7]"), "{draft}");
    let commented = draft.find("# [[layer]]").unwrap();
    let on = draft[commented..].split("\n\n").next().unwrap().replace("\n# ", "\n")[2..].to_string();
    let remark = "fc.weight: takes 32 trivial, but conv.weight before it gives 8 regular";
    for (text, expected) in [(on.clone(), false), (on.replace("8 regular", "32 trivial"), true)] {
        folder.write("plan.toml", format!("{}{text}", &draft[..commented]));
        for command in ["audit model.safetensors", "project model.safetensors out.safetensors"] {
            let said = folder.succeeds(&format!("{command} --plan plan.toml"));
            assert_eq!(said.contains(remark), expected, "{said}");
        }
    }
}

#[test]
fn ranking_finds_the_symmetry_that_was_put_in() {
    let folder = random(&[("a.weight", &[6, 6, 5, 5]), ("b.weight", &[16, 16])]);
    folder.succeeds("project model.safetensors out.safetensors --group C4 --fields trivial");
    let value = folder.json("audit out.safetensors --json");
    let [kernels, linear] = &value["ranking"].as_array().unwrap()[..] else { panic!("{value}") };
    assert_eq!((&kernels["group"], &linear["group"]), (&"C4".into(), &serde_json::Value::Null), "{value}");
    assert!(kernels["p"].as_f64().unwrap() < 1e-3 && linear["p"].as_f64().unwrap() > 1e-3, "{value}");
    assert_eq!(kernels["layers"][0]["group"], "C4");
    let groups: Vec<&str> =
        kernels["groups"].as_array().unwrap().iter().map(|g| g["group"].as_str().unwrap()).collect();
    assert_eq!((groups.len(), linear["groups"].as_array().unwrap().len()), (9, 2));
    let text = folder.succeeds("audit out.safetensors");
    assert!(text.contains("Which symmetry? 2-D kernels"), "{text}");
    let row = kernels["groups"].as_array().unwrap().iter().find(|row| row["group"] == "C4").unwrap();
    let headline = format!("C4 (quarter turns): z {:.1}, corrected p ", row["z"].as_f64().unwrap());
    assert!(text.contains(&headline), "{headline}: {text}");
    // The linear layer has no other fields to try; kernels have.
    let hint = "Only trivial fields were tried";
    let found = ["out", "model"].map(|file| folder.succeeds(&format!("audit {file}.safetensors")).contains(hint));
    assert_eq!(found, [false, true]);
}

#[test]
fn ranking_names_equal_groups_together_also_under_noise_and_takes_zeros_for_no_evidence() {
    let shape = [16, 16, 3, 3];
    let folder = random(&[("a.weight", &shape)]);
    folder.succeeds("project model.safetensors out.safetensors --group p4m --fields trivial");
    let bytes = folder.read("out.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let (numbers, _) = file.tensor("a.weight").unwrap().data().as_chunks::<4>();
    let exact: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    let size = (exact.iter().map(|w| w * w).sum::<f32>() / exact.len() as f32).sqrt();
    for noise in [0.0, 0.3] {
        let mut random = Random::new(9);
        let noisy = exact.iter().map(|w| w + noise * size * random.normal() as f32).collect();
        let folder = Folder::with(&[("a.weight", &shape, noisy), ("zero.weight", &shape, vec![0.0; 2304])]);
        let section = folder.json("audit model.safetensors --rank --json")["ranking"][0].clone();
        assert_eq!(
            (&section["group"], &section["indistinguishable_from"][0]),
            (&"C4".into(), &"D4".into()),
            "{noise}: {section}"
        );
        assert_eq!(section["layers"].as_array().unwrap().len(), 1, "{section}");
        let text = folder.succeeds("audit model.safetensors");
        let row = section["groups"].as_array().unwrap().iter().find(|row| row["group"] == "C4").unwrap();
        assert_eq!(text.contains("; weakest step on the way to it: z "), row["z"] != section["z"], "{text}");
        assert!(text.contains(&format!("C4 = D4 (quarter turns): z {:.1}, ", row["z"].as_f64().unwrap())), "{text}");
        assert!(text.contains("on 1 of 2 tensors"), "{text}");
    }
}

#[test]
fn with_nothing_to_compare_no_symmetry_is_claimed() {
    let folder = random(&[("a.weight", &[8, 8, 1, 1]), ("b.weight", &[7, 5])]);
    let audit = "audit model.safetensors --rank --group C4 --fields trivial";
    let value = folder.json(&format!("{audit} --json --html page.html"));
    let section = &value["ranking"][0];
    assert_eq!(value["ranking"].as_array().unwrap().len(), 1);
    assert!(section["groups"].as_array().unwrap().is_empty() && section["group"].is_null(), "{section}");
    assert!(section["verdict"].as_str().unwrap().contains("nothing to compare"), "{section}");
    let total = &value["audits"][0]["total"];
    assert!(total["layers"] == 0 && total["energy"].is_null() && total["excess"].is_null(), "{total}");
    let (text, page) = (folder.succeeds(audit), folder.text("page.html"));
    assert!(text.contains("nothing to compare") && !text.contains("1.0000"), "{text}");
    assert!(page.contains("nothing to compare") && page.contains("energy –") && !page.contains("1.0000"), "{page}");
}

#[test]
fn kernels_of_keras_are_projected_in_their_own_order() {
    let folder = random(&[("conv/kernel:0", &[3, 3, 2, 8])]);
    folder.succeeds("project model.safetensors out.safetensors --group flip --fields trivial");
    let audit = folder.json("audit out.safetensors --group flip --fields trivial --json");
    assert_eq!(audit["audits"][0]["layers"][0]["shape"], serde_json::json!([8, 2, 3, 3]));
    let bytes = folder.read("out.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let (numbers, _) = file.tensor("conv/kernel:0").unwrap().data().as_chunks::<4>();
    let weights: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    // [row, column, in and out]: columns 0 and 2 are equal.
    assert!((0..3 * 16).all(|at| weights[at / 16 * 48 + at % 16] == weights[at / 16 * 48 + 32 + at % 16]));
}

#[test]
fn guessed_fields_are_those_of_the_suggested_plan_and_wrappers_are_seen_through() {
    let folder =
        random(&[("module.up.weight", &[8, 4, 2, 2]), ("module.up.bias", &[4]), ("module.a.weight", &[8, 8, 3, 3])]);
    let plan = folder.succeeds("plan model.safetensors --group C4");
    assert!(plan.contains("kind = \"transposed\"\ndomain = \"2 regular\"\ncodomain = \"1 regular\""), "{plan}");
    folder.write("plan.toml", plan);
    let by =
        |typing: &str| folder.json(&format!("audit model.safetensors {typing} --json"))["audits"][0]["layers"].clone();
    let guessed = by("--group c4 --fields auto");
    assert_eq!((guessed.as_array().unwrap().len(), &guessed), (3, &by("--plan plan.toml")));
    let rule =
        "name = \"a.weight\"\ndomain = \"2 regular\"\ncodomain = \"2 regular\"\nstride = 2\npadding = 1\ninput = 8";
    folder.write("plan.toml", format!("group = \"C4\"\n[[layer]]\n{rule}\n"));
    assert_eq!(by("--plan plan.toml")[0]["sampling"], "breaks");
    let text = folder.succeeds("audit model.safetensors --plan plan.toml");
    assert!(text.starts_with("Strides and paddings commute with the group at 0 of 1 convolutions; not at 1"), "{text}");
    let text = folder.succeeds("audit model.safetensors --group C8 --fields trivial");
    assert!(
        text.starts_with("Whether the network commutes is not known at ")
            && text.contains("pixels turn exactly only by C4"),
        "{text}"
    );
}

/// Complex weights as `run so2` writes them: C64, or in double precision pairs along a last axis.
#[test]
fn complex_weights_are_audited_and_projected_by_their_frequencies() {
    let mut draw = Random::new(4);
    let folder = random(&[]);
    for (dtype, shape, size) in [("C64", "[6,9]", 4), ("F64", "[6,9,2]", 8)] {
        let numbers: Vec<f64> = (0..108).map(|_| draw.normal()).collect();
        let bytes = |x: &f64| if size == 4 { (*x as f32).to_le_bytes().to_vec() } else { x.to_le_bytes().to_vec() };
        let header =
            format!(r#"{{"first.weight":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{}]}}}}"#, 108 * size);
        folder.write("model.safetensors", safetensors(&header, &numbers.iter().flat_map(bytes).collect::<Vec<u8>>()));
        let layer = "name = \"first.weight\"\ndomain = \"3x(-1..1)\"\ncodomain = \"2x(-1..1)\"";
        folder.write("plan.toml", format!("group = \"SO2\"\n[[layer]]\n{layer}\n"));
        let audit = folder.json("audit model.safetensors --plan plan.toml --json");
        // Entry (o, i) is kept where both channels have the same frequency.
        let same = |at: usize| at / 2 / 9 % 3 == at / 2 % 9 % 3;
        let square = |of: &dyn Fn(usize) -> bool| -> f64 {
            numbers.iter().enumerate().filter(|(at, _)| of(*at)).map(|(_, x)| x * x).sum()
        };
        let expected = square(&same) / square(&|_| true);
        let found = audit["audits"][0]["layers"][0]["energy"].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-6, "{dtype}: {found} {expected}");
        folder.succeeds("project model.safetensors out.safetensors --plan plan.toml");
        let file = folder.read("out.safetensors");
        let data = &file[file.len() - 108 * size..];
        for (at, (place, number)) in data.chunks(size).zip(&numbers).enumerate() {
            let expected = if same(at) { bytes(number) } else { vec![0; size] };
            assert_eq!(place, &expected[..], "{dtype} {at}");
        }
        assert!(folder.succeeds("plan model.safetensors --group SO2").contains("first.weight"));
    }
}

#[test]
fn several_checkpoints_show_how_symmetry_comes_and_goes() {
    let folder = random(&[("conv.weight", &[8, 8, 3, 3]), ("last.weight", &[4, 8, 5, 5])]);
    let typing = "--group C4 --fields trivial";
    for (epoch, blend) in [("2", "0.3"), ("10", "0.6"), ("11", "1")] {
        folder.succeeds(&format!("project model.safetensors epoch_{epoch}.safetensors {typing} --blend {blend}"));
    }
    let files = "epoch_10.safetensors epoch_2.safetensors model.safetensors epoch_11.safetensors";
    let course = folder.json(&format!("audit {files} {typing} --json --html course.html"));
    let audits = course["audits"].as_array().unwrap();
    let names: Vec<&str> = audits.iter().map(|audit| audit["model"].as_str().unwrap()).collect();
    assert_eq!(names, ["epoch_2.safetensors", "epoch_10.safetensors", "epoch_11.safetensors", "model.safetensors"]);
    let energies: Vec<f64> = audits.iter().map(|audit| audit["total"]["energy"].as_f64().unwrap()).collect();
    assert!(energies[3] < energies[0] && energies[0] < energies[1] && energies[2] > 0.999_999, "{energies:?}");
    let page = folder.text("course.html");
    assert_eq!((page.matches("class=\"chart\"").count(), page.matches(">last.weight</text>").count()), (3, 3));
    let text = folder.succeeds(&format!("audit {files} {typing}"));
    assert!(text.starts_with("4 checkpoints under C4, trivial fields") && text.contains("epoch_10"), "{text}");
    folder.refuses(&format!("audit {files} --group C4"), &["4 checkpoints", "--fields trivial"]);
    folder.refuses(&format!("audit {files} {typing} --rank"), &["one checkpoint"]);
}

#[test]
fn the_verdict_is_for_programs_too_and_tables_fit_a_narrow_terminal() {
    let folder = random(&[("module.a.long.name.of.a.block.conv.weight", &[8, 8, 3, 3]), ("b.weight", &[16, 8, 3, 3])]);
    let verdict = |file: &str| folder.json(&format!("audit {file} --group D4 --fields trivial --rank --json"));
    let found = verdict("model.safetensors");
    assert_eq!((&found["schema"], &found["verdict"]["typed"][0]["equivariant"]), (&1.into(), &false.into()));
    assert!(
        found["verdict"]["symmetries"][0]["group"].is_null() && found["verdict"]["typed"][0]["sampling"] == "unknown"
    );
    let element = &found["audits"][0]["layers"][0]["worst_defect"]["element"];
    assert!(element["number"].as_str().unwrap().parse::<u128>().unwrap() < 8, "{element}");
    folder.succeeds("project model.safetensors out.safetensors --group D4 --fields trivial");
    let found = verdict("out.safetensors");
    assert_eq!(
        (&found["verdict"]["typed"][0]["equivariant"], &found["verdict"]["text"][1]),
        (&true.into(), &found["verdict"]["text"][1])
    );
    for (command, columns) in
        [("audit model.safetensors --group D4 --rank", 80), ("audit model.safetensors --group D4 --fields trivial", 80)]
    {
        let mut program = assert_cmd::Command::cargo_bin("reynolds").unwrap();
        let arguments = command.split(' ');
        let output =
            program.current_dir(folder.path(".")).env("COLUMNS", columns.to_string()).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let table = text.lines().filter(|line| line.contains("  ") && !line.contains(" = "));
        assert!(table.clone().count() > 3, "{text}");
        table.for_each(|line| assert!(line.chars().count() <= columns, "{line:?}"));
    }
}

#[test]
fn the_manual_and_completions_name_every_command() {
    let folder = random(&[]);
    let (man, bash) = (folder.succeeds("man"), folder.succeeds("completions bash"));
    for word in ["audit", "project", "plan", "completions"] {
        assert!(man.contains(word) && bash.contains(word), "{word}");
    }
    assert!(man.contains(".TH reynolds 1") && man.contains("blend"), "{man}");
}

#[test]
fn a_model_in_several_files_is_audited_as_one_and_projected_into_a_folder() {
    let shapes: [(&str, &[usize]); 2] = [("a.weight", &[8, 8, 3, 3]), ("b.weight", &[4, 8, 5, 5])];
    let folder = random(&shapes);
    let whole = folder.json("audit model.safetensors --group C4 --fields trivial --rank --json");
    let bytes = folder.read("model.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    std::fs::create_dir(folder.path("parts")).unwrap();
    for (name, shape) in shapes {
        let numbers = file.tensor(name).unwrap().data().as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x));
        folder.write(&format!("parts/{name}.safetensors"), singles(&[(name, shape, numbers.collect())]));
    }
    let index = r#"{"weight_map": {"a.weight": "a.weight.safetensors", "b.weight": "b.weight.safetensors"}}"#;
    for (path, index) in [("parts", None), ("parts/model.safetensors.index.json", Some(index)), ("parts", Some(index))]
    {
        index.into_iter().for_each(|index| folder.write("parts/model.safetensors.index.json", index));
        let parts = folder.json(&format!("audit {path} --group C4 --fields trivial --rank --json"));
        for part in ["audits", "ranking"] {
            assert_eq!(parts[part], whole[part], "{path}");
        }
    }
    let typing = "--group C4 --fields trivial";
    folder.succeeds(&format!("project parts out {typing}"));
    folder.succeeds(&format!("audit out/model.safetensors.index.json {typing} --require 0.999999"));
    folder.succeeds(&format!("project model.safetensors whole.safetensors {typing}"));
    let [whole, part] = ["whole.safetensors", "out/a.weight.safetensors"].map(|name| folder.read(name));
    let [whole, part] = [&whole, &part].map(|bytes| SafeTensors::deserialize(bytes).unwrap());
    assert_eq!(whole.tensor("a.weight").unwrap().data(), part.tensor("a.weight").unwrap().data());
    folder.refuses(&format!("project parts out {typing}"), &["the name of a new folder"]);
    for (index, found) in [
        (r#"{"weight_map": {"a": "../model.safetensors"}}"#, "files beside the index"),
        (r#"{"weight_map": {"a": "/etc/passwd"}}"#, "files beside the index"),
        (r#"{"weight_map": {"a": "absent.safetensors"}}"#, "absent.safetensors"),
        (r#"{"weight_map": {}}"#, "that names files"),
        ("{}", "weight_map"),
    ] {
        folder.write("parts/model.safetensors.index.json", index);
        folder.refuses(&format!("audit parts {typing}"), &[found]);
    }
    std::fs::remove_file(folder.path("parts/model.safetensors.index.json")).unwrap();
    folder.write("parts/c.safetensors", folder.read("parts/a.weight.safetensors"));
    folder.refuses(&format!("audit parts {typing}"), &["every name once", "a.weight", "c.safetensors"]);
}

/// golden/checkpoints_onnx_hdf5.py says what the nodes are.
#[test]
fn an_onnx_model_says_itself_where_it_commutes_and_is_written_back() {
    let folder = random(&[]);
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/checkpoints");
    folder.write("model.onnx", std::fs::read(golden.join("network.onnx")).unwrap());
    let audit = folder.json("audit model.onnx --group C4 --fields trivial --json");
    let layers = audit["audits"][0]["layers"].as_array().unwrap();
    let found: Vec<(&str, &str)> =
        layers.iter().map(|l| (l["name"].as_str().unwrap(), l["sampling"].as_str().unwrap())).collect();
    // The point that a node pads behind 17 is beyond the last window; the one that "SAME_UPPER" adds to 16 is not.
    let expected = [
        ("stem.weight", "commutes"),
        ("layer.0.conv.weight", "commutes"),
        ("group.weight", "commutes"),
        ("up.weight", "commutes"),
        ("same.weight", "breaks"),
    ];
    assert_eq!(found, expected);
    let text = folder.succeeds("audit model.onnx --group C4 --fields trivial");
    assert!(text.starts_with("Strides and paddings commute with the group at 4 of 5 convolutions; not at 1"), "{text}");
    let plan = folder.succeeds("plan model.onnx --group C4");
    assert!(plan.contains("kind = \"transposed\"\ndomain = \"2 regular\"\ncodomain = \"1 regular\""), "{plan}");
    assert!(plan.contains("groups = 8\nstride = 1\npadding = 1\ninput = 8"), "{plan}");
    folder.write("plan.toml", plan);
    let by_plan = folder.json("audit model.onnx --plan plan.toml --json");
    let layers = by_plan["audits"][0]["layers"].as_array().unwrap();
    assert_eq!(layers.iter().find(|layer| layer["name"] == "same.weight").unwrap()["sampling"], "breaks");
    folder.succeeds("project model.onnx out.onnx --plan plan.toml");
    let [before, after] = ["model.onnx", "out.onnx"].map(|name| folder.read(name));
    assert_eq!(before.len(), after.len());
    folder.succeeds("audit out.onnx --plan plan.toml --require 0.999");
}

/// A joint query, key and value of two heads is equivariant under exchange of the heads if its blocks say so.
#[test]
fn heads_of_attention_are_points_that_a_permutation_group_moves() {
    let folder = random(&[("attention.in_proj_weight", &[12, 5]), ("attention.out_proj.weight", &[5, 4])]);
    let rule = |name: &str, domain: &str, codomain: &str| {
        format!("[[layer]]\nname = \"attention.{name}\"\ndomain = \"{domain}\"\ncodomain = \"{codomain}\"\n")
    };
    let rules = rule("in_proj_weight", "5 trivial", "3 heads(2)") + &rule("out_proj.weight", "1 heads(2)", "5 trivial");
    folder.write("plan.toml", format!("group = \"S2\"\n{rules}"));
    folder.succeeds("project model.safetensors out.safetensors --plan plan.toml");
    let bytes = folder.read("out.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let numbers = |name: &str| -> Vec<f32> {
        file.tensor(name).unwrap().data().chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect()
    };
    // Rows of a head: two each, heads side by side in each of query, key and value.
    let joint = numbers("attention.in_proj_weight");
    assert!((0..60).all(|at| joint[at] == joint[(at / 20 * 4 + (at / 5 % 4 + 2) % 4) * 5 + at % 5]));
    let out = numbers("attention.out_proj.weight");
    assert!((0..20).all(|at| out[at] == out[at / 4 * 4 + (at % 4 + 2) % 4]));
}

#[test]
fn tensors_of_one_storage_count_once() {
    let view = || tensor("0", 144, 0, &[4, 4, 3, 3], &[36, 9, 3, 1]);
    let storage: Vec<u8> = (0..144).flat_map(|at| (at as f32).sin().to_le_bytes()).collect();
    let folder = random(&[]);
    folder.write("model.pt", torch(&dictionary(&[("a.weight", view()), ("b.weight", view())]), &[("0", storage)]));
    let audit = folder.json("audit model.pt --group C4 --fields trivial --rank --json");
    let layers = &audit["audits"][0]["layers"];
    assert_eq!((&audit["audits"][0]["total"]["layers"], &layers[1]["tied_to"]), (&1.into(), &"a.weight".into()));
    assert_eq!(audit["ranking"][0]["layers"].as_array().unwrap().len(), 1);
}

#[test]
fn a_group_that_does_not_act_on_the_grid_is_the_same_by_option_and_by_plan() {
    let folder = random(&[("a.weight", &[16, 8, 5, 5]), ("b.weight", &[8, 16, 3, 3])]);
    let rule = |name: &str, [domain, codomain]: [&str; 2]| {
        format!("[[layer]]\nname = \"{name}\"\ndomain = \"{domain}\"\ncodomain = \"{codomain}\"\n")
    };
    for (fields, pairs) in [
        ("trivial", [["8 trivial", "16 trivial"], ["16 trivial", "8 trivial"]]),
        ("regular", [["1 regular", "2 regular"], ["2 regular", "1 regular"]]),
    ] {
        folder.write("plan.toml", format!("group = \"C8\"\n{}{}", rule("a.*", pairs[0]), rule("b.*", pairs[1])));
        let [by_option, by_plan] = [format!("--group C8 --fields {fields}"), "--plan plan.toml".into()]
            .map(|typing| folder.json(&format!("audit model.safetensors --json {typing}"))["audits"][0].clone());
        assert_eq!((&by_option["layers"], &by_option["total"]), (&by_plan["layers"], &by_plan["total"]), "{fields}");
        assert_eq!(by_option["total"]["layers"], 2);
    }
}

#[test]
fn weights_that_are_not_finite_are_reported_by_audit_and_refused_by_project() {
    let (good, mut bad) = (vec![1.0; 9], vec![1.0; 9]);
    bad[4] = f32::NAN;
    let folder = Folder::with(&[("good.weight", &[1, 1, 3, 3], good), ("bad.weight", &[1, 1, 3, 3], bad)]);
    let audit = "audit model.safetensors --group C4 --fields trivial";
    let out = folder.succeeds(audit);
    assert!(out.contains("NaN at 4"), "{out}");
    let (code, _, error) = folder.reynolds(&format!("{audit} --require 0.3"));
    assert!(code == 1 && error.contains("bad.weight") && error.contains("fell short"), "{error}");
    let report = folder.json(&format!("{audit} --json"));
    let layers = report["audits"][0]["layers"].as_array().unwrap();
    let broken = layers.iter().find(|layer| layer["name"] == "bad.weight").unwrap();
    assert!(broken["energy"].is_null() && broken["norm"].is_null() && broken["excess"].is_null(), "{broken}");
    let project = "project model.safetensors out.safetensors --group C4 --fields trivial";
    folder.refuses(project, &["model.safetensors", "bad.weight", "weight 4 is NaN", "expected finite"]);
    assert!(!folder.path("out.safetensors").exists());
}

#[test]
fn a_bias_that_is_not_finite_is_reported_where_only_weights_are_projected() {
    let weight = (0..4 * 4 * 9).map(|i| (i as f32).sin()).collect();
    let bias = vec![f32::NAN, 1.0, 1.0, 1.0];
    let folder = Folder::with(&[("c.weight", &[4, 4, 3, 3], weight), ("c.bias", &[4], bias)]);
    let project = "project model.safetensors out.safetensors --group C4 --fields regular";
    folder.refuses(project, &["model.safetensors", "c.bias"]);
    assert!(!folder.path("out.safetensors").exists(), "a refused projection leaves no output");
    let text = folder.succeeds(&format!("{project} --weights-only"));
    assert!(folder.path("out.safetensors").exists() && text.contains("c.bias"), "{text}");
}

#[test]
fn bad_input_exits_with_two_and_names_what_is_wrong() {
    let folder = random(&NETWORK);
    for (line, needles) in [
        ("audit model.safetensors --group X9 --fields trivial", &["unknown group \"X9\"", "expected C<n>"][..]),
        ("audit missing.safetensors --group C4", &["missing.safetensors"]),
        (
            "audit model.safetensors --group SO2",
            &["SO2", "`reynolds plan model.safetensors --group SO2 --out plan.toml`"],
        ),
        ("audit model.safetensors --group C4 --fields odd", &["regular or trivial"]),
        ("audit model.safetensors --group C4 --require 2", &["from 0 to 1"]),
        ("audit model.safetensors --group C4 --require 0.5", &["--fields trivial or regular"]),
        ("audit model.safetensors --group S5 --fields trivial", &["found none", "S5 does not act"]),
        ("audit model.safetensors --group C4 --html model.safetensors", &["the model itself"]),
        ("project model.safetensors out.safetensors --group C4", &["--fields"]),
        ("project model.safetensors model.safetensors --group C4 --fields regular", &["model.safetensors"]),
        ("project model.safetensors out.npz --group C4 --fields regular", &["out.npz", ".safetensors"]),
        ("project model.safetensors out.safetensors --group C4 --fields regular --blend x", &["expected a number"]),
    ] {
        folder.refuses(line, needles);
    }
    for (layer, needle) in [
        ("name = \"nothing.*\"\ndomain = \"2 regular\"", "no match"),
        ("name = \"stem.weight\"\ndomain = \"1 regular\"", "expected 4 input channels, found 3"),
        ("name = \"stem.weight\"\ndomain = \"3 scalar\"", "cannot read fields"),
        ("name = \"stem.weight\"\ndomain = \"4 reglar\"", "(did you mean `regular`?)"),
    ] {
        folder.write("plan.toml", format!("group = \"C4\"\n[[layer]]\n{layer}\ncodomain = \"2 regular\"\n"));
        for command in ["audit model.safetensors", "project model.safetensors out.safetensors"] {
            folder.refuses(&format!("{command} --plan plan.toml"), &["model.safetensors", needle]);
        }
    }
    folder.write("plan.toml", "group = \"C4\"\n[[layer]]\nname = \"*\"\ncodomian = \"4 trivial\"\n");
    let found = ", found unknown field `codomian` (did you mean `codomain`?)";
    folder.refuses("audit model.safetensors --plan plan.toml", &["line 4: expected one of `name`, `domain`", found]);
    folder.write("plan.toml", "group = 4");
    folder.refuses("audit model.safetensors --plan plan.toml", &["plan.toml", "line 1"]);
    folder.write("model.safetensors", "not a checkpoint");
    folder.refuses("audit model.safetensors --group C4", &["model.safetensors"]);
    assert!(!folder.path("out.safetensors").exists() && !folder.path("out.npz").exists());
}
