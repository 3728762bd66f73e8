//! What a frame costs the tester besides clocks and sockets: signing it, checking it, accounting for it.
//!
//! Prints one JSON object for `benchmarks/speed/accounting.py`: nanoseconds a frame of each repetition, in which all cases
//! take turns. Frames lie in memory; no clock is read inside a timed loop.

use std::collections::{BTreeMap, HashSet};
use std::hint::black_box;
use std::time::Duration;

use _core::account::changes::Changes;
use _core::account::tracking::Tracker;
use _core::frame::signature::{LENGTH, Signature};
use _core::frame::view::{Free, Fronts, Views, view};
use _core::host::kernel_clock::monotonic_ns;
use _core::port::arrival::Arrival;
use _core::port::expected::{Claim, Expected};

const FRAMES: u64 = 1 << 20;
/// Untimed, so that every stream has met its first faults.
const WARM_UP: u64 = 1 << 21;
/// Places for frames, as in a ring of a port.
const SLOTS: usize = 1024;
/// A 64-byte frame without its FCS: Ethernet, IPv4, UDP and the signature.
const FRAME_BYTES: usize = 60;
const CHECKED_FROM: usize = 42;
/// The UDP source port, by which streams differ.
const SOURCE_PORT: std::ops::Range<usize> = 34..36;
/// Line rate of 64-byte frames at 1 Gb/s.
const SPACING_NS: u64 = 672;
const SECOND_NS: u64 = 1_000_000_000;
const STREAMS: [u64; 4] = [1, 10, 100, 1000];
/// Arrivals after which a stream's faults repeat.
const PERIOD: usize = 1 << 13;
const LATENCIES: usize = 1 << 10;
/// Frames that a port signs, or hands over, at a time.
const BATCH: usize = 64;

type Frame = [u8; FRAME_BYTES];

fn main() {
    let repetitions = match std::env::args().nth(1).map(|text| text.parse::<usize>()) {
        None => 15,
        Some(Ok(repetitions)) if repetitions > 0 => repetitions,
        Some(_) => panic!("usage: accounting [REPETITIONS [CASE]]"),
    };
    let wanted = std::env::args().nth(2);
    let inputs = Inputs::new();
    let mut cases: Vec<(String, Box<dyn FnMut() -> Duration>)> = Vec::new();
    let mut add = |name: String, case: Box<dyn FnMut() -> Duration>| {
        if wanted.as_ref().is_none_or(|wanted| name.contains(wanted)) {
            cases.push((name, case));
        }
    };
    add("clock read (clock_gettime)".into(), Box::new(read_clock));
    let mut ring = ring();
    add("patch".into(), Box::new(move || patch(&mut ring)));
    let signed = {
        let mut ring = self::ring();
        patch(&mut ring);
        ring
    };
    let compared = signed.clone();
    add("parse and check".into(), Box::new(move || parse(&signed)));
    add(
        "compare header".into(),
        Box::new(move || compare(&compared)),
    );
    add("loop alone".into(), Box::new(loop_alone(&inputs)));
    for faults in [false, true] {
        let order = inputs.order(faults);
        let suffix = if faults { "0.1 % faults" } else { "in order" };
        for streams in STREAMS {
            let (own, latencies) = (order.clone(), inputs.latencies_ps.clone());
            let name = format!("arrive, {streams} streams, {suffix}");
            add(name, Box::new(move || arrive(streams, &own, &latencies)));
            let (own, latencies) = (order.clone(), inputs.latencies_ps.clone());
            let mut ring = self::ring();
            let name = format!("whole, {streams} streams, {suffix}");
            let case = move || whole::<false>(&mut ring, streams, &own, &latencies);
            add(name, Box::new(case));
            let (own, latencies) = (order.clone(), inputs.latencies_ps.clone());
            let mut ring = self::ring();
            let name = format!("whole and compare, {streams} streams, {suffix}");
            let case = move || whole::<true>(&mut ring, streams, &own, &latencies);
            add(name, Box::new(case));
        }
    }
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for repetition in 0..=repetitions {
        // What is compared takes turns at being first.
        cases.reverse();
        for (name, case) in &mut cases {
            let nanoseconds = case().as_nanos() as f64 / FRAMES as f64;
            // The first round only warms up.
            if repetition > 0 {
                times.entry(name.clone()).or_default().push(nanoseconds);
            }
        }
    }
    println!(
        "{}",
        serde_json::json!({"frames": FRAMES, "ns_per_frame": times})
    );
}

