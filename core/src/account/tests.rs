//! The account of several ports: each frame has an outcome at every port that it goes to, in the order of its arrivals.

use super::*;
use crate::error::Result;
use crate::frame::signature::{MASK_48, unwrap_48};
use crate::port::expected::Expected;
use proptest::prelude::*;
use serde_json::json;

/// One stream of five frames from port 0 to the ports 1 and 2, or to one of them, and a port 3 that receives as well.
fn account(how: &str) -> (Account, Trial) {
    let trial: Trial = serde_json::from_value(json!({
        "first_stream": 7, "duration_ns": 1000, "drain_ns": 0, "interval_ns": 1000, "seed": 0,
        "streams": [{
            "transmit": 0, "receive": 1, how: [2], "timed": true, "table": 0, "frame_bytes": [64],
            "frames_per_second": 1e6, "frames": 5,
        }],
    }))
    .expect("a trial");
    (Account::new(100, &trial, 4, None, Vec::new()), trial)
}

fn intact(sequence: u64, received_ns: u64) -> Arrival {
    Arrival::Intact {
        stream: 7,
        sequence,
        sent_ns: 100 + sequence,
        received_ns,
    }
}

proptest! {
    /// Times of 48 bits that another host wrote are completed by the arrival on that host's clock, however far apart
    /// the two clocks are.
    #[test]
    fn an_arrival_is_told_on_the_clock_of_the_departure(
        sent_ns in 1u64 << 40..1 << 60, latency_ns in 0u64..1 << 40, ahead_ns in -(1i64 << 59)..1 << 59,
    ) {
        let received_ns = (sent_ns + latency_ns).wrapping_add_signed(ahead_ns);
        prop_assume!(received_ns < 1 << 62);
        // As a port here completes it, by its own clock.
        let seen_ns = unwrap_48(sent_ns & MASK_48, received_ns);
        let arrival = Arrival::Intact { stream: 7, sequence: 0, sent_ns: seen_ns, received_ns };
        let told = Arrival::Intact { stream: 7, sequence: 0, sent_ns, received_ns: sent_ns + latency_ns };
        prop_assert_eq!(arrival.as_sent(ahead_ns), told);
    }
}

#[test]
fn a_frame_has_an_outcome_at_each_port_that_it_goes_to() {
    let (mut account, trial) = account("also");
    for (port, sequence, received_ns) in [
        (1, 0, 200),
        (2, 0, 201),
        (2, 0, 202),
        (3, 0, 203),
        (1, 3, 210),
        (2, 4, 220),
    ] {
        account.take(port, port, intact(sequence, received_ns), 0);
    }
    let corrupt = || Arrival::Corrupt {
        stream: 7,
        sequence: 2,
        received_ns: 230,
    };
    account.take(1, 1, corrupt(), 0);
    account.take(3, 3, corrupt(), 0);
    assert_eq!(account.trackers().count(), 2);
    assert_eq!(account.forwarded, 4);
    assert_eq!(account.receivers[3].misdirected, 2);
    assert_eq!(account.receivers[1].misdirected, 0);
    let record = account.finish(&trial, &[5], &[], &[]).remove(0);
    let first = &record.tracked;
    let counts = |own: &crate::account::tracking::Tracked| {
        (
            own.forwarded_frames,
            own.lost_frames,
            own.corrupt.count,
            own.duplicated.count,
        )
    };
    assert_eq!(counts(first), (2, 2, 1, 0));
    assert_eq!(
        (record.first_received_ns, record.last_received_ns),
        (Some(100), Some(110))
    );
    let branch = &record.branches[0];
    assert_eq!((branch.receive, counts(&branch.tracked)), (2, (2, 3, 0, 1)));
    assert_eq!(
        (branch.first_received_ns, branch.last_received_ns),
        (Some(101), Some(120))
    );
}

