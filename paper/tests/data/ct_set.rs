//! Sets of CT pairs: made once, kept, made again where damaged; no series in two parts.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use reynolds_paper::ct::data::{
    Anatomy, Case, CtSet, Implant, Library, Scanner, SetConfig, Shape, Source, Subset, generate,
};
use reynolds_paper::data::generate::Event;

/// Few and coarse views: what is tested is the set.
fn config() -> SetConfig {
    let scanner = Scanner { views: 40, cells: 90, cell_mm: 10.0, offset_cells: 0.25, ..Scanner::default() };
    SetConfig { side: 16, train: 2, validation: 1, test: 1, scanner, ..SetConfig::default() }
}

fn proceed(_: Event<'_, Case>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_set_is_made_once_and_damaged_files_are_made_again() {
    let (folder, library) = (tempfile::tempdir().unwrap(), Library::built_in());
    let folder = folder.path().join("set");
    let summary = generate(&folder, &config(), &library, &proceed).unwrap();
    assert_eq!((summary.made, summary.kept), (5, 0));
    let file = folder.join("train_0001.npz");
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    let last = damaged.len() - 600;
    damaged[last] ^= 1;
    fs::write(&file, &damaged).unwrap();
    let refused = Mutex::new(Vec::new());
    let report = |event: Event<'_, Case>| {
        if let Event::Refused { case, reason } = event {
            refused.lock().unwrap().push((case.name.clone(), reason.to_string()));
        }
        ControlFlow::Continue(())
    };
    let summary = generate(&folder, &config(), &library, &report).unwrap();
    assert_eq!((summary.made, summary.kept), (1, 4));
    assert_eq!(refused.lock().unwrap()[0].0, "train_0001");
    assert_eq!(fs::read(&file).unwrap(), whole, "the same case is the same bytes");
    // Another seed is another set: a finished one is not written over, and of an unfinished one no file is taken for it.
    let list = fs::read(folder.join("set.json")).unwrap();
    let mut other = SetConfig { seed: 1, ..config() };
    other.scanner.views = 41;
    let error = generate(&folder, &other, &library, &report).unwrap_err().to_string();
    let expected = "expected a folder that is empty or holds a set of these settings (scanner.views 41, seed 1), \
                    found a set of others (scanner.views 40, seed 0)";
    assert!(error.ends_with(expected), "{error}");
    assert!(fs::read(&file).unwrap() == whole && fs::read(folder.join("set.json")).unwrap() == list);
    let more = SetConfig { train: 3, ..config() };
    assert_eq!(generate(&folder, &more, &library, &report).unwrap().made, 1);
    fs::remove_file(folder.join("set.json")).unwrap();
    assert_eq!(generate(&folder, &other, &library, &report).unwrap().made, 5);
    assert!(refused.lock().unwrap().iter().any(|(_, reason)| reason.contains("expected anatomy")));
}

#[test]
fn a_set_is_opened_part_by_part_and_its_images_are_finite() {
    let (folder, library) = (tempfile::tempdir().unwrap(), Library::built_in());
    generate(folder.path(), &config(), &library, &proceed).unwrap();
    let set = CtSet::open(folder.path()).unwrap();
    assert_eq!(set.config(), &config());
    assert_eq!(Subset::ALL.map(|part| set.cases(part).len()), [2, 1, 1, 1]);
    for part in Subset::ALL {
        for (number, case) in set.cases(part).iter().enumerate() {
            assert_eq!(case.part, part);
            let (file, pair) = (set.file(part, number), set.file(part, number).pair().unwrap());
            assert_eq!((pair.side, pair.truth.len()), (16, 256));
            assert_eq!(pair, case.pair(&library).unwrap());
            for image in [&pair.truth, &pair.corrupted, &pair.interpolated, &pair.metal] {
                assert!(image.iter().all(|value| value.is_finite()));
            }
            assert!(pair.metal.iter().any(|share| *share > 0.0), "{}", case.name);
            assert!(pair.metal.iter().all(|share| (0.0..=1.0).contains(share)));
            file.release();
        }
    }
    assert_eq!(set.bytes(), 5 * 4 * 4 * 256);
}

