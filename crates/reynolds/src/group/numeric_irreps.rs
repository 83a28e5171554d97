//! Irreducible representations of any enumerable finite group, found numerically.
//!
//! A random symmetric element of the right group algebra commutes with the left regular representation:
//!
//! ```text
//! A = Σ_g c(g) R(g),   c(g) = c(g⁻¹),   (R(g)f)(h) = f(hg)
//! ```
//!
//! Its eigenspaces are, for almost every c, irreducible; every irrep occurs among them.

use faer::Mat;

use super::{Element, GroupRef, elements, order_up_to};
use crate::error::{Error, Result};
use crate::irrep::{Irrep, commutant_basis, eigenvectors};
use crate::random::Random;
use crate::rep::{self, Rep, tabulated};

/// The largest group whose regular representation is decomposed.
const ORDER_LIMIT: u128 = 1024;

/// All real irreps of a finite group, by dimension and then by character, the trivial one first, labelled `irrep(0)`,
/// `irrep(1)`, …; [`Error::TooLarge`] over order 1024.
pub fn numeric_irreps(group: &GroupRef) -> Result<Vec<Irrep>> {
    let order = order_up_to(group.as_ref(), ORDER_LIMIT, "numerical irreps")? as usize;
    let all = elements(group.as_ref())?;
    let product: Vec<Vec<usize>> =
        all.iter().map(|g| all.iter().map(|h| group.multiply(g, h).index() as usize).collect()).collect();

    let mut found: Vec<(Vec<f64>, Rep)> = Vec::new();
    let spaces = eigenspaces(group, &product, order)?;
    add(&mut found, &all, rep::trivial(group));
    add_eigenspaces(&mut found, group, &product, spaces.iter().filter(|space| space.ncols() == 1))?;
    add_point_twists(&mut found, group, &all)?;
    add_eigenspaces(&mut found, group, &product, spaces.iter().filter(|space| space.ncols() > 1))?;
    found.sort_by(|(a, x), (b, y)| x.dim().cmp(&y.dim()).then_with(|| descending(a, b)));

    let mut irreps = Vec::new();
    let mut total = 0;
    for (index, (character, rep)) in found.into_iter().enumerate() {
        let norm: f64 = character.iter().map(|x| x * x).sum::<f64>() / order as f64;
        let commutant = commutant_basis(&rep, norm.round() as usize)?;
        // The regular representation holds V exactly dim V / dim End_G(V) times.
        total += rep.dim() * rep.dim() / commutant.len();
        irreps.push(Irrep::new(format!("irrep({index})"), rep, commutant)?);
    }
    if total != order {
        let reason = format!("irreps of total dimension {total} in a group of order {order}");
        return Err(Error::numerical("decomposition of the regular representation", reason));
    }
    Ok(irreps)
}

/// Keeps an irreducible representation of real type unless an equivalent one is known.
fn add(found: &mut Vec<(Vec<f64>, Rep)>, all: &[Element], rep: Rep) {
    let character: Vec<f64> = all.iter().map(|g| rep.character(g)).collect();
    let norm = character.iter().map(|x| x * x).sum::<f64>() / character.len() as f64;
    if norm.round() == 1.0 && found.iter().all(|(known, _)| !close(known, &character)) {
        found.push((character, rep));
    }
}

fn add_eigenspaces<'a>(
    found: &mut Vec<(Vec<f64>, Rep)>,
    group: &GroupRef,
    product: &[Vec<usize>],
    spaces: impl Iterator<Item = &'a Mat<f64>>,
) -> Result<()> {
    for subspace in spaces {
        let character = characters_on(subspace, product);
        if found.iter().all(|(known, _)| !close(known, &character)) {
            let matrices = product.iter().map(|row| restrict(subspace, row)).collect();
            found.push((character, tabulated(group, "irrep", matrices)?));
        }
    }
    Ok(())
}

/// The group's own matrices, times each one-dimensional character: bases in which the cube's groups permute coordinates.
fn add_point_twists(found: &mut Vec<(Vec<f64>, Rep)>, group: &GroupRef, all: &[Element]) -> Result<()> {
    if let Ok(point) = rep::point(group) {
        add(found, all, point.clone());
        let characters: Vec<Rep> = found.iter().map(|(_, rep)| rep.clone()).filter(|rep| rep.dim() == 1).collect();
        for character in characters {
            add(found, all, rep::tensor(&character, &point)?);
        }
    }
    Ok(())
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-6)
}

/// Larger characters first, so that the trivial representation leads.
fn descending(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let differing = a.iter().zip(b).find(|(x, y)| (*x - *y).abs() > 1e-6);
    differing.map_or(std::cmp::Ordering::Equal, |(x, y)| y.total_cmp(x))
}

/// Orthonormal bases `[|G|, d]` of irreducible subspaces of the left regular representation.
fn eigenspaces(group: &GroupRef, product: &[Vec<usize>], order: usize) -> Result<Vec<Mat<f64>>> {
    let mut random = Random::new(order as u64);
    let mut coefficient = vec![0.0; order];
    for g in 0..order {
        let inverse = group.inverse(&Element::Finite(g as u128)).index() as usize;
        let draw = random.normal();
        coefficient[g] += draw;
        coefficient[inverse] += draw;
    }
    let mut algebra = Mat::<f64>::zeros(order, order);
    for h in 0..order {
        for g in 0..order {
            algebra[(h, product[h][g])] += coefficient[g];
        }
    }
    let (values, vectors) = eigenvectors(&algebra, "eigenvalues of the group algebra")?;
    let scale = values.iter().map(|value| value.abs()).fold(1.0, f64::max);
    let mut spaces = Vec::new();
    let mut start = 0;
    for end in 1..=order {
        if end == order || values[end] - values[end - 1] > 1e-9 * scale {
            spaces.push(vectors.subcols(start, end - start).to_owned());
            start = end;
        }
    }
    Ok(spaces)
}

/// Bᵀ L(g) B, with (L(g)f)(gh) = f(h).
fn restrict(subspace: &Mat<f64>, row: &[usize]) -> Mat<f64> {
    let moved = Mat::from_fn(subspace.nrows(), subspace.ncols(), |h, j| subspace[(row[h], j)]);
    moved.transpose() * subspace
}

fn characters_on(subspace: &Mat<f64>, product: &[Vec<usize>]) -> Vec<f64> {
    let trace = |row: &Vec<usize>| -> f64 {
        let dot = |h: usize| -> f64 { (0..subspace.ncols()).map(|j| subspace[(row[h], j)] * subspace[(h, j)]).sum() };
        (0..subspace.nrows()).map(dot).sum()
    };
    product.iter().map(trace).collect()
}
