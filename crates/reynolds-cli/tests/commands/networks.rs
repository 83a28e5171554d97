//! Networks as they are: formats, several files, several checkpoints, layers beyond convolutions.

use reynolds::random::Random;
use reynolds_testkit::files::{dictionary, safetensors, singles, tensor, torch};
use safetensors::SafeTensors;

use crate::cli::random;

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
        if dtype == "C64" {
            folder.refuses("audit model.safetensors", &["found none", "complex weights are measured under"]);
        }
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

#[test]
fn the_moments_of_an_optimizer_are_no_evidence() {
    let folder = random(&[
        ("model.weight", &[8, 8, 3, 3]),
        ("optimizer.state.0.exp_avg", &[8, 8, 3, 3]),
        ("a.exp_avg_sq", &[8, 8, 3, 3]),
    ]);
    let ranking = folder.json("audit model.safetensors --json")["ranking"].clone();
    assert!(ranking[0]["what"].as_str().unwrap().ends_with("on 1 of 1 tensors"), "{ranking}");
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
    assert!(
        text.starts_with("Strides and paddings keep the symmetry at 4 of 5 convolutions; they break it at 1"),
        "{text}"
    );
    // Without a group it is said of the one that is found.
    folder.succeeds("project model.onnx turned.onnx --group C4 --fields trivial");
    let text = folder.succeeds("audit turned.onnx");
    let found = ["they break it at 1 (same.weight)", "C4 = D4"].map(|words| text.contains(words));
    assert!(text.starts_with("Under C4: strides and paddings keep") && found == [true; 2], "{text}");
    let plan = folder.succeeds("plan model.onnx --group C4");
    let (keeps, breaks) = ("# Stride and padding in the file keep the symmetry.", "# Breaks the symmetry: ");
    assert_eq!((plan.matches(keeps).count(), plan.matches(breaks).count()), (4, 1), "{plan}");
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
