//! The pace of the core while each batch was sent: how long a piece of work took before and after it.
//!
//! A core has several speeds: with a boost, without one, and slower by a third or more while another hardware thread of
//! it works (`hiccup/speed.rs`). It judges none of them.

use std::collections::BTreeMap;

use crate::hiccup::speed::Piece;
use crate::port::bpf::layout::BatchTime;
use crate::port::transmit::PacedBatches;

/// Two pieces of work had one pace if their times differ by at most this part of the shorter one.
const ONE_PACE: u64 = 32;
/// Paces are told in steps of so many ns, which is 0.4 % of one: so there are fewer of them.
const PACE_STEP_NS: u64 = 8;

/// The batches by their pace: that of the pieces of work before and after each.
pub fn paced(batches: impl Iterator<Item = BatchTime>, pieces: &[Piece]) -> Vec<PacedBatches> {
    let mut counts = BTreeMap::new();
    for batch in batches {
        let after = pieces.partition_point(|piece| piece.begun_ns <= batch.begun_ns);
        let around = (after.checked_sub(1)).and_then(|before| pieces.get(before..=after));
        let pace_ns = around.map_or(0, |pair| one_pace(pair[0].took_ns, pair[1].took_ns));
        *counts.entry((pace_ns, batch.took_ns)).or_insert(0) += 1;
    }
    counts
        .into_iter()
        .map(|((pace_ns, took_ns), count)| (pace_ns, took_ns, count))
        .collect()
}

/// Zero if the two times are of different paces.
fn one_pace(before_ns: u64, after_ns: u64) -> u64 {
    if before_ns.abs_diff(after_ns) > before_ns.min(after_ns) / ONE_PACE {
        return 0;
    }
    (before_ns + after_ns) / 2 / PACE_STEP_NS * PACE_STEP_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_the_pace_of_the_work_around_it() {
        let piece = |begun_ns, took_ns| Piece { begun_ns, took_ns };
        let pieces = [
            piece(100, 2240),
            piece(200, 2250),
            piece(300, 3100),
            piece(400, 3104),
        ];
        let batch = |begun_ns, took_ns| BatchTime { begun_ns, took_ns };
        let times = [
            batch(50, 7),
            batch(150, 5),
            batch(160, 5),
            batch(250, 6),
            batch(350, 8),
            batch(450, 9),
        ];
        assert_eq!(
            paced(times.into_iter(), &pieces),
            [(0, 6, 1), (0, 7, 1), (0, 9, 1), (2240, 5, 2), (3096, 8, 1)]
        );
        assert_eq!(paced([batch(1, 2)].into_iter(), &[]), [(0, 2, 1)]);
    }
}
