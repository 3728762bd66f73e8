//! `Activation`: asks for a test to begin, and answers with the parameters that it will have.

use super::pdu::{OK, Reader, TAIL_BYTES, Writer};
use super::sending_rate::SendingRate;

const ACTIVATION: u16 = 0xACE2;
const BYTES: usize = 63 + TAIL_BYTES;
/// Commands: the client sends the load, or the server does.
pub const UP: u8 = 1;
pub const DOWN: u8 = 2;
/// `rate_index`: the server looks for the rate, rather than holding one.
const SEARCH: u16 = 0xFFFF;
/// Of one test; clients that ask for more are told so.
const MOST_S: u16 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    version: u16,
    pub command: u8,
    response: u8,
    pub low_delay_ms: u16,
    pub high_delay_ms: u16,
    /// Between two status PDUs, the trial interval.
    pub feedback_ms: u16,
    pub duration_s: u16,
    /// 1: the search looks at the one-way delay, not at the round trip.
    pub one_way: u8,
    pub fast_rows: u8,
    /// Trial intervals with congestion after which the search goes one row at a time.
    pub slow_after: u16,
    /// Errors of the sequence in a trial interval that are no congestion yet.
    pub errors_above: u16,
    /// 1: datagrams out of order or twice are no errors of the sequence.
    pub only_losses: u8,
    /// In the response to a test upstream: the rate at which it begins.
    pub rate: SendingRate,
    pub sub_interval_ms: u16,
}

impl Activation {
    /// Values of RFC 9946 that a client may leave to the server.
    pub const USUAL: Activation = Activation {
        version: super::setup::VERSION,
        command: DOWN,
        response: 0,
        low_delay_ms: 30,
        high_delay_ms: 90,
        feedback_ms: 50,
        duration_s: 10,
        one_way: 0,
        fast_rows: 10,
        slow_after: 3,
        errors_above: 10,
        only_losses: 1,
        rate: SendingRate {
            interval1_us: 0,
            payload1: 0,
            burst1: 0,
            interval2_us: 0,
            payload2: 0,
            burst2: 0,
            addon2: 0,
        },
        sub_interval_ms: 1000,
    };

    pub fn parse(data: &[u8]) -> Option<Self> {
        let mut fields = Reader(data);
        if data.len() != BYTES || fields.u16()? != ACTIVATION {
            return None;
        }
        let mut found = Activation::USUAL;
        found.version = fields.u16()?;
        found.command = fields.u8()?;
        found.response = fields.u8()?;
        found.low_delay_ms = fields.u16()?;
        found.high_delay_ms = fields.u16()?;
        found.feedback_ms = fields.u16()?;
        found.duration_s = fields.u16()?;
        fields.skip(4)?; // reserved, traffic class, index of a rate
        found.one_way = fields.u8()?;
        found.fast_rows = fields.u8()?;
        found.slow_after = fields.u16()?;
        found.errors_above = fields.u16()?;
        found.only_losses = fields.u8()?;
        fields.skip(3)?; // modifiers, algorithm, marks
        found.rate = SendingRate::read(&mut fields)?;
        found.sub_interval_ms = fields.u16()?;
        [UP, DOWN].contains(&found.command).then_some(found)
    }

    pub fn pack(&self) -> Vec<u8> {
        let mut fields = Writer::default();
        fields
            .u16(ACTIVATION)
            .u16(self.version)
            .u8(self.command)
            .u8(self.response);
        fields
            .u16(self.low_delay_ms)
            .u16(self.high_delay_ms)
            .u16(self.feedback_ms)
            .u16(self.duration_s);
        fields
            .u8(0)
            .u8(0)
            .u16(SEARCH)
            .u8(self.one_way)
            .u8(self.fast_rows);
        fields
            .u16(self.slow_after)
            .u16(self.errors_above)
            .u8(self.only_losses)
            .u8(0)
            .u8(0)
            .u8(0);
        self.rate.write(&mut fields);
        fields
            .u16(self.sub_interval_ms)
            .u16(0)
            .u16(0)
            .u8(0)
            .with_tail()
    }

    /// What the server answers: values that RFC 9946 does not allow become the usual ones, and what it does not do (a fixed rate,
    /// random content, marks, another algorithm) is left out.
    pub fn granted(&self) -> Self {
        let usual = Activation::USUAL;
        let within = |value: u16, least: u16, most: u16, other: u16| {
            if (least..=most).contains(&value) {
                value
            } else {
                other
            }
        };
        let (low, high) = (self.low_delay_ms, self.high_delay_ms);
        let has_delays = 1 <= low && low <= high && high <= 10_000;
        let duration_s = if self.duration_s == 0 {
            usual.duration_s
        } else {
            self.duration_s
        }
        .min(MOST_S);
        Activation {
            version: self.version,
            command: self.command,
            response: OK,
            low_delay_ms: if has_delays { low } else { usual.low_delay_ms },
            high_delay_ms: if has_delays {
                high
            } else {
                usual.high_delay_ms
            },
            feedback_ms: within(self.feedback_ms, 5, 250, usual.feedback_ms),
            duration_s,
            one_way: if self.one_way <= 1 {
                self.one_way
            } else {
                usual.one_way
            },
            fast_rows: if self.fast_rows > 0 {
                self.fast_rows
            } else {
                usual.fast_rows
            },
            slow_after: if self.slow_after > 0 {
                self.slow_after
            } else {
                usual.slow_after
            },
            errors_above: self.errors_above,
            only_losses: if self.only_losses <= 1 {
                self.only_losses
            } else {
                usual.only_losses
            },
            rate: usual.rate,
            sub_interval_ms: within(self.sub_interval_ms, 100, 10_000, usual.sub_interval_ms)
                .min(1000u16.saturating_mul(duration_s)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_asked_for_what_is_possible_is_granted(mut data in prop::collection::vec(any::<u8>(), BYTES..=BYTES), command in UP..=DOWN) {
            data[..2].copy_from_slice(&ACTIVATION.to_be_bytes());
            data[4] = command;
            let asked = Activation::parse(&data).unwrap();
            let given = asked.granted();
            prop_assert!(1 <= given.low_delay_ms && given.low_delay_ms <= given.high_delay_ms);
            prop_assert!((5..=250).contains(&given.feedback_ms) && (1..=MOST_S).contains(&given.duration_s));
            prop_assert!(given.sub_interval_ms >= 100 && u32::from(given.sub_interval_ms) <= 1000 * u32::from(given.duration_s));
            prop_assert!(given.fast_rows > 0 && given.slow_after > 0 && given.one_way <= 1 && given.only_losses <= 1);
            prop_assert_eq!(given.rate, SendingRate::default());
            prop_assert_eq!(Activation::parse(&given.pack()), Some(given));
            prop_assert_eq!(given.granted(), given);
        }
    }
}