#[test]
fn a_frame_that_comes_back_to_another_port_is_told_apart_from_one_that_arrived() {
    let (mut account, _) = account("also");
    account.keeps = true;
    let mut account = account.keeping([5].into_iter());
    for (port, sequence) in [(1, 0), (3, 1), (3, 2), (1, 2), (1, 3), (3, 3)] {
        account.take(port, port, intact(sequence, 200), 77);
    }
    // What is in front of the signature there is not what the sender made it for.
    let (stream, received_ns) = (7, 210);
    for sequence in [3, 4] {
        let quoted = Arrival::Corrupt {
            stream,
            sequence,
            received_ns,
        };
        account.take(3, 3, quoted, 77);
    }
    assert_eq!(account.words(), [[77, RETURNED, 77, 77, RETURNED]]);
    assert_eq!(account.receivers[3].misdirected, 5);
}

/// A port at which these arrive.
struct Fake(Vec<Arrival>, Fronts);

impl Receive for Fake {
    fn begin(&mut self, _: &Expected) -> Result<()> {
        Ok(())
    }
    fn drain(&mut self, sink: &mut dyn FnMut(Arrival, u64)) {
        self.0.drain(..).for_each(|arrival| sink(arrival, 0));
    }
    fn delay_ns(&self) -> u64 {
        0
    }
    fn end(&mut self, sink: &mut dyn FnMut(Arrival, u64)) -> u64 {
        self.drain(sink);
        6
    }
    fn fronts(&self) -> &Fronts {
        &self.1
    }
    fn stamp(&self) -> &str {
        "fake"
    }
}

#[test]
fn arrivals_at_several_ports_count_in_the_order_of_their_times() {
    let (mut account, trial) = account("among");
    let port = |number, arrivals| -> (usize, Box<dyn Receive>) {
        (number, Box::new(Fake(arrivals, Fronts::default())))
    };
    let mut ports = [
        port(1, vec![intact(0, 200), Arrival::Foreign, intact(3, 230)]),
        port(2, vec![intact(1, 210), intact(2, 220)]),
    ];
    let watch = Watch::default();
    account.drain(&mut ports, &watch, 220);
    assert_eq!(watch.forwarded.load(Ordering::Relaxed), 2);
    let told = account.end(&mut ports);
    let told = told.iter().map(|own| {
        let counts = (own.foreign_frames, own.tester_dropped_frames);
        (own.port, counts, own.last_received_ns)
    });
    assert_eq!(
        Vec::from_iter(told),
        [(1, (1, 6), Some(130)), (2, (0, 6), Some(120))]
    );
    let record = account.finish(&trial, &[5], &[], &ports).remove(0);
    let own = &record.tracked;
    assert_eq!((own.forwarded_frames, own.reordered.count), (4, 0));
    let stays = record.egress.expect("two ports").stays;
    let stays = stays.iter().map(|stay| (stay.port, stay.frames));
    assert_eq!(Vec::from_iter(stays), [(1, 1), (2, 2), (1, 1)]);
}

#[test]
fn a_frame_that_may_arrive_at_several_ports_counts_at_each_and_is_lost_at_none_of_them() {
    let (mut account, trial) = account("among");
    account.changes = vec![Changes::new(vec![0], 1)];
    for (port, sequence, received_ns) in [
        (1, 0, 200),
        (2, 1, 201),
        (2, 0, 202),
        (3, 2, 203),
        (1, 4, 210),
    ] {
        // At each port frames have another front.
        account.wait(port, port, intact(sequence, received_ns), port as u64);
    }
    account.take_waiting(u64::MAX);
    assert_eq!(account.receivers[3].misdirected, 1);
    let seen = account.changes.remove(0).finish(100, &[]);
    let kinds: Vec<_> = seen.kinds.iter().map(|kind| kind.frames).collect();
    assert_eq!((seen.compared_frames, kinds), (4, vec![2, 2]));
    let record = account.finish(&trial, &[5], &[], &[]).remove(0);
    let own = &record.tracked;
    assert_eq!(
        (own.received_frames, own.forwarded_frames, own.lost_frames),
        (4, 3, 2)
    );
    assert_eq!(own.duplicated.count, 1);
    let egress = record.egress.expect("two ports");
    let arrived: Vec<_> = egress
        .arrived
        .iter()
        .map(|one| (one.port, one.frames))
        .collect();
    assert_eq!(arrived, [(1, 2), (2, 2)]);
}
