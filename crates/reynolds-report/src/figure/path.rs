//! Lines as SVG paths, with no more points than the eye sees.

use std::fmt::Write as _;

use super::field::Polyline;
use super::svg::number;

/// How far, in points of the sheet, a dropped point may lie from the line.
const TOLERANCE: f64 = 0.06;

/// The lines in the path language, simplified. A line that ends where it begins is closed.
pub(super) fn path(lines: &[Polyline]) -> String {
    let mut out = String::new();
    for line in lines {
        let closed = line.len() > 2 && line.first() == line.last();
        let mut points = simplified(line);
        if closed {
            points.pop();
        }
        for (index, [x, y]) in points.into_iter().map(|point| point.map(number)).enumerate() {
            let command = if index == 0 { "M" } else { "L" };
            // Writing to a string cannot fail.
            let _ = write!(out, "{command}{x} {y}");
        }
        if closed {
            out.push('Z');
        }
    }
    out
}

/// Ramer–Douglas–Peucker: the ends, and of what lies between the farthest point as long as it is far.
fn simplified(line: &[[f64; 2]]) -> Polyline {
    if line.is_empty() {
        return Polyline::new();
    }
    let mut kept = vec![false; line.len()];
    let mut spans = vec![(0, line.len() - 1)];
    while let Some((first, last)) = spans.pop() {
        kept[first] = true;
        kept[last] = true;
        let farthest = (first + 1..last)
            .map(|index| (index, distance(line[index], line[first], line[last])))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, distance)) = farthest
            && distance > TOLERANCE
        {
            spans.extend([(first, index), (index, last)]);
        }
    }
    line.iter().zip(kept).filter_map(|(&point, kept)| kept.then_some(point)).collect()
}

/// From a point to a stretch of line.
fn distance(point: [f64; 2], from: [f64; 2], to: [f64; 2]) -> f64 {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let [px, py] = [point[0] - from[0], point[1] - from[1]];
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { ((px * dx + py * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (px - along * dx).hypot(py - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_stretches_keep_their_ends_and_corners_stay() {
        let line = vec![[0.0, 0.0], [1.0, 0.01], [2.0, 0.0], [2.0, 1.0], [2.0, 2.0]];
        assert_eq!(path(&[line]), "M0 0L2 0L2 2");
    }

    #[test]
    fn a_loop_is_closed_and_a_circle_stays_round() {
        let circle: Polyline =
            (0..=360).map(|k| f64::from(k % 360).to_radians()).map(|a| [50.0 * a.cos(), 50.0 * a.sin()]).collect();
        let points = simplified(&circle);
        assert!((30..120).contains(&points.len()), "{}", points.len());
        for pair in points.windows(2) {
            let middle = [(pair[0][0] + pair[1][0]) / 2.0, (pair[0][1] + pair[1][1]) / 2.0];
            assert!(50.0 - middle[0].hypot(middle[1]) < 0.1);
        }
        let text = path(&[circle]);
        assert!(text.starts_with("M50 0L") && text.ends_with('Z'));
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(path(&[]), "");
        assert_eq!(path(&[Vec::new(), vec![[1.0, 2.0]]]), "M1 2");
    }
}
