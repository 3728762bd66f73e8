//! `Status`: what a receiver saw since its last status, and in the last complete sub-interval.

use super::pdu::{NO_DELAY, Reader, STOPPING, TAIL_BYTES, Writer};
use super::sending_rate::SendingRate;

const STATUS: u16 = 0xFEED;
const BYTES: usize = 163 + TAIL_BYTES;

/// A whole sub-interval. Delays are variations, above the least so far, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubInterval {
    pub datagrams: u32,
    pub payload_bytes: u64,
    pub lasted_us: u32,
    pub lost: u32,
    pub reordered: u32,
    pub duplicated: u32,
    pub delay_least_ms: u32,
    pub delay_most_ms: u32,
    pub delay_sum_ms: u32,
    pub delays: u32,
    pub rtt_least_ms: u32,
    pub rtt_most_ms: u32,
    /// From the first sub-interval's beginning to the end of this one.
    pub since_ms: u32,
}

impl Default for SubInterval {
    fn default() -> Self {
        SubInterval {
            datagrams: 0,
            payload_bytes: 0,
            lasted_us: 0,
            lost: 0,
            reordered: 0,
            duplicated: 0,
            delay_least_ms: NO_DELAY,
            delay_most_ms: 0,
            delay_sum_ms: 0,
            delays: 0,
            rtt_least_ms: NO_DELAY,
            rtt_most_ms: 0,
            since_ms: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub action: u8,
    /// 1: nothing has come for a second.
    pub stopped: u8,
    pub number: u32,
    /// From a server: the rate that the client is to send at now.
    pub rate: SendingRate,
    /// How many are complete, and the last one.
    pub sub_intervals: u32,
    pub sub_interval: SubInterval,
    pub lost: u32,
    pub reordered: u32,
    pub duplicated: u32,
    /// Least difference of the clocks' readings, arrival minus departure.
    pub clocks_ms: i32,
    pub delay_least_ms: u32,
    pub delay_most_ms: u32,
    pub delay_sum_ms: u32,
    pub delays: u32,
    /// Since the test began.
    pub rtt_least_ms: u32,
    /// The last round trip, above the least.
    pub rtt_over_ms: u32,
    pub least_changed: u8,
    /// Since the last status.
    pub lasted_us: u32,
    pub datagrams: u32,
    pub payload_bytes: u32,
    pub sent_s: u32,
    pub sent_ns: u32,
}

impl Status {
    pub fn pack(&self) -> Vec<u8> {
        let mut fields = Writer::default();
        fields
            .u16(STATUS)
            .u8(self.action)
            .u8(self.stopped)
            .u32(self.number);
        self.rate.write(&mut fields);
        let sub = &self.sub_interval;
        fields
            .u32(self.sub_intervals)
            .u32(sub.datagrams)
            .u64(sub.payload_bytes);
        for value in [
            sub.lasted_us,
            sub.lost,
            sub.reordered,
            sub.duplicated,
            sub.delay_least_ms,
            sub.delay_most_ms,
            sub.delay_sum_ms,
            sub.delays,
            sub.rtt_least_ms,
            sub.rtt_most_ms,
            sub.since_ms,
            self.lost,
            self.reordered,
            self.duplicated,
            self.clocks_ms as u32,
            self.delay_least_ms,
            self.delay_most_ms,
            self.delay_sum_ms,
            self.delays,
            self.rtt_least_ms,
            self.rtt_over_ms,
        ] {
            fields.u32(value);
        }
        fields
            .u8(self.least_changed)
            .u8(0)
            .u16(0)
            .u32(self.lasted_us)
            .u32(self.datagrams);
        fields
            .u32(self.payload_bytes)
            .u32(self.sent_s)
            .u32(self.sent_ns)
            .u16(0)
            .u8(0)
            .with_tail()
    }

    pub fn parse(data: &[u8]) -> Option<Self> {
        let mut fields = Reader(data);
        if data.len() != BYTES || fields.u16()? != STATUS {
            return None;
        }
        let (action, stopped, number) = (fields.u8()?, fields.u8()?, fields.u32()?);
        let rate = SendingRate::read(&mut fields)?;
        let sub_intervals = fields.u32()?;
        let sub_interval = SubInterval {
            datagrams: fields.u32()?,
            payload_bytes: u64::from(fields.u32()?) << 32 | u64::from(fields.u32()?),
            lasted_us: fields.u32()?,
            lost: fields.u32()?,
            reordered: fields.u32()?,
            duplicated: fields.u32()?,
            delay_least_ms: fields.u32()?,
            delay_most_ms: fields.u32()?,
            delay_sum_ms: fields.u32()?,
            delays: fields.u32()?,
            rtt_least_ms: fields.u32()?,
            rtt_most_ms: fields.u32()?,
            since_ms: fields.u32()?,
        };
        let mut found = Status {
            action,
            stopped,
            number,
            rate,
            sub_intervals,
            sub_interval,
            lost: fields.u32()?,
            reordered: fields.u32()?,
            duplicated: fields.u32()?,
            clocks_ms: fields.u32()? as i32,
            delay_least_ms: fields.u32()?,
            delay_most_ms: fields.u32()?,
            delay_sum_ms: fields.u32()?,
            delays: fields.u32()?,
            rtt_least_ms: fields.u32()?,
            rtt_over_ms: fields.u32()?,
            least_changed: fields.u8()?,
            lasted_us: 0,
            datagrams: 0,
            payload_bytes: 0,
            sent_s: 0,
            sent_ns: 0,
        };
        fields.skip(3)?; // reserved
        found.lasted_us = fields.u32()?;
        found.datagrams = fields.u32()?;
        found.payload_bytes = fields.u32()?;
        found.sent_s = fields.u32()?;
        found.sent_ns = fields.u32()?;
        (found.action <= STOPPING && found.stopped <= 1).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_a_status_is_packed_as_it_came(mut data in prop::collection::vec(any::<u8>(), BYTES..=BYTES), action in 0u8..4) {
            data[..4].copy_from_slice(&[0xFE, 0xED, action, 1]);
            match Status::parse(&data) {
                Some(found) => prop_assert_eq!(Status::parse(&found.pack()), Some(found)),
                None => prop_assert!(action > STOPPING),
            }
            prop_assert!(Status::parse(&data[1..]).is_none());
        }
    }
}
