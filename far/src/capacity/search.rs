//! Search for the sending rate: algorithm B of ITU-T Y.1540 Annex B and RFC 9097 §8.1. It does no I/O.

use super::activation::Activation;
use super::pdu::NO_DELAY;
use super::sending_rate::HIGH_SPEED;
use super::status::Status;

/// Steps of `fast_rows` that the search goes back at the first congestion.
const BACK: usize = 3;

/// The row of a table, by what the receiver says. It climbs fast until congestion has been seen for some trial intervals, falls back
/// once, and then goes row by row.
pub struct RateSearch {
    parameters: Activation,
    rows: usize,
    row: usize,
    congested: u16,
}

impl RateSearch {
    pub fn new(parameters: Activation, rows: usize) -> Self {
        RateSearch {
            parameters,
            rows,
            row: 0,
            congested: 0,
        }
    }

    /// The row after a trial interval.
    pub fn after(&mut self, status: &Status) -> usize {
        let asked = &self.parameters;
        let others = if asked.only_losses == 1 {
            0
        } else {
            u64::from(status.reordered) + u64::from(status.duplicated)
        };
        let has_errors = u64::from(status.lost) + others > u64::from(asked.errors_above);
        let delay_ms = self.delay_ms(status);
        let (fast, step) = (self.row < HIGH_SPEED, usize::from(asked.fast_rows));
        if !has_errors && delay_ms < f64::from(asked.low_delay_ms) {
            if fast && self.congested < asked.slow_after {
                self.row = (self.row + step).min(HIGH_SPEED);
                self.congested = 0;
            } else {
                self.row = (self.row + 1).min(self.rows - 1);
            }
        } else if has_errors || delay_ms > f64::from(asked.high_delay_ms) {
            self.congested = self.congested.saturating_add(1);
            let falls = fast && self.congested == asked.slow_after;
            self.row = self.row.saturating_sub(if falls { BACK * step } else { 1 });
        }
        self.row
    }

    /// The delay above the least; where nothing is known, one at which the row stays.
    fn delay_ms(&self, status: &Status) -> f64 {
        let stays = f64::from(self.parameters.low_delay_ms);
        if self.parameters.one_way == 1 {
            match status.delays {
                0 => stays,
                count => f64::from(status.delay_sum_ms) / f64::from(count),
            }
        } else {
            match status.rtt_over_ms {
                NO_DELAY => stays,
                over_ms => f64::from(over_ms),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::sending_rate::{PACKET_BYTES, table};

    fn status(lost: u32, rtt_over_ms: u32) -> Status {
        Status {
            lost,
            rtt_over_ms,
            ..Status::parse(&{
                let mut data = vec![0; 204];
                data[..2].copy_from_slice(&[0xFE, 0xED]);
                data
            })
            .unwrap()
        }
    }

    #[test]
    fn it_climbs_by_ten_falls_back_once_by_thirty_and_then_goes_by_one() {
        let mut search = RateSearch::new(Activation::USUAL, table(PACKET_BYTES).len());
        let rows: Vec<usize> = (0..5).map(|_| search.after(&status(0, 0))).collect();
        assert_eq!(rows, [10, 20, 30, 40, 50]);
        // Between the delays nothing changes, nor where no delay is known.
        assert_eq!(search.after(&status(0, 50)), 50);
        assert_eq!(search.after(&status(0, NO_DELAY)), 50);
        let rows: Vec<usize> = [status(11, 0), status(0, 91), status(11, 0)]
            .iter()
            .map(|one| search.after(one))
            .collect();
        assert_eq!(rows, [49, 48, 18]);
        assert_eq!(search.after(&status(10, 29)), 19);
        assert_eq!(search.after(&status(11, 29)), 18);
    }

    #[test]
    fn it_stays_within_the_table() {
        let rows = table(PACKET_BYTES).len();
        let mut search = RateSearch::new(Activation::USUAL, rows);
        assert_eq!(search.after(&status(99, 0)), 0);
        let last = (0..300).map(|_| search.after(&status(0, 0))).last();
        assert_eq!(last, Some(rows - 1));
    }
}