/// What the devices do, made in advance.
struct Inputs {
    latencies_ps: Box<[i64; LATENCIES]>,
}

impl Inputs {
    /// 5 µs, spread over 1 µs, one frame of 256 delayed up to 40 µs.
    fn new() -> Self {
        let mut random = Random(7);
        let latencies_ps = Box::new([0; LATENCIES].map(|_| {
            let tail = if random.next().is_multiple_of(256) {
                random.next() % 40_000
            } else {
                0
            };
            (5_000 + random.next() % 1_000 + tail) as i64 * 1000
        }));
        Inputs { latencies_ps }
    }

    /// Sequence numbers of `PERIOD` arrivals: 0.1 % lost before, 0.1 % behind their successor.
    fn order(&self, faults: bool) -> Order {
        let mut random = Random(11);
        let mut numbers = Vec::with_capacity(PERIOD);
        let mut next = 0;
        while numbers.len() < PERIOD {
            match random.next() % 1000 {
                0 if faults => next += 1,
                1 if faults && numbers.len() + 2 <= PERIOD => {
                    numbers.extend([next + 1, next]);
                    next += 2;
                }
                _ => {
                    numbers.push(next);
                    next += 1;
                }
            }
        }
        let numbers = numbers.into_boxed_slice().try_into().expect("a period");
        Order {
            numbers,
            span: next,
        }
    }
}

#[derive(Clone)]
struct Order {
    numbers: Box<[u64; PERIOD]>,
    span: u64,
}

impl Order {
    fn number(&self, arrival: u64) -> u64 {
        let index = arrival as usize;
        (index / PERIOD) as u64 * self.span + self.numbers[index % PERIOD]
    }
}

fn ring() -> Vec<Frame> {
    vec![[0; FRAME_BYTES]; SLOTS]
}

fn read_clock() -> Duration {
    let started = thread_time();
    for _ in 0..FRAMES {
        black_box(monotonic_ns());
    }
    thread_time() - started
}

fn patch(ring: &mut [Frame]) -> Duration {
    let started = thread_time();
    for sequence in 0..FRAMES {
        let frame = &mut ring[sequence as usize % SLOTS];
        sign(frame, 7, sequence, sequence * SPACING_NS);
        black_box(frame);
    }
    thread_time() - started
}

fn parse(ring: &[Frame]) -> Duration {
    let expected = expected(8, false);
    let started = thread_time();
    for index in 0..FRAMES {
        black_box(expected.classify(&ring[index as usize % SLOTS], 0, 0));
    }
    thread_time() - started
}

/// What a receiver does in addition where changes are watched: the view of each header, looked up and compared.
fn compare(ring: &[Frame]) -> Duration {
    let known = HashSet::from([header(&ring[0])]);
    let mut changes = Changes::new(vec![header(&ring[0])], 1);
    let mut fronts = Fronts::default();
    fronts.begin();
    let started = thread_time();
    for sequence in 0..FRAMES {
        let frame = &ring[sequence as usize % SLOTS];
        let seen = header(frame);
        fronts.meet(seen, frame, FRAME_BYTES, &known);
        black_box(changes.compare(sequence, false, seen, sequence * SPACING_NS));
    }
    thread_time() - started
}

/// The view of a frame's header.
fn header(frame: &Frame) -> u64 {
    view(&frame[..CHECKED_FROM], FRAME_BYTES)
}

/// What the loops around `arrive` and `whole` cost by themselves.
fn loop_alone(inputs: &Inputs) -> impl FnMut() -> Duration + use<> {
    let (order, latencies_ps) = (inputs.order(false), inputs.latencies_ps.clone());
    move || {
        timed(1, |arrival, stream, round| {
            let number = order.number(round + stream * 37);
            let latency_ps = latencies_ps[arrival as usize % LATENCIES];
            black_box((number, latency_ps));
        })
    }
}

