//! The far end of a two-ended measurement of a path: a stamped UDP socket that sends and collects trains. It sends only to the
//! peer that it was given.

use std::collections::HashMap;
use std::hint::spin_loop;
use std::io;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use keisoku::chance::{GOLDEN, mix};
use keisoku::host::kernel_clock::monotonic_ns;
use keisoku::stamped_socket::{Kind, Options, Outgoing, Sent, StampedSocket};

use super::probe::{HELLO, Row, Token, Train, least_ip_bytes};
use crate::two_ended::peer::Peer;

/// How long transmit timestamps may be late.
const LATE: Duration = Duration::from_millis(250);
/// From the short packet ahead to one by itself, whose delay must not be that of the short one's handling.
const APART_NS: u64 = 200_000;
/// Packets that are taken together at most.
const MOST_AT_ONCE: usize = 65_536;

pub struct ProbeEnd {
    socket: StampedSocket,
    token: Token,
    of_ipv6: bool,
    draws: u64,
}

impl ProbeEnd {
    /// At any free port if that of `at` is 0.
    pub fn open(at: SocketAddr, token: Token) -> io::Result<Self> {
        let options = Options {
            kind: Kind::Udp,
            bind: at,
            connect: None,
            do_not_fragment: true,
            hardware: false,
            receive_bytes: None,
        };
        Ok(ProbeEnd {
            socket: StampedSocket::open(options, None, None)?,
            token,
            of_ipv6: at.is_ipv6(),
            draws: u64::from_be_bytes(token),
        })
    }

    pub fn port(&self) -> u16 {
        self.socket.address().map_or(0, |address| address.port())
    }

    /// The available timestamps, as text.
    pub fn stamps(&self) -> &str {
        self.socket.stamps()
    }

    /// Packets that the socket had no room for.
    pub fn dropped(&self) -> u64 {
        self.socket.dropped()
    }

    /// How often the time of day was stepped since the socket was opened.
    pub fn clock_steps(&self) -> u64 {
        self.socket.realtime_offset().2
    }

    pub fn of_ipv6(&self) -> bool {
        self.of_ipv6
    }

