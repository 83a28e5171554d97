//! f(g) = Re⟨A(g)D, D⟩, from which ‖Δ_g‖² = 2‖D‖² − 2 f(g), for D = T − P(T).
//!
//! D instead of T: Δ_g(T) = Δ_g(D), and the difference does not cancel when T is almost equivariant.

use faer::Mat;

use crate::group::Element;
use crate::projection::KernelSpace;
use crate::rep::Rep;
use crate::scalar::Scalar;

/// Largest number of entries kept in Gram matrices.
const GRAM_LIMIT: usize = 1 << 22;

/// The autocorrelation of a map along the group.
pub(super) struct Correlation<'a, F: Scalar> {
    space: &'a KernelSpace<F>,
    map: &'a [F],
    /// ‖D‖².
    energy: f64,
    gram: Option<Gram<F>>,
}

/// One kind of summand and where its copies start.
struct Kind<F: Scalar> {
    rep: Rep<F>,
    starts: Vec<usize>,
}

/// For each pair of kinds, Σ over copies of vec(D_block) vec(D_block)*: copies cost nothing per group element.
struct Gram<F: Scalar> {
    codomain: Vec<Kind<F>>,
    domain: Vec<Kind<F>>,
    /// Per pair: `G[(o, o′), (i, i′)] = Σ D[o′, i′] conj D[o, i]`.
    matrices: Vec<Mat<F>>,
}

impl<'a, F: Scalar> Correlation<'a, F> {
    /// `map` has the length of `space`.
    pub(super) fn new(space: &'a KernelSpace<F>, map: &'a [F]) -> Self {
        let energy = map.iter().map(|w| w.abs_sq()).sum();
        Self { space, map, energy, gram: Gram::new(space, map) }
    }

    /// ‖D‖².
    pub(super) fn energy(&self) -> f64 {
        self.energy
    }

    /// Number of weights.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// ‖Δ_g‖².
    pub(super) fn defect_squared(&self, g: &Element) -> f64 {
        (2.0 * self.energy - 2.0 * self.at(g)).max(0.0)
    }

    /// Re⟨A(g)D, D⟩.
    pub(super) fn at(&self, g: &Element) -> f64 {
        if let Some(sum) = self.by_permutation(g) {
            return sum;
        }
        if let Some(gram) = &self.gram {
            return gram.at(g);
        }
        let moved = self.space.act(g, self.map);
        moved.iter().zip(self.map).map(|(&a, &b)| (a * b.conjugate()).real()).sum()
    }

    /// One pass, where every action is a signed permutation.
    fn by_permutation(&self, g: &Element) -> Option<f64> {
        let rows = self.space.codomain().signed_permutation(g)?;
        let columns = self.space.domain().signed_permutation(g)?;
        let points = self.space.points();
        let moved: Vec<u32> =
            self.space.grid().map_or_else(|| (0..points as u32).collect(), |grid| grid.permutation(g));
        let n = columns.len();
        let mut sum = 0.0;
        for (o, (&to_row, &minus_row)) in rows.image.iter().zip(&rows.negative).enumerate() {
            for (i, (&to_column, &minus_column)) in columns.image.iter().zip(&columns.negative).enumerate() {
                let from = &self.map[(o * n + i) * points..][..points];
                let to = &self.map[(to_row as usize * n + to_column as usize) * points..][..points];
                let part: f64 = from.iter().zip(&moved).map(|(&w, &x)| (w * to[x as usize].conjugate()).real()).sum();
                sum += if minus_row != minus_column { -part } else { part };
            }
        }
        Some(sum)
    }
}

fn kinds<F: Scalar>(rep: &Rep<F>) -> Vec<Kind<F>> {
    let whole = [(1, rep.clone())];
    let mut kinds: Vec<Kind<F>> = Vec::new();
    let mut start = 0;
    for (copies, part) in rep.summands().unwrap_or(&whole) {
        let starts = (0..*copies).map(|copy| start + copy * part.dim());
        match kinds.iter_mut().find(|kind| std::sync::Arc::ptr_eq(&kind.rep, part)) {
            Some(kind) => kind.starts.extend(starts),
            None => kinds.push(Kind { rep: part.clone(), starts: starts.collect() }),
        }
        start += copies * part.dim();
    }
    kinds
}

impl<F: Scalar> Gram<F> {
    /// `None` on a grid, whose points pair up differently for every g, and where it would cost more than acting.
    fn new(space: &KernelSpace<F>, map: &[F]) -> Option<Self> {
        let (codomain, domain) = (kinds(space.codomain()), kinds(space.domain()));
        let squares = |kinds: &[Kind<F>]| kinds.iter().map(|kind| kind.rep.dim().pow(2)).sum::<usize>();
        let size = squares(&codomain).checked_mul(squares(&domain))?;
        let acting = space.len() * (space.domain().dim() + space.codomain().dim());
        if space.grid().is_some() || size > GRAM_LIMIT || size > acting {
            return None;
        }
        let columns = space.domain().dim();
        let mut matrices = Vec::new();
        for a in &codomain {
            for b in &domain {
                let (m, n) = (a.rep.dim(), b.rep.dim());
                let mut matrix = Mat::<F>::zeros(m * m, n * n);
                for (row, column) in a.starts.iter().flat_map(|row| b.starts.iter().map(move |column| (row, column))) {
                    let entry = |o: usize, i: usize| map[(row + o) * columns + column + i];
                    for at in 0..n * n {
                        for from in 0..m * m {
                            matrix[(from, at)] += entry(from % m, at % n) * entry(from / m, at / n).conjugate();
                        }
                    }
                }
                matrices.push(matrix);
            }
        }
        Some(Self { codomain, domain, matrices })
    }

    /// Σ over pairs of Re Σ π′_{oo′} G[(o,o′),(i,i′)] conj π_{ii′}.
    fn at(&self, g: &Element) -> f64 {
        let flat = |kinds: &[Kind<F>], conjugate: bool| -> Vec<Vec<F>> {
            kinds
                .iter()
                .map(|kind| {
                    let (matrix, n) = (kind.rep.matrix(g), kind.rep.dim());
                    let entries = (0..n * n).map(|at| matrix[(at / n, at % n)]);
                    entries.map(|z| if conjugate { z.conjugate() } else { z }).collect()
                })
                .collect()
        };
        let (left, right) = (flat(&self.codomain, false), flat(&self.domain, true));
        let mut matrices = self.matrices.iter();
        let mut sum = 0.0;
        for a in &left {
            for b in &right {
                let matrix = matrices.next().expect("one matrix per pair");
                for (column, &factor) in b.iter().enumerate() {
                    let mut inner = F::ZERO;
                    for (row, &entry) in a.iter().enumerate() {
                        inner += entry * matrix[(row, column)];
                    }
                    sum += (inner * factor).real();
                }
            }
        }
        sum
    }
}