fn arrive(streams: u64, order: &Order, latencies_ps: &[i64; LATENCIES]) -> Duration {
    let mut trackers = trackers(streams);
    timed(streams, |arrival, stream, round| {
        // Streams are at different places of the pattern, or the processor would learn it.
        let number = order.number(round + stream * 37);
        let latency_ps = latencies_ps[arrival as usize % LATENCIES];
        trackers[stream as usize].arrive(number, arrival * SPACING_NS, latency_ps);
    })
}

/// As on a wire: a batch is signed, and received once it has left; headers are compared only if that is asked for.
fn whole<const COMPARED: bool>(
    ring: &mut [Frame],
    streams: u64,
    order: &Order,
    latencies_ps: &[i64; LATENCIES],
) -> Duration {
    let mut trackers = trackers(streams);
    let mut batch = [0; BATCH];
    let expected = expected(streams, COMPARED);
    let claims = expected.claims.iter().filter(|_| COMPARED);
    let mut changes: Vec<_> = claims
        .map(|claim| Changes::new(vec![claim.view], streams as usize))
        .collect();
    let mut fronts = Fronts::default();
    fronts.begin();
    timed(streams, |arrival, stream, round| {
        let number = order.number(round + stream * 37);
        let start = arrival as usize % SLOTS / BATCH * BATCH;
        let place = arrival as usize % BATCH;
        let frame = &mut ring[start + place];
        frame[SOURCE_PORT].copy_from_slice(&(stream as u16).to_be_bytes());
        sign(frame, stream as u16, number, arrival * SPACING_NS);
        batch[place] = latencies_ps[arrival as usize % LATENCIES];
        if place < BATCH - 1 {
            return;
        }
        for (frame, latency_ps) in black_box(&ring[start..start + BATCH]).iter().zip(&batch) {
            let mut take = |arrival: &Arrival, seen: Option<u64>| {
                if let Arrival::Intact {
                    stream,
                    sequence,
                    sent_ns,
                    ..
                } = *arrival
                {
                    let index = usize::from(stream);
                    trackers[index].arrive(sequence, sent_ns, *latency_ps);
                    if let Some(seen) = seen {
                        black_box(changes[index].compare(sequence, false, seen, sent_ns));
                    }
                }
            };
            if COMPARED {
                let (arrival, seen) = expected.look(frame, 0, &mut fronts);
                take(&arrival, Some(seen));
            } else {
                take(&expected.classify(frame, 0, 0), None);
            }
        }
    })
}

/// Calls `each(arrival, stream, round)` for streams in turn; what is touched first is touched untimed.
fn timed(streams: u64, mut each: impl FnMut(u64, u64, u64)) -> Duration {
    let (mut stream, mut round) = (0, 0);
    let mut started = thread_time();
    for arrival in 0..WARM_UP + FRAMES {
        if arrival == WARM_UP {
            started = thread_time();
        }
        each(arrival, stream, round);
        stream += 1;
        if stream == streams {
            (stream, round) = (0, round + 1);
        }
    }
    thread_time() - started
}

fn sign(frame: &mut Frame, stream: u16, sequence: u64, sent_ns: u64) {
    let place: &mut [u8; LENGTH] = frame.last_chunk_mut().expect("a frame holds a signature");
    Signature {
        stream,
        sequence,
        sent_ns,
    }
    .emit(place);
}

/// What a port expects of the streams, of whose headers if they are `compared`.
fn expected(streams: u64, compared: bool) -> Expected {
    let claims = (0..streams).map(|stream| {
        let mut frame = [0; FRAME_BYTES];
        frame[SOURCE_PORT].copy_from_slice(&(stream as u16).to_be_bytes());
        Claim {
            least: FRAME_BYTES as u16,
            most: FRAME_BYTES as u16,
            checked_from: CHECKED_FROM as u16,
            view: header(&frame),
            ..Claim::default()
        }
    });
    let claims: Vec<_> = claims.collect();
    let views = compared.then(|| Views {
        window: (CHECKED_FROM as u8).next_multiple_of(8),
        known: claims.iter().map(|claim| claim.view).collect(),
        free: Free::default(),
    });
    Expected {
        first: 0,
        claims,
        views,
        words: None,
    }
}

fn trackers(streams: u64) -> Vec<Tracker> {
    (0..streams).map(|_| Tracker::new(0, SECOND_NS)).collect()
}

/// Processor time of this thread: what other processes take does not count.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid and ours for the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "a thread has a clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Splitmix64: the same inputs every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }
}