#[test]
fn an_interrupted_set_goes_on_and_an_unfinished_one_is_not_opened() {
    let (folder, library) = (tempfile::tempdir().unwrap(), Library::built_in());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let stop = |event: Event<'_, Case>| match event {
        Event::Made(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let error = pool.install(|| generate(folder.path(), &config(), &library, &stop)).unwrap_err().to_string();
    assert!(error.contains("stopped"), "{error}");
    let error = CtSet::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("set.json: cannot open"), "{error}");
    let summary = generate(folder.path(), &config(), &library, &proceed).unwrap();
    assert!(summary.kept >= 1 && summary.kept + summary.made == 5, "{summary:?}");
    fs::remove_file(folder.path().join("test_0000.npz")).unwrap();
    assert!(CtSet::open(folder.path()).unwrap_err().to_string().contains("test_0000.npz"));
    fs::write(folder.path().join("set.json"), "{}").unwrap();
    let error = CtSet::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("expected the settings and cases of a set of CT pairs"), "{error}");
}

/// The two stacks of golden/ct, and its metal shapes.
fn library(folder: &Path) -> Library {
    fs::create_dir(folder.join("aapm")).unwrap();
    for (name, place) in [("legs_16.npz", ""), ("trunk_16.npz", ""), ("metal_masks.mat", "aapm")] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ct").join(name);
        fs::copy(golden, folder.join(place).join(name)).unwrap();
    }
    Library::open(folder).unwrap()
}

#[test]
fn no_series_slice_or_shape_is_in_two_parts() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    let config = SetConfig { source: Source::Slices, train: 60, validation: 9, test: 20, ..config() };
    let cases = config.cases(&library).unwrap();
    let of = |part: Subset| cases.iter().filter(move |case| case.part == part);
    let slice = |case: &Case| match &case.anatomy {
        Anatomy::Slice { series, number, .. } => (series.clone(), *number),
        other => panic!("{other:?}"),
    };
    let slices = |part: Subset| of(part).map(slice).collect::<HashSet<_>>();
    let shapes = |part: Subset| {
        let implants = of(part).flat_map(|case| &case.implants);
        let number = |implant: &Implant| match implant.shape {
            Shape::Mask { number, .. } => number,
            other => panic!("{other:?}"),
        };
        implants.map(number).collect::<HashSet<_>>()
    };
    let seeds: HashSet<u64> = cases.iter().map(|case| case.seed).collect();
    assert_eq!(seeds.len(), cases.len(), "every case has noise of its own");
    // Two series: the shorter is tested on; of the longer, 24 slices, the upper 2 validate and 5 below them are in neither.
    assert!(slices(Subset::Test).iter().all(|(series, _)| series == "trunk"));
    assert_eq!(slices(Subset::Train), (0..17).map(|n| ("legs".into(), n)).collect());
    assert_eq!(slices(Subset::Validation), [22, 23].map(|n| ("legs".to_owned(), n)).into());
    assert!(shapes(Subset::Train).iter().all(|n| *n < 9));
    assert!(shapes(Subset::Validation).iter().all(|n| *n == 9));
    assert!(shapes(Subset::Test).iter().all(|n| *n >= 10));
    let named = SetConfig { test_series: "legs".into(), validation: 0, ..config.clone() }.cases(&library).unwrap();
    assert!(named.iter().filter(|case| case.part == Subset::Test).all(|case| slice(case).0 == "legs"));
    let error = SetConfig { test_series: "arms".into(), ..config }.cases(&library).unwrap_err().to_string();
    assert_eq!(error, "test_series: expected legs, trunk, found arms");
}

#[test]
fn a_case_is_not_made_of_other_slices_or_shapes() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    let config = SetConfig { source: Source::Slices, ..config() };
    let mut case = config.cases(&library).unwrap().remove(0);
    assert!(case.pair(&library).is_ok());
    let error = case.pair(&Library::built_in()).unwrap_err().to_string();
    assert!(error.contains("found no series legs"), "{error}");
    if let Shape::Mask { checksum, .. } = &mut case.implants[0].shape {
        *checksum ^= 1;
    }
    let error = case.pair(&library).unwrap_err().to_string();
    assert!(error.contains("metal masks: expected the shapes that train_0000 was made with"), "{error}");
    if let Anatomy::Slice { checksum, .. } = &mut case.anatomy {
        *checksum ^= 1;
    }
    assert!(case.pair(&library).unwrap_err().to_string().contains("another slice"));
}

#[test]
fn settings_are_read_back_and_unknown_ones_refused() {
    let text = serde_json::to_string(&config()).unwrap();
    assert_eq!(serde_json::from_str::<SetConfig>(&text).unwrap(), config());
    let short: SetConfig = serde_json::from_str(r#"{"source": "slices", "train": 7}"#).unwrap();
    assert_eq!((short.source, short.train, short.side), (Source::Slices, 7, 256));
    assert!(serde_json::from_str::<SetConfig>(r#"{"trian": 7}"#).is_err());
}
