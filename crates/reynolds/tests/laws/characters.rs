//! Character tables: orthogonality, indicators, golden tables, dim Hom_G.

use faer::c64;
use reynolds::character::CharacterTable;
use reynolds::group::{self, Element};
use reynolds::irrep::{EndomorphismType, hom_dim};
use reynolds::rep;
use reynolds::scalar::Scalar;
use reynolds_testkit::golden::Golden;
use reynolds_testkit::spaces::{FINITE, QUATERNION, quaternion_group};

const TOLERANCE: f64 = 1e-12;

fn table(name: &str) -> CharacterTable {
    let group = group::parse(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    CharacterTable::new(&group).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn tables() -> Vec<CharacterTable> {
    let others = ["C7", "D6", "S5", "S6", "Ih", "C3 x C3", "S3 x C4", "D4 x C3", "C4 x Z8"].map(String::from);
    let split = [format!("{QUATERNION} x C3"), format!("{QUATERNION} x {QUATERNION}")];
    let simple = ["<(0 1 2), (2 3 4)>", "<(0 1 2 3 4 5 6), (0 1)(2 5)>"].map(String::from);
    let names = FINITE.map(String::from).into_iter().chain(others).chain(split).chain(simple);
    let mut tables: Vec<CharacterTable> = names.map(|name| table(&name)).collect();
    tables.push(CharacterTable::new(&quaternion_group()).expect("a group of order 8"));
    tables
}

fn close(a: c64, b: f64) -> bool {
    (a - c64::new(b, 0.0)).abs_sq().sqrt() < TOLERANCE * b.max(1.0)
}

#[test]
fn rows_and_columns_are_orthogonal() {
    for table in tables() {
        let (name, sizes) = (table.group.name(), &table.classes.sizes);
        let order: usize = sizes.iter().sum();
        for (i, chi) in table.rows.iter().enumerate() {
            for (j, psi) in table.rows.iter().enumerate() {
                let product = table.inner_product(chi, psi);
                assert!(close(product, if i == j { 1.0 } else { 0.0 }), "{name}: rows {i}, {j}: {product}");
            }
        }
        for i in 0..sizes.len() {
            for j in 0..sizes.len() {
                let mut sum = c64::new(0.0, 0.0);
                for row in &table.rows {
                    sum += row[i] * row[j].conjugate();
                }
                let centraliser = order as f64 / sizes[i] as f64;
                assert!(close(sum, if i == j { centraliser } else { 0.0 }), "{name}: columns {i}, {j}: {sum}");
            }
        }
    }
}

#[test]
fn indicators_tell_the_endomorphism_types() {
    for table in tables() {
        let mut expected = Vec::new();
        for irrep in table.group.clone().irreps(0).unwrap() {
            expected.extend_from_slice(match irrep.endomorphism_type() {
                EndomorphismType::Real => &[1][..],
                EndomorphismType::Complex => &[0, 0],
                EndomorphismType::Quaternionic => &[-1],
            });
        }
        assert_eq!(table.frobenius_schur(), expected, "{}", table.group.name());
    }
    let quaternion = CharacterTable::new(&quaternion_group()).unwrap();
    let mut indicators = quaternion.frobenius_schur();
    indicators.sort_unstable();
    assert_eq!(indicators, [-1, 1, 1, 1, 1]);
}

/// The golden table of a group, `[irreps, classes]`.
fn golden_table(golden: &Golden, name: &str) -> Vec<Vec<c64>> {
    let (shape, re) = golden.tensor(&format!("{name}.re"));
    let im = match golden.names().contains(&format!("{name}.im").as_str()) {
        true => golden.tensor(&format!("{name}.im")).1,
        false => vec![0.0; re.len()],
    };
    let entries: Vec<c64> = re.iter().zip(im).map(|(&re, im)| c64::new(re, im)).collect();
    entries.chunks(shape[1]).map(<[c64]>::to_vec).collect()
}

/// Whether every golden row is one of ours when golden column j is our column `columns[j]`.
fn rows_agree(ours: &CharacterTable, golden: &[Vec<c64>], columns: &[usize]) -> bool {
    golden.iter().all(|row| {
        ours.rows.iter().any(|our| {
            columns.iter().zip(row).all(|(&column, &value)| (our[column] - value).abs_sq().sqrt() < TOLERANCE)
        })
    })
}

fn cycle_type(word: &[u32]) -> Vec<f64> {
    let next = |&point: &u32| Some(word[point as usize]);
    // The length of the cycle if it starts at its least point, else 0.
    let length = |start: u32| {
        let rest: Vec<u32> = std::iter::successors(next(&start), next).take_while(|&point| point != start).collect();
        if rest.iter().all(|&point| point > start) { (rest.len() + 1) as f64 } else { 0.0 }
    };
    let mut lengths: Vec<f64> = (0..word.len() as u32).map(length).collect();
    lengths.sort_by(|a, b| b.total_cmp(a));
    lengths
}

#[test]
fn symmetric_groups_have_the_golden_tables() {
    let golden = Golden::open("characters");
    for n in [4, 5] {
        let name = format!("S{n}");
        let ours = table(&name);
        let (_, types) = golden.tensor(&format!("{name}.cycle_types"));
        let (_, sizes) = golden.tensor(&format!("{name}.sizes"));
        let type_of = |g: &Element| cycle_type(&ours.group.point_permutation(g).unwrap());
        let column = |wanted: &[f64]| ours.classes.representatives.iter().position(|g| type_of(g) == wanted);
        let columns: Vec<usize> = types.chunks(n).map(|wanted| column(wanted).expect("a class of each type")).collect();
        for (&column, size) in columns.iter().zip(sizes) {
            assert_eq!(ours.classes.sizes[column] as f64, size, "{name}");
        }
        assert!(rows_agree(&ours, &golden_table(&golden, &name), &columns), "{name}");
    }
}

#[test]
fn polyhedral_groups_have_the_golden_tables() {
    let golden = Golden::open("characters");
    for name in ["T", "O", "I"] {
        let ours = table(name);
        let [sizes, orders, traces] =
            ["sizes", "orders", "traces"].map(|what| golden.tensor(&format!("{name}.{what}")).1);
        let class_names = ours.class_names();
        let fits = |golden: usize, our: usize| {
            let g = &ours.classes.representatives[our];
            let matrix = ours.group.point_matrix(g).unwrap();
            let trace: f64 = (0..3).map(|i| matrix[(i, i)]).sum();
            ours.classes.sizes[our] as f64 == sizes[golden]
                && class_names[our].trim_end_matches(char::is_alphabetic).parse() == Ok(orders[golden])
                && (trace - traces[golden]).abs() < 1e-9
        };
        // Classes with equal numbers (the two classes of thirds of a turn in T) are assigned in order.
        let mut columns: Vec<usize> = Vec::new();
        for class in 0..sizes.len() {
            let free = (0..sizes.len()).find(|&our| fits(class, our) && !columns.contains(&our));
            columns.push(free.unwrap_or_else(|| panic!("{name}: no class like golden class {class}")));
        }
        assert!(rows_agree(&ours, &golden_table(&golden, name), &columns), "{name}:\n{ours}");
    }
}

#[test]
fn hom_dimensions_from_classes_equal_those_from_the_haar_sum() {
    for name in ["C5", "D4", "S4", "O", "Oh", "S3 x C4"] {
        let table = table(name);
        let group = &table.group;
        let regular = rep::regular(group).unwrap();
        let irreps: Vec<rep::Rep> = group.clone().irreps(0).unwrap().into_iter().map(Into::into).collect();
        let fields = rep::sum(group, &[(2, irreps[0].clone()), (1, irreps[irreps.len() - 1].clone())]).unwrap();
        let product = rep::tensor(&fields, irreps.last().unwrap()).unwrap();
        for domain in [&regular, &fields, &product] {
            for codomain in [&regular, &fields, &product] {
                let fast = table.hom_dim(domain, codomain).unwrap();
                assert_eq!(fast, hom_dim(domain, codomain).unwrap(), "{name}");
            }
        }
        // Hom_G(L²(G), V) = V*, so its dimension is dim V.
        assert_eq!(table.hom_dim(&regular, &product).unwrap(), product.dim(), "{name}");
    }
}

#[test]
fn regular_representation_holds_every_irrep_as_often_as_its_dimension() {
    for table in tables() {
        let regular = rep::regular(&table.group).unwrap();
        let dims: Vec<usize> = table.rows.iter().map(|row| row[0].re.round() as usize).collect();
        assert_eq!(table.multiplicities(&regular).unwrap(), dims, "{}", table.group.name());
    }
}
