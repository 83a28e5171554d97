//! Smoke in a closed box: density at the centres of the cells, velocity on their faces.
//!
//! ```text
//! s ← MacCormack(s; w, 1) + inflow
//! w ← semi-Lagrange(w; w, Δt) + s·b on the faces
//! w ← w − ∇p,   Δp = div w
//! ```
//!
//! Cells are unit squares. The velocity is zero on the walls and outside; the density continues as its edge. There is no viscosity and no
//! noise.
//!
//! **Rounding.** A plume in the middle is unstable: in the rotation simulation k = 5 the rounding of single precision has bent it by frame
//! 150, that of double precision by frame 250. The paper's data are PhiFlow's in single precision. So are these, with every operation in the
//! order of PhiFlow 2.1.4 on NumPy: the frames are equal to the last bit.

use super::plane::{Between, Plane};
use super::pressure::Pressure;
use super::setting::Setting;

/// The state of a simulation and the buffers of a step.
#[derive(Debug, Clone)]
pub struct Solver {
    width: usize,
    height: usize,
    velocity_step: f32,
    smoke: Plane,
    inflow: Plane,
    /// Velocity gained by one unit of density, at the centres: x, then y.
    buoyancy: [Plane; 2],
    /// x-velocity on the faces x = 0..=width, with a row of zeros below and above the box.
    u: Plane,
    /// y-velocity on the faces y = 0..=height, with a column of zeros left and right of the box.
    v: Plane,
    /// Means from centres to faces, along x and y.
    to_faces: [Midway; 2],
    /// Means from faces, walls included, to centres, along x and y.
    to_centres: [Midway; 2],
    /// Places of the centres, along x and y.
    centres: [Vec<f32>; 2],
    /// Places of the inner faces after a wall, along x and y.
    faces: [Vec<f32>; 2],
    pressure: Pressure,
    solved: bool,
    scratch: Scratch,
}

#[derive(Debug, Clone)]
struct Scratch {
    smoke: Plane,
    traced: Plane,
    lift: [Plane; 2],
    u: Plane,
    v: Plane,
    /// [width, height].
    divergence: Vec<f32>,
}

/// Where a point lies in units of a grid whose `cells` cells begin at `lower`: through the unit interval, which rounds.
#[inline]
fn place(point: f32, lower: f32, cells: usize) -> f32 {
    (point - lower) / cells as f32 * cells as f32 - 0.5
}

/// Centres of `cells` unit cells that begin at `lower`: evenly spaced in the unit interval, rounded there, and then spread out.
fn centres(cells: usize, lower: f32) -> Vec<f32> {
    let (first, last) = (0.5 / cells as f64, 1.0 - 0.5 / cells as f64);
    let step = (last - first) / (cells - 1) as f64;
    let unit = |at: usize| if at + 1 == cells { last } else { at as f64 * step + first };
    (0..cells).map(|at| unit(at) as f32 * cells as f32 + lower).collect()
}

/// The mean of two neighbours: almost half of each, because the half is computed as a share of `cells` cells and rounded there.
#[derive(Debug, Clone, Copy)]
struct Midway {
    lower: f32,
    upper: f32,
}

impl Midway {
    fn new(cells: usize) -> Midway {
        let upper = 0.5 / cells as f32 * cells as f32;
        Midway { lower: 1.0 - upper, upper }
    }

    #[inline]
    fn mean(self, lower: f32, upper: f32) -> f32 {
        upper * self.upper + lower * self.lower
    }
}

