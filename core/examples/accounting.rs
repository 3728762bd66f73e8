//! What a frame costs the tester besides clocks and sockets: signing it, checking it, accounting for it.
//!
//! Prints one JSON object for `benchmarks/accounting.py`: nanoseconds a frame, medians over repetitions
//! in which all cases take turns. Frames lie in memory; no clock is read inside a timed loop.

use std::collections::{BTreeMap, HashSet};
use std::hint::black_box;
use std::time::Duration;

use _core::changes::Changes;
use _core::clock::monotonic_ns;
use _core::signature::{LENGTH, Parsed, Signature, balanced};
use _core::tracking::Tracker;
use _core::view::{Fronts, view};

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
        Some(_) => panic!("usage: accounting [REPETITIONS]"),
    };
    let inputs = Inputs::new();
    let mut cases: Vec<(String, Box<dyn FnMut() -> Duration>)> = Vec::new();
    let mut add = |name: String, case: Box<dyn FnMut() -> Duration>| cases.push((name, case));
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
        for (name, case) in &mut cases {
            let nanoseconds = case().as_nanos() as f64 / FRAMES as f64;
            // The first round only warms up.
            if repetition > 0 {
                times.entry(name.clone()).or_default().push(nanoseconds);
            }
        }
    }
    let medians: BTreeMap<_, _> = times
        .into_iter()
        .map(|(name, mut values)| {
            values.sort_by(f64::total_cmp);
            (name, values[values.len() / 2])
        })
        .collect();
    println!(
        "{}",
        serde_json::json!({"repetitions": repetitions, "frames": FRAMES, "ns_per_frame": medians})
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
    let started = thread_time();
    for index in 0..FRAMES {
        black_box(check(&ring[index as usize % SLOTS]));
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
    let expected = (0..if COMPARED { streams } else { 0 }).map(|stream| {
        let mut frame = [0; FRAME_BYTES];
        frame[SOURCE_PORT].copy_from_slice(&(stream as u16).to_be_bytes());
        header(&frame)
    });
    let expected: Vec<u64> = expected.collect();
    let known = expected.iter().copied().collect::<HashSet<_>>();
    let mut changes: Vec<_> = expected
        .into_iter()
        .map(|view| Changes::new(vec![view], streams as usize))
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
            if let Some(claim) = check(frame) {
                let tracker = &mut trackers[usize::from(claim.stream)];
                tracker.arrive(claim.sequence, claim.sent_ns, *latency_ps);
                if COMPARED {
                    let seen = header(frame);
                    fronts.meet(seen, frame, FRAME_BYTES, &known);
                    let own = &mut changes[usize::from(claim.stream)];
                    black_box(own.compare(claim.sequence, false, seen, claim.sent_ns));
                }
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

/// What a receiver does before it knows whose frame this is.
fn check(frame: &Frame) -> Option<Signature> {
    let place: &[u8; LENGTH] = frame.last_chunk().expect("a frame holds a signature");
    match Signature::parse(place) {
        Parsed::Intact(claim) if balanced(&frame[CHECKED_FROM..]) => Some(claim),
        _ => None,
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