    /// Sends possible trains, each packet right behind the one before, and waits a random time of `gap_s` on average between
    /// trains, so that nothing periodic is hit or missed each time.
    pub fn send(&mut self, peer: SocketAddr, trains: &[Train], gap_s: f64) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut places = HashMap::new();
        for (position, train) in trains.iter().enumerate() {
            if position > 0 {
                sleep(Duration::from_secs_f64(gap_s * (0.5 + self.draw())));
            }
            for (index, packet) in self.send_one(peer, train).iter().enumerate() {
                if packet.error.is_none() {
                    places.insert(packet.id, rows.len());
                    rows.push(Row::sent(train.number, index, packet));
                }
            }
        }
        self.take_late(&mut rows, &places);
        rows
    }

    /// A short packet goes ahead and is not evaluated: the first one after a pause finds cold caches and sleeping processors on the
    /// whole path, and would be late compared with those that follow.
    fn send_one(&self, peer: SocketAddr, train: &Train) -> Vec<Sent> {
        let ahead = Train {
            number: HELLO,
            ip_bytes: least_ip_bytes(self.of_ipv6),
            count: 1,
        };
        let mut data = ahead.payloads(&self.token, self.of_ipv6);
        data.extend(train.payloads(&self.token, self.of_ipv6));
        let outgoing: Vec<Outgoing<'_>> = data
            .iter()
            .map(|bytes| Outgoing {
                data: bytes,
                destination: Some(peer),
                ttl: None,
            })
            .collect();
        if train.count > 1 {
            return self.socket.send(&outgoing, 0).split_off(1);
        }
        self.socket.send(&outgoing[..1], 0);
        let until_ns = monotonic_ns() + APART_NS;
        while monotonic_ns() < until_ns {
            spin_loop(); // a sleep would be longer, and this processor would be cold
        }
        self.socket.send(&outgoing[1..], 0)
    }

    /// A packet has its stamp when it leaves: behind a queue of this host that is long after it was sent.
    fn take_late(&self, rows: &mut [Row], places: &HashMap<u64, usize>) {
        let mut missing = rows.iter().filter(|row| row.kernel_ns == 0).count();
        let deadline = Instant::now() + LATE;
        while missing > 0 && Instant::now() < deadline {
            let late = self.socket.late_stamps();
            for (id, stamps) in &late {
                if let Some(row) = places.get(id).map(|place| &mut rows[*place])
                    && row.kernel_ns == 0
                {
                    row.kernel_ns = stamps.kernel_ns.unwrap_or(0);
                    row.hardware_ns = stamps.hardware_ns.unwrap_or(0);
                    missing -= 1;
                }
            }
            if late.is_empty() {
                sleep(Duration::from_millis(1));
            }
        }
    }

    /// Reads until so many probes came or the wait is over. Packets of others are ignored.
    pub fn collect(&self, packets: usize, wait: Duration) -> io::Result<Vec<Row>> {
        let mut found = Vec::new();
        let deadline_ns = monotonic_ns() + wait.as_nanos() as u64;
        loop {
            let least = packets.saturating_sub(found.len()).max(1);
            let mut came = Vec::new();
            self.socket
                .receive(deadline_ns, least, MOST_AT_ONCE, false, &mut came)?;
            let ours = came
                .iter()
                .filter_map(|packet| Row::received(&self.token, packet));
            found.extend(ours.filter(|row| row.train != HELLO));
            if found.len() >= packets || monotonic_ns() >= deadline_ns {
                return Ok(found);
            }
        }
    }

    /// Where `host` greets from; `None` if it does not.
    pub fn await_hello(&self, host: Peer, wait: Duration) -> io::Result<Option<SocketAddr>> {
        let deadline_ns = monotonic_ns() + wait.as_nanos() as u64;
        while monotonic_ns() < deadline_ns {
            let mut came = Vec::new();
            self.socket
                .receive(deadline_ns, 1, MOST_AT_ONCE, false, &mut came)?;
            for packet in &came {
                let greets =
                    Row::received(&self.token, packet).is_some_and(|row| row.train == HELLO);
                if let Some(source) = packet
                    .source
                    .filter(|source| greets && Peer::of(*source) == host)
                {
                    return Ok(Some(source));
                }
            }
        }
        Ok(None)
    }

    /// Evenly distributed below 1.
    fn draw(&mut self) -> f64 {
        self.draws = self.draws.wrapping_add(GOLDEN);
        (mix(self.draws) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trains_arrive_whole_behind_a_short_packet_and_their_stamps_are_in_order() {
        let at = "127.0.0.1:0".parse().unwrap();
        let mut sender = ProbeEnd::open(at, [5; 8]).unwrap();
        let receiver = ProbeEnd::open(at, [5; 8]).unwrap();
        let to = receiver.socket.address().unwrap();
        let trains = [(1, 1), (2, 3)].map(|(number, count)| Train {
            number,
            ip_bytes: 1000,
            count,
        });
        let began_ns = monotonic_ns();
        let sent = sender.send(to, &trains, 0.0);
        assert!(monotonic_ns() - began_ns >= APART_NS);
        let came = receiver.collect(4, Duration::from_secs(10)).unwrap();
        let numbers = |rows: &[Row]| rows.iter().map(|row| row.train).collect::<Vec<_>>();
        assert_eq!(numbers(&sent), [1, 2, 2, 2]);
        assert_eq!(numbers(&came), [1, 2, 2, 2]);
        for (left, arrived) in sent.iter().zip(&came) {
            assert!(left.kernel_ns == 0 || left.kernel_ns <= arrived.kernel_ns);
        }
    }
}
