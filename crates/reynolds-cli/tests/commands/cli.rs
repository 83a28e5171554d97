//! The command as a user meets it: one run per subcommand, the round trip, and bad input.

use std::path::Path;

use reynolds::random::Random;
use reynolds_testkit::files::{dictionary, torch};
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
pub(crate) fn random(tensors: &[(&str, &[usize])]) -> Folder {
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
        assert_eq!(text.contains("; least certain step to it: z "), row["z"] != section["z"], "{text}");
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
    assert!(
        text.starts_with("Strides and paddings keep the symmetry at 0 of 1 convolutions; they break it at 1"),
        "{text}"
    );
    let text = folder.succeeds("audit model.safetensors --group C8 --fields trivial");
    assert!(
        text.starts_with("Strides and paddings can break the symmetry, too, whatever the weights are: not known at ")
            && text.contains("the grid of pixels allows only C4 exactly"),
        "{text}"
    );
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

#[test]
fn many_views_of_one_storage_take_time_in_proportion_to_their_number() {
    // 3,000 kernels that lie between each other: compared two by two, 10⁶ times over the whole storage.
    let views = 3000_i32;
    let numbers = |list: &[i32]| list.iter().flat_map(|n| [&b"J"[..], &n.to_le_bytes()].concat()).collect::<Vec<u8>>();
    let text = |text: &str| [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let view = |number: i32| {
        let storage = [
            &b"ctorch._utils\n_rebuild_tensor_v2\n(("[..],
            &text("storage"),
            b"ctorch\nFloatStorage\n",
            &text("0"),
            &text("cpu"),
        ];
        let shape = [&numbers(&[views * 9])[..], b"tQ", &numbers(&[number]), b"(", &numbers(&[1, 1, 3, 3]), b"t("];
        let strides =
            [&numbers(&[views * 9, views * 9, views * 3, views])[..], b"t\x89ccollections\nOrderedDict\n)RtR"];
        [storage.concat(), shape.concat(), strides.concat()].concat()
    };
    let names: Vec<String> = (0..views).map(|number| format!("l{number}.weight")).collect();
    let items: Vec<(&str, Vec<u8>)> = names.iter().zip(0..).map(|(name, number)| (&**name, view(number))).collect();
    let folder = random(&[]);
    let storage = (0..views * 9).flat_map(|n| (n as f32).sin().to_le_bytes()).collect();
    folder.write("model.pt", torch(&dictionary(&items), &[("0", storage)]));
    let value = folder.json("audit model.pt --group C4 --fields trivial --json");
    assert_eq!(value["audits"][0]["total"]["layers"], views);
    folder.succeeds("project model.pt out.pt --group C4 --fields trivial");
}
