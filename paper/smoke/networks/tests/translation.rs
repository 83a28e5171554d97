//! What is true of the networks for shifts, away from the border, where the padding is zero.

use super::*;
use crate::smoke::networks::Symmetry::Translation;

/// max |f(g x) − g f(x)| / max |f(x)| for a shift g, where neither the border nor what wraps around is seen; and the same everywhere.
fn defects(built: &Built, channels: i64) -> [f64; 2] {
    let frames = normal(&[2, channels, 16, 16], 5).to_kind(Kind::Float);
    let (here, there) = (forecast(built, &frames).roll([1, 2], [2, 3]), forecast(built, &frames.roll([1, 2], [2, 3])));
    // Four layers see four pixels far, and rows and columns wrap around by one and two.
    let inside = there.narrow(2, 5, 7).narrow(3, 6, 6) - here.narrow(2, 5, 7).narrow(3, 6, 6);
    [largest(inside) / largest(&here), largest(&there - &here) / largest(&here)]
}

#[test]
fn a_projected_relaxed_network_commutes_with_shifts_away_from_the_border() {
    let frames = Frames { count: 1, side: 16 };
    let mut built = build(Translation, &config(Architecture::Rgroup, 2, 4), frames, Kind::Float).unwrap();
    shake(&mut built.1, 0.3);
    let [before, _] = defects(&built, 2);
    built.0.project(&mut built.1).unwrap();
    let [after, _] = defects(&built, 2);
    assert!(before > 1e-2 && after < 1e-5, "{before:e} {after:e}");
}