impl Solver {
    pub fn new(setting: &Setting) -> Solver {
        let (width, height) = (setting.width, setting.height);
        let centred = |value: &dyn Fn(usize, usize) -> f32| {
            let mut plane = Plane::zero(width, height);
            for y in 0..height {
                for x in 0..width {
                    plane.values[y * width + x] = value(x, y);
                }
            }
            plane
        };
        let zero = Plane::zero(width, height);
        let (u, v) = (Plane::zero(width + 1, height + 2), Plane::zero(width + 2, height + 1));
        Solver {
            width,
            height,
            velocity_step: setting.velocity_step as f32,
            inflow: centred(&|x, y| if setting.inflow_margin(x, y) >= 0.0 { 1.0 } else { 0.0 }),
            buoyancy: [0, 1].map(|axis| centred(&|x, y| setting.buoyancy_at(x, y)[axis] as f32)),
            scratch: Scratch {
                smoke: zero.clone(),
                traced: zero.clone(),
                lift: [zero.clone(), zero.clone()],
                u: u.clone(),
                v: v.clone(),
                divergence: vec![0.0; width * height],
            },
            smoke: zero,
            u,
            v,
            to_faces: [width, height].map(Midway::new),
            to_centres: [width + 1, height + 1].map(Midway::new),
            centres: [centres(width, 0.0), centres(height, 0.0)],
            faces: [width, height].map(|cells| [vec![0.0], centres(cells - 1, 0.5)].concat()),
            pressure: Pressure::new(width, height),
            solved: true,
        }
    }

    pub fn step(&mut self) {
        self.advect_smoke();
        for (smoke, inflow) in self.smoke.values.iter_mut().zip(&self.inflow.values) {
            *smoke += inflow;
        }
        self.lift();
        self.advect_velocity();
        self.project();
    }

    /// MacCormack with unit time: trace back, trace the result forward, add half the error, and clamp to the four values of the backward
    /// lookup.
    fn advect_smoke(&mut self) {
        let (width, height) = (self.width, self.height);
        let (u, v, smoke, [columns, rows]) = (&self.u, &self.v, &self.smoke, &self.centres);
        let [across_x, across_y] = self.to_centres;
        let traced = |x: usize, y: usize, sign: f32| {
            let across = &u.row(y + 1)[x..x + 2];
            let (vx, vy) = (across_x.mean(across[0], across[1]), across_y.mean(v.row(y)[x + 1], v.row(y + 1)[x + 1]));
            let along =
                |at: f32, speed: f32, cells: usize| Between::new(place(at + speed * sign, 0.0, cells), 0.0, cells);
            (along(columns[x], vx, width), along(rows[y], vy, height))
        };
        let Scratch { smoke: new, traced: back, .. } = &mut self.scratch;
        for y in 0..height {
            for (x, back) in back.row_mut(y).iter_mut().enumerate() {
                let (column, row) = traced(x, y, -1.0);
                *back = smoke.at(column, row);
            }
        }
        for y in 0..height {
            let (row, here, back_row) = (new.row_mut(y), smoke.row(y), back.row(y));
            for x in 0..width {
                let (column, line) = traced(x, y, 1.0);
                let forth = back.at(column, line);
                let (column, line) = traced(x, y, -1.0);
                let [a, b, c, d] = smoke.around(column, line);
                let (least, most) = (a.min(b).min(c.min(d)), a.max(b).max(c.max(d)));
                row[x] = (back_row[x] + 0.5 * (here[x] - forth)).min(most).max(least);
            }
        }
        std::mem::swap(&mut self.smoke, &mut self.scratch.smoke);
    }

    /// Density times buoyancy, at the centres.
    fn lift(&mut self) {
        for (lift, buoyancy) in self.scratch.lift.iter_mut().zip(&self.buoyancy) {
            for ((lift, smoke), b) in lift.values.iter_mut().zip(&self.smoke.values).zip(&buoyancy.values) {
                *lift = smoke * b;
            }
        }
    }

