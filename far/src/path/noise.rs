//! Noise of this host's timestamps for each source of time, measured with packets over its own loopback
//! (`keisoku/subjects/path/stamp_noise.py` does the same at the near end).

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use keisoku::host::kernel_clock::monotonic_ns;
use keisoku::stamped_socket::{Kind, Options, Outgoing, StampedSocket};

const PACKETS: u32 = 200;
const BYTES: usize = 1000;
const GAP: Duration = Duration::from_micros(500);
const SILENCE_NS: u64 = 200_000_000;
/// Of a normal distribution.
const PER_QUARTILE_RANGE: f64 = 1.349;

/// The stamps of one packet at one end, by source of time; 0 where there is none.
type Stamps = [u64; 4];
/// Names of the sources, and the resolution of their numbers in ns.
const SOURCES: [(&str, f64); 4] = [
    ("user-gettimeofday", 1000.0),
    ("user-tsc", 1.0),
    ("kernel", 1.0),
    ("hardware", 1.0),
];

/// Standard deviation of one stamp in ns for each source of time; empty where there is no loopback.
///
/// Robust: from the interquartile range of the delays, without outliers. Half of the variance is the sender's, and the rounding of
/// a source is added. The receiver sleeps until a packet comes, as a receiver with user timestamps does.
pub fn stamp_noise(of_ipv6: bool) -> BTreeMap<&'static str, f64> {
    let loopback: IpAddr = if of_ipv6 {
        Ipv6Addr::LOCALHOST.into()
    } else {
        Ipv4Addr::LOCALHOST.into()
    };
    let open = || {
        let options = Options {
            kind: Kind::Udp,
            bind: SocketAddr::new(loopback, 0),
            connect: None,
            do_not_fragment: false,
            hardware: false,
            receive_bytes: None,
        };
        StampedSocket::open(options, None, None)
    };
    let (Ok(sender), Ok(receiver)) = (open(), open()) else {
        return BTreeMap::new();
    };
    let Ok(to) = receiver.address() else {
        return BTreeMap::new();
    };
    let (sent, received) = thread::scope(|scope| {
        let listening = scope.spawn(|| listen(&receiver));
        (send(&sender, to), listening.join().unwrap_or_default())
    });
    noise_of(&sent, &received)
}

fn send(sender: &StampedSocket, to: SocketAddr) -> HashMap<u32, Stamps> {
    let mut sent = HashMap::new();
    for number in 0..PACKETS {
        let mut data = number.to_be_bytes().to_vec();
        data.resize(4 + BYTES, 0);
        let packet = Outgoing {
            data: &data,
            destination: Some(to),
            ttl: None,
        };
        for one in sender.send(&[packet], 20_000_000) {
            let (kernel, hardware) = (one.kernel_ns.unwrap_or(0), one.hardware_ns.unwrap_or(0));
            sent.insert(
                number,
                stamps(
                    one.user.realtime_ns,
                    one.user.monotonic_ns,
                    kernel,
                    hardware,
                ),
            );
        }
        thread::sleep(GAP);
    }
    sent
}

/// Asleep when a packet comes, as a program is that measures: packets that already wait cost no waking.
fn listen(receiver: &StampedSocket) -> HashMap<u32, Stamps> {
    let mut received = HashMap::new();
    let mut heard_ns = monotonic_ns();
    while received.len() < PACKETS as usize && monotonic_ns() < heard_ns + SILENCE_NS {
        let mut came = Vec::new();
        if receiver
            .receive(
                monotonic_ns() + SILENCE_NS,
                1,
                PACKETS as usize,
                false,
                &mut came,
            )
            .is_err()
        {
            break;
        }
        for packet in &came {
            heard_ns = monotonic_ns();
            if let Some(&[a, b, c, d]) = packet.data.get(..4) {
                let (kernel, hardware) = (
                    packet.kernel_ns.unwrap_or(0),
                    packet.hardware_ns.unwrap_or(0),
                );
                let seen = stamps(
                    packet.user.realtime_ns,
                    packet.user.monotonic_ns,
                    kernel,
                    hardware,
                );
                received.insert(u32::from_be_bytes([a, b, c, d]), seen);
            }
        }
    }
    received
}

fn stamps(realtime_ns: u64, monotonic_ns: u64, kernel_ns: u64, hardware_ns: u64) -> Stamps {
    [
        realtime_ns / 1000 * 1000,
        monotonic_ns,
        kernel_ns,
        hardware_ns,
    ]
}

fn noise_of(
    sent: &HashMap<u32, Stamps>,
    received: &HashMap<u32, Stamps>,
) -> BTreeMap<&'static str, f64> {
    let mut noise = BTreeMap::new();
    for (place, (source, resolution_ns)) in SOURCES.into_iter().enumerate() {
        let both = sent
            .iter()
            .filter_map(|(number, left)| Some((left[place], received.get(number)?[place])));
        let mut delays: Vec<f64> = both
            .filter(|(left, came)| *left > 0 && *came > 0)
            .map(|(left, came)| came as f64 - left as f64)
            .collect();
        if delays.len() < PACKETS as usize / 2 {
            continue;
        }
        delays.sort_by(f64::total_cmp);
        let spread =
            (quantile(&delays, 0.75) - quantile(&delays, 0.25)) / PER_QUARTILE_RANGE / 2f64.sqrt();
        noise.insert(source, spread.hypot(resolution_ns / 12f64.sqrt()));
    }
    noise
}

/// On a line between the two values around it, of values in order.
fn quantile(values: &[f64], part: f64) -> f64 {
    let at = part * (values.len() - 1) as f64;
    let (below, above) = (values[at.floor() as usize], values[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_is_that_of_the_quartiles_with_the_rounding() {
        // Delays of 0, 10, … 1990 ns: their interquartile range is 995 ns.
        let sent = (0..200)
            .map(|number| (number, [1000, 1000, 1000, 0]))
            .collect();
        let came = (0..200u64)
            .map(|number| {
                (
                    number as u32,
                    [1000, 1000 + 10 * number, 1000 + 10 * number, 0],
                )
            })
            .collect();
        let noise = noise_of(&sent, &came);
        let expected = (995.0 / 1.349 / 2f64.sqrt()).hypot(1.0 / 12f64.sqrt());
        assert!((noise["kernel"] - expected).abs() < 1e-6);
        assert!((noise["user-gettimeofday"] - 1000.0 / 12f64.sqrt()).abs() < 1e-6);
        assert!(!noise.contains_key("hardware"));
    }

    #[test]
    fn this_host_has_some_noise() {
        let noise = stamp_noise(false);
        assert!(noise["user-tsc"] > 0.0 && noise.contains_key("kernel"));
    }
}
