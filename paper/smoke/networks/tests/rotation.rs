//! What is true of the networks for quarter turns.

use super::*;
use crate::smoke::networks::Symmetry::Rotation;

const FRAMES: Frames = Frames { count: 10, side: 8 };

fn network(architecture: Architecture, hidden: usize, layers: usize) -> Built {
    build(Rotation, &config(architecture, hidden, layers), FRAMES, Kind::Float).unwrap()
}

/// ‖f(g x) − g f(x)‖ / ‖f(x)‖ for the quarter turn g.
fn defect(built: &Built) -> f64 {
    let frames = normal(&[2, 20, 8, 8], 3).to_kind(Kind::Float);
    let plain = forecast(built, &frames);
    let difference = forecast(built, &turned_frames(&frames)) - turned_frames(&plain);
    number(difference.norm()) / number(plain.norm())
}

#[test]
fn a_turn_takes_a_vector_at_a_place_where_it_should() {
    // v = (1, 0) at column 2, row 0 of a 3 × 3 frame, that is at (x, y) = (1, −1).
    let frames = Tensor::zeros([1, 2, 3, 3], (Kind::Double, Device::Cpu));
    let _ = frames.get(0).get(0).get(0).get(2).fill_(1.0);
    let after = turned_frames(&frames);
    // (0, 1) at (1, 1).
    assert_eq!((after.double_value(&[0, 1, 2, 2]), number(after.abs().sum(Kind::Double))), (1.0, 1.0));
}

#[test]
fn relaxed_networks_are_equivariant_once_projected_and_not_before() {
    for architecture in [Architecture::Rsteer, Architecture::Rgroup] {
        for (hidden, layers) in [(3, 4), (2, 2)] {
            let mut built = network(architecture, hidden, layers);
            shake(&mut built.1, 0.05);
            let before = defect(&built);
            built.0.project(&mut built.1).unwrap();
            let after = defect(&built);
            assert!(before > 0.01 && after < 1e-5, "{architecture:?}: {before:e} {after:e}");
        }
    }
}

#[test]
fn the_steerable_network_is_equivariant_and_others_are_where_their_free_part_is_zero() {
    for (architecture, free) in
        [(Architecture::Equiv, None), (Architecture::Rpp, Some("dense")), (Architecture::Lift, Some("encoder.2"))]
    {
        let mut built = network(architecture, 4, 4);
        if architecture == Architecture::Equiv {
            shake(&mut built.1, 0.05);
        }
        let (network, parameters) = &built;
        // Running statistics of each field; RPP's, of each channel, do not commute once they have seen data.
        if architecture != Architecture::Rpp {
            let assembled = network.assemble(parameters, TRAIN).unwrap();
            let frames = normal(&[4, 20, 8, 8], 4).to_kind(Kind::Float);
            let _ = network.forward(parameters, &assembled, &frames, TRAIN).unwrap();
        }
        if let Some(free) = free {
            let before = defect(&built);
            assert!(before > 0.01, "{architecture:?}: {before:e}");
            for entry in parameters.entries().iter().filter(|entry| entry.name.starts_with(free)) {
                let _ = parameters.flat().narrow(0, entry.start as i64, entry.len() as i64).zero_();
            }
        }
        let after = defect(&built);
        assert!(after < 1e-5, "{architecture:?}: {after:e}");
    }
}