    /// Every inner face takes the velocity from where it came, and the mean lift of its two cells.
    fn advect_velocity(&mut self) {
        let (width, height, back) = (self.width, self.height, -self.velocity_step);
        let (u, v, [columns, rows], [faces_x, faces_y]) = (&self.u, &self.v, &self.centres, &self.faces);
        let ([face_x, face_y], [centre_x, centre_y]) = (self.to_faces, self.to_centres);
        let Scratch { u: new_u, v: new_v, lift: [lift_x, lift_y], .. } = &mut self.scratch;
        for y in 0..height {
            let (row, here, below, above) = (new_u.row_mut(y + 1), u.row(y + 1), v.row(y), v.row(y + 1));
            let lift = lift_x.row(y);
            for x in 1..width {
                let across = centre_y.mean(face_x.mean(below[x], below[x + 1]), face_x.mean(above[x], above[x + 1]));
                let column = place(faces_x[x] + here[x] * back, 0.5, width - 1);
                let line = place(rows[y] + across * back, 0.0, height);
                let from = u.at(Between::new(column, 1.0, width + 1), Between::new(line, 1.0, height + 2));
                row[x] = from + face_x.mean(lift[x - 1], lift[x]);
            }
        }
        for y in 1..height {
            let (row, here, below, above) = (new_v.row_mut(y), v.row(y), u.row(y), u.row(y + 1));
            let (lift_below, lift_above) = (lift_y.row(y - 1), lift_y.row(y));
            for x in 0..width {
                let across = face_y.mean(centre_x.mean(below[x], below[x + 1]), centre_x.mean(above[x], above[x + 1]));
                let column = place(columns[x] + across * back, 0.0, width);
                let line = place(faces_y[y] + here[x + 1] * back, 0.5, height - 1);
                let from = v.at(Between::new(column, 1.0, width + 2), Between::new(line, 1.0, height + 1));
                row[x + 1] = from + face_y.mean(lift_below[x], lift_above[x]);
            }
        }
        std::mem::swap(&mut self.u, &mut self.scratch.u);
        std::mem::swap(&mut self.v, &mut self.scratch.v);
    }

    fn project(&mut self) {
        let mut field = std::mem::take(&mut self.scratch.divergence);
        for (x, column) in field.chunks_exact_mut(self.height).enumerate() {
            for (y, d) in column.iter_mut().enumerate() {
                *d = self.outflow(x, y);
            }
        }
        self.solved = self.pressure.solve(&mut field);
        for (x, column) in field.chunks_exact(self.height).enumerate() {
            if x > 0 {
                let left = &field[(x - 1) * self.height..x * self.height];
                for (y, (here, left)) in column.iter().zip(left).enumerate() {
                    self.u.row_mut(y + 1)[x] -= here - left;
                }
            }
            for (y, pair) in column.windows(2).enumerate() {
                self.v.row_mut(y + 1)[x + 1] -= pair[1] - pair[0];
            }
        }
        self.scratch.divergence = field;
    }

    fn outflow(&self, x: usize, y: usize) -> f32 {
        let u = &self.u.row(y + 1)[x..x + 2];
        (u[1] - u[0]) + (self.v.row(y + 1)[x + 1] - self.v.row(y)[x + 1])
    }

    /// Net outflow of every cell, [height, width].
    pub fn divergence(&self) -> Vec<f32> {
        let cells = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        cells.map(|(x, y)| self.outflow(x, y)).collect()
    }

    /// Density at the centres, [height, width].
    pub fn smoke(&self) -> &[f32] {
        &self.smoke.values
    }

    /// x-velocity on the face left of each cell and on the right wall: [height, width + 1].
    pub fn x_velocity(&self) -> &[f32] {
        let stride = self.u.width;
        &self.u.values[stride..stride * (self.height + 1)]
    }

    /// y-velocity on the face below each cell of a row of the grid, and on the upper wall: `row` 0..=height, of `width` numbers.
    pub fn y_velocity(&self, row: usize) -> &[f32] {
        &self.v.row(row)[1..=self.width]
    }

    /// Whether the last pressure solve reached its tolerance.
    pub fn is_solved(&self) -> bool {
        self.solved
    }

    /// The largest component of the velocity anywhere; NaN if one is.
    pub fn fastest(&self) -> f32 {
        let larger = |most: f32, v: &f32| if v.abs() > most || v.is_nan() { v.abs() } else { most };
        self.v.values.iter().fold(self.u.values.iter().fold(0.0, larger), larger)
    }
}
