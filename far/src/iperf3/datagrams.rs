//! Datagrams of iperf3: a time and a number at the front; and what a receiver makes of those that come.

use std::time::Duration;

/// What a client sends first on each stream, and what is answered; in the byte order of the hosts. Older clients have others.
pub const HELLOS: [(u32, u32); 2] = [(0x3637_3839, 0x3938_3736), (123_456_789, 987_654_321)];

/// Writes the head of datagram `number`, which begins with 1.
pub fn write_head(room: &mut [u8], since: Duration, number: u64, number_bytes: usize) {
    room[..4].copy_from_slice(&(since.as_secs() as u32).to_be_bytes());
    room[4..8].copy_from_slice(&since.subsec_micros().to_be_bytes());
    let number = number.to_be_bytes();
    room[8..8 + number_bytes].copy_from_slice(&number[8 - number_bytes..]);
}

/// Of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Received {
    pub bytes: u64,
    /// The highest number that came, and how many below it did not.
    pub packets: u64,
    pub lost: u64,
    /// RFC 1889 §6.3.1, in s.
    pub jitter_s: f64,
    transit_s: Option<f64>,
}

impl Received {
    /// Takes a datagram that came then.
    pub fn take(&mut self, datagram: &[u8], now: Duration, number_bytes: usize) {
        if datagram.len() < 8 + number_bytes {
            return;
        }
        let word = |at: usize| {
            u32::from_be_bytes([
                datagram[at],
                datagram[at + 1],
                datagram[at + 2],
                datagram[at + 3],
            ])
        };
        let number = match number_bytes {
            8 => (u64::from(word(8)) << 32) | u64::from(word(12)),
            _ => u64::from(word(8)),
        };
        self.bytes += datagram.len() as u64;
        if number > self.packets {
            self.lost += number - self.packets - 1;
            self.packets = number;
        } else {
            self.lost = self.lost.saturating_sub(1);
        }
        let transit_s = now.as_secs_f64() - f64::from(word(0)) - f64::from(word(4)) / 1e6;
        if let Some(before_s) = self.transit_s.replace(transit_s) {
            self.jitter_s += ((transit_s - before_s).abs() - self.jitter_s) / 16.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_come_is_lost_and_what_comes_late_is_not() {
        for number_bytes in [4, 8] {
            let mut received = Received::default();
            for number in [1, 2, 5, 4, 6] {
                let mut datagram = [0; 100];
                let sent = Duration::from_millis(number);
                write_head(&mut datagram, sent, number, number_bytes);
                received.take(&datagram, sent + Duration::from_secs(3), number_bytes);
            }
            assert_eq!(
                (received.packets, received.lost, received.bytes),
                (6, 1, 500)
            );
            assert!(received.jitter_s < 1e-5);
            received.take(&[0; 7], Duration::ZERO, number_bytes);
            assert_eq!(received.packets, 6);
        }
    }
}
