//! Sending rates of UDPSTP: how datagrams of the load leave (RFC 9946, sending rate structure), and a table of them.

use super::pdu::{Reader, Writer};

/// UDP's and IPv4's headers, by which a row's payloads are shorter than its packets.
const IP_BYTES: u32 = 28;
/// By which IPv6's header is longer.
pub const IPV6_MORE_BYTES: u32 = 20;
/// Bit of a payload: a random length up to the rest.
pub const RANDOM: u32 = 0x8000_0000;
pub const PACKET_BYTES: u32 = 1250;
pub const TRADITIONAL_PACKET_BYTES: u32 = 1500;
/// The row from which on the search takes single rows; row n below it is n Mb/s of IP.
pub const HIGH_SPEED: usize = 1000;
const FAST_US: u32 = 100;
const SLOW_US: u32 = 1000;
const IDLE_US: u32 = 50_000;
/// Rows above `HIGH_SPEED`, up to the longest burst that a row may have.
const FAST_ROWS: u32 = 90;

/// Two transmitters with an interval each, after which a burst of datagrams leaves; the second adds one of its own length. A
/// transmitter with interval 0 sends nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendingRate {
    pub interval1_us: u32,
    pub payload1: u32,
    pub burst1: u32,
    pub interval2_us: u32,
    pub payload2: u32,
    pub burst2: u32,
    pub addon2: u32,
}

impl SendingRate {
    pub fn write(&self, fields: &mut Writer) {
        for value in [
            self.interval1_us,
            self.payload1,
            self.burst1,
            self.interval2_us,
            self.payload2,
            self.burst2,
            self.addon2,
        ] {
            fields.u32(value);
        }
    }

    pub fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(SendingRate {
            interval1_us: fields.u32()?,
            payload1: fields.u32()?,
            burst1: fields.u32()?,
            interval2_us: fields.u32()?,
            payload2: fields.u32()?,
            burst2: fields.u32()?,
            addon2: fields.u32()?,
        })
    }
}

/// Rows in ascending order: 0 tries the path with a datagram now and then, row n up to 1000 is n Mb/s of packets of that length, and
/// each further row has one datagram each 100 µs more.
pub fn table(packet_bytes: u32) -> Vec<SendingRate> {
    let payload = packet_bytes - IP_BYTES;
    let mut rows = vec![SendingRate {
        interval2_us: IDLE_US,
        addon2: payload | RANDOM,
        ..SendingRate::default()
    }];
    for mbps in 1..=HIGH_SPEED as u32 {
        // 1 Mb/s is 125 byte in 1 ms.
        let bytes = mbps * 125;
        let (fast, rest) = (bytes / (10 * packet_bytes), bytes % (10 * packet_bytes));
        let (slow, rest) = (rest / packet_bytes, rest % packet_bytes);
        let second = slow > 0 || rest > 0;
        // An addon cannot be shorter than headers, nor is one of the table: 1 Mb/s is 97 byte of payload.
        rows.push(SendingRate {
            interval1_us: if fast > 0 { FAST_US } else { 0 },
            payload1: if fast > 0 { payload } else { 0 },
            burst1: fast,
            interval2_us: if second { SLOW_US } else { 0 },
            payload2: if slow > 0 { payload } else { 0 },
            burst2: slow,
            addon2: rest.saturating_sub(IP_BYTES),
        });
    }
    let most = HIGH_SPEED as u32 * 125 / (10 * packet_bytes);
    rows.extend((1..=FAST_ROWS).map(|more| SendingRate {
        interval1_us: FAST_US,
        payload1: payload,
        burst1: most + more,
        ..SendingRate::default()
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bps(rate: &SendingRate) -> f64 {
        let packet = |payload: u32| {
            if payload > 0 {
                f64::from(payload + IP_BYTES)
            } else {
                0.0
            }
        };
        let mut bytes_per_us = 0.0;
        if rate.interval1_us > 0 {
            bytes_per_us +=
                f64::from(rate.burst1) * packet(rate.payload1) / f64::from(rate.interval1_us);
        }
        if rate.interval2_us > 0 {
            let burst = f64::from(rate.burst2) * packet(rate.payload2) + packet(rate.addon2);
            bytes_per_us += burst / f64::from(rate.interval2_us);
        }
        8e6 * bytes_per_us
    }

    #[test]
    fn each_row_up_to_a_gigabit_has_its_rate_and_those_above_rise() {
        for packet_bytes in [PACKET_BYTES, TRADITIONAL_PACKET_BYTES] {
            let rows = table(packet_bytes);
            assert_eq!(rows.len(), HIGH_SPEED + 1 + FAST_ROWS as usize);
            for (mbps, row) in rows.iter().enumerate().take(HIGH_SPEED + 1).skip(1) {
                assert!((bps(row) - 1e6 * mbps as f64).abs() < 1.0, "{mbps}");
            }
            assert!(
                rows[HIGH_SPEED..]
                    .windows(2)
                    .all(|two| bps(&two[0]) < bps(&two[1]))
            );
            assert!(
                rows.iter()
                    .all(|row| row.burst1 <= 100 && row.burst2 <= 100)
            );
        }
    }
}
