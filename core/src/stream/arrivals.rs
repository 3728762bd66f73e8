//! `Arrivals`: how many bytes of a flow had arrived at which time, and from it the rate of several flows in one window.
//!
//! Bytes count when they reached this host, not when a thread read them: on a busy host a thread reads late, and what
//! waited in the socket would be credited to the time after. All flows of a direction are counted in one window, as a
//! sum of rates over windows of their own may exceed what the link carries. It reads no clock.
//!
//! While segments of TCP wait for an earlier one that was lost, nobody says how many bytes they hold. Their number is
//! known, and once the lost one has come, so are the bytes of all of them together: the bytes are then spread over the
//! times at which the segments arrived. So no time has more bytes than segments, and no sum is above the link's rate.

/// At most so many points are kept: with twice the gap, every second one is left out.
const MOST: usize = 4096;
/// In so many parts of a window bytes are counted, which shows how much their rate varies.
pub const PARTS: usize = 10;
/// The first gap.
const GAP_NS: u64 = 1_000_000;
/// Two readings that are further apart are of different times: the thread was away in between.
pub const TIGHT_NS: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    /// Since an origin that all flows share.
    at_ns: u64,
    /// All that had arrived by then.
    bytes: u64,
}

#[derive(Clone, Debug)]
pub struct Arrivals {
    points: Vec<Point>,
    gap_ns: u64,
    /// Segments that had arrived at the last point.
    segments: u32,
    /// Since then, while segments wait for a lost one: times, and segments that had arrived since the last point.
    unknown: Vec<(u64, u32)>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals {
            points: Vec::new(),
            gap_ns: GAP_NS,
            segments: 0,
            unknown: Vec::new(),
        }
    }
}

impl Arrivals {
    /// True if the last point is so old that another is wanted.
    pub fn due(&self, now_ns: u64) -> bool {
        let last = self.unknown.last().map(|(at_ns, _)| *at_ns);
        last.or(self.last_ns())
            .is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= self.gap_ns)
    }

    /// Adds a point at which some segments wait for a lost one: `segments` is how many have arrived since the
    /// connection began, whatever is in them.
    pub fn note_segments(&mut self, at_ns: u64, segments: u32) {
        if self.points.is_empty() {
            return;
        }
        if self.unknown.len() == MOST {
            halve(&mut self.unknown);
            self.gap_ns = self.gap_ns.saturating_mul(2);
        }
        self.unknown
            .push((at_ns, segments.wrapping_sub(self.segments)));
    }

    /// Adds a point at which no segment waits for a lost one, and those before it whose bytes are known by now.
    ///
    /// `segments` were counted at `counted_ns`. If that is late, those that came in between would be taken for none, and
    /// their bytes be credited to the segments after them: such a point is left out.
    pub fn note_all(&mut self, at_ns: u64, bytes: u64, counted_ns: u64, segments: u32) {
        if counted_ns.saturating_sub(at_ns) > TIGHT_NS {
            return;
        }
        let since = segments.wrapping_sub(self.segments);
        let unknown = std::mem::take(&mut self.unknown);
        if let Some(last) = self.points.last().copied() {
            let new = bytes.saturating_sub(last.bytes);
            for (then_ns, count) in unknown {
                if then_ns < at_ns && count <= since && since > 0 {
                    let part = u128::from(new) * u128::from(count) / u128::from(since);
                    self.note(then_ns, last.bytes + part as u64);
                }
            }
        }
        self.note(at_ns, bytes);
        self.segments = segments;
    }

    /// Adds a point, if neither its time nor its bytes go back.
    pub fn note(&mut self, at_ns: u64, bytes: u64) {
        if let Some(last) = self.points.last()
            && (at_ns <= last.at_ns || bytes < last.bytes)
        {
            return;
        }
        if self.points.len() == MOST {
            halve(&mut self.points);
            self.gap_ns = self.gap_ns.saturating_mul(2);
        }
        self.points.push(Point { at_ns, bytes });
    }

    /// Leaves out the time after the last arrival, once all `bytes` are known: of the points that hold them all none is
    /// needed where an earlier one is left to count to, as the last byte arrived at some time before the first of them.
    /// Nor does a silence before the last segments count, in which a sender that has ended waits to repeat them.
    pub fn cut(&mut self, bytes: u64) {
        let needless = |points: &[Point]| match points {
            [_, .., before, last] => last.bytes >= bytes || last.bytes == before.bytes,
            _ => false,
        };
        while needless(&self.points) {
            self.points.pop();
        }
    }

    fn first_ns(&self) -> Option<u64> {
        self.points.first().map(|point| point.at_ns)
    }

    fn last_ns(&self) -> Option<u64> {
        self.points.last().map(|point| point.at_ns)
    }

    /// Bytes that had arrived at a time, on a line between two points.
    fn bytes_at(&self, at_ns: u64) -> f64 {
        let after = self.points.partition_point(|point| point.at_ns <= at_ns);
        let Some(before) = after.checked_sub(1).map(|place| self.points[place]) else {
            return self.points.first().map_or(0.0, |first| first.bytes as f64);
        };
        let Some(next) = self.points.get(after) else {
            return before.bytes as f64;
        };
        let part = (at_ns - before.at_ns) as f64 / (next.at_ns - before.at_ns) as f64;
        before.bytes as f64 + part * (next.bytes - before.bytes) as f64
    }

    /// Bytes that arrived between the two points around a time: so far the line between them may be from the truth. 0 at
    /// a point.
    fn doubted(&self, at_ns: u64) -> u64 {
        let after = self.points.partition_point(|point| point.at_ns < at_ns);
        match (after.checked_sub(1), self.points.get(after)) {
            (_, Some(next)) if next.at_ns == at_ns => 0,
            (Some(before), Some(next)) => next.bytes - self.points[before].bytes,
            _ => 0,
        }
    }
}

/// Leaves out every second one.
fn halve<T>(points: &mut Vec<T>) {
    let mut place = 0;
    points.retain(|_| {
        place += 1;
        place % 2 == 1
    });
}

/// Bytes of each flow that arrived in each of `PARTS` equal parts of a window, and its length in ns, the same for all:
/// from `warm_up_ns` after all have begun until the first has ended. Where there is no such time, it is from the first
/// point of any flow to the last one.
pub fn in_one_window(flows: &[&Arrivals], warm_up_ns: u64) -> (Vec<[u64; PARTS]>, u64) {
    let begun: Vec<&Arrivals> = flows
        .iter()
        .copied()
        .filter(|flow| flow.points.len() > 1)
        .collect();
    let whole = || {
        let from = flows.iter().filter_map(|flow| flow.first_ns()).min()?;
        let until = flows.iter().filter_map(|flow| flow.last_ns()).max()?;
        Some((from, until))
    };
    let Some((from, until)) = shared(&begun, warm_up_ns).or_else(whole) else {
        return (vec![[0; PARTS]; flows.len()], 0);
    };
    let ends: [u64; PARTS + 1] =
        std::array::from_fn(|part| from + (until - from) * part as u64 / PARTS as u64);
    let bytes = flows
        .iter()
        .map(|flow| {
            // Rounded before they are subtracted, so that the parts add up to the whole.
            let by = ends.map(|at_ns| flow.bytes_at(at_ns).round() as u64);
            std::array::from_fn(|part| by[part + 1] - by[part])
        })
        .collect();
    (bytes, until - from)
}

/// The window in which all flows were there. It begins and ends at times, of the first and the last quarter, at which it
/// is best known of all of them together what had arrived: each has points of its own, and hardly any while its thread
/// waits for a CPU or segments wait for one that was lost.
fn shared(flows: &[&Arrivals], warm_up_ns: u64) -> Option<(u64, u64)> {
    let from = flows.iter().filter_map(|flow| flow.first_ns()).max()? + warm_up_ns;
    let until = flows.iter().filter_map(|flow| flow.last_ns()).min()?;
    let quarter = until.checked_sub(from)? / 4;
    let densest = flows.iter().max_by_key(|flow| flow.points.len())?;
    let doubted = |at_ns: u64| flows.iter().map(|flow| flow.doubted(at_ns)).sum::<u64>();
    let times = |least: u64, most: u64| {
        let mut times: Vec<u64> = densest.points.iter().map(|point| point.at_ns).collect();
        times.retain(|at_ns| (least..=most).contains(at_ns));
        times
    };
    let best = |times: Vec<u64>| times.into_iter().min_by_key(|at_ns| doubted(*at_ns));
    let begin = best(times(from, from + quarter))?;
    let end = best(times(until - quarter, until).into_iter().rev().collect())?;
    (begin < end).then_some((begin, end))
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, MOST, PARTS, in_one_window};

    fn steady(from_ms: u64, until_ms: u64, bytes_per_ms: u64) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for ms in from_ms..=until_ms {
            arrivals.note(ms * 1_000_000, (ms - from_ms + 1) * bytes_per_ms);
        }
        arrivals
    }

    fn rate(flows: &[&Arrivals], warm_up_ms: u64) -> f64 {
        let (bytes, ns) = in_one_window(flows, warm_up_ms * 1_000_000);
        bytes.iter().flatten().sum::<u64>() as f64 * 1e6 / ns as f64
    }

    #[test]
    fn a_steady_flow_has_its_rate_after_any_warm_up() {
        let flow = steady(5, 1000, 12_500);
        for warm_up_ms in [0, 1, 200, 2000] {
            assert_eq!(rate(&[&flow], warm_up_ms), 12_500.0);
        }
    }

    #[test]
    fn parts_of_a_window_show_when_a_flow_was_fast_and_add_up_to_the_whole() {
        // A second at 30 bytes a ms, then one at 70.
        let mut flow = steady(0, 1000, 30);
        for ms in 1001..=2000 {
            flow.note(ms * 1_000_000, 1001 * 30 + (ms - 1000) * 70);
        }
        let (bytes, ns) = in_one_window(&[&flow], 0);
        assert_eq!((bytes[0][0], bytes[0][4]), (30 * 200, 30 * 200));
        assert_eq!((bytes[0][5], bytes[0][9]), (70 * 200, 70 * 200));
        assert_eq!((bytes[0].iter().sum(), ns), (100_000_u64, 2_000_000_000));
    }

    #[test]
    fn the_rates_of_flows_that_end_one_after_another_never_add_up_to_more_than_the_link_carries() {
        // Of 100 bytes a ms one flow gets 70 until it ends; the other empties its buffer at 100 alone.
        let one = steady(0, 1000, 70);
        let mut other = steady(0, 1000, 30);
        for ms in 1001..=1200 {
            other.note(ms * 1_000_000, 1001 * 30 + (ms - 1000) * 100);
        }
        assert!((rate(&[&one, &other], 200) - 100.0).abs() < 1e-9);
        let own = rate(&[&one], 200) + rate(&[&other], 200);
        assert!(own > 110.0, "over windows of their own: {own}");
    }

    #[test]
    fn flows_that_were_never_there_together_count_over_the_whole_time() {
        let (one, other) = (steady(0, 100, 100), steady(200, 300, 100));
        assert!(rate(&[&one, &other], 0) < 100.0);
        assert_eq!(
            in_one_window(&[&Arrivals::default()], 0),
            (vec![[0; PARTS]], 0)
        );
        let (bytes, _) = in_one_window(&[&one, &Arrivals::default()], 0);
        assert_eq!(bytes[1], [0; PARTS]);
    }

    #[test]
    fn the_time_from_the_last_arrival_until_it_was_read_does_not_count() {
        // The thread was away for 50 ms when the last bytes came.
        let mut flow = steady(0, 1000, 100);
        flow.note(1050 * 1_000_000, 1002 * 100);
        flow.cut(1002 * 100);
        assert_eq!(rate(&[&flow], 200), 100.0);
    }

    #[test]
    fn the_time_in_which_a_sender_waits_to_repeat_its_last_segments_does_not_count() {
        let mut flow = steady(0, 1000, 100);
        for ms in 1001..=1200 {
            flow.note(ms * 1_000_000, 1001 * 100);
        }
        flow.note(1201 * 1_000_000, 1002 * 100);
        flow.cut(1002 * 100);
        assert_eq!(rate(&[&flow], 200), 100.0);
    }

    #[test]
    fn a_long_flow_keeps_few_points_and_its_rate() {
        let mut flow = Arrivals::default();
        for ms in 0..=100_000 {
            if flow.due(ms * 1_000_000) {
                flow.note(ms * 1_000_000, 7 * ms);
            }
        }
        assert!((MOST / 2..=MOST).contains(&flow.points.len()));
        assert_eq!(rate(&[&flow], 200), 7.0);
    }

    #[test]
    fn a_window_begins_and_ends_where_no_flow_waits_for_a_lost_segment() {
        // In a hole from 150 to 250 ms 3000 bytes arrive, all before 200 ms, and are there for the reader at its end.
        let one = steady(0, 1000, 50);
        let mut other = Arrivals::default();
        for ms in (0..=150).chain(251..=1000) {
            let bytes = if ms <= 150 {
                20 * ms
            } else {
                6000 + 50 * (ms - 251)
            };
            other.note(ms * 1_000_000, bytes);
        }
        for (first, second) in [(&one, &other), (&other, &one)] {
            assert!((rate(&[first, second], 200) - 100.0).abs() < 0.01);
        }
    }

    /// Draws below a number, alike for a seed.
    fn chances(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |of| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) % of
        }
    }

    /// A link of 100 segments a ms, shared at random by three flows. Each waits for lost segments most of the time, and
    /// knows meanwhile how many segments arrived (`counted`) or nothing. `away`: in one of so many readings the thread
    /// was away for 2 ms after it had read the bytes.
    fn lossy(seed: u64, counted: bool, away: u64) -> Vec<Arrivals> {
        let mut chance = chances(seed);
        let mut flows = vec![Arrivals::default(); 3];
        let (mut came, mut holes, mut shares) = ([0u32; 3], [0u64; 3], [40u32, 40, 20]);
        for ms in 0..500 {
            if chance(10) == 0 {
                // One flow after another takes most of the link.
                let most = chance(3) as usize;
                shares = [10; 3];
                shares[most] = 80;
            }
            for at in 0..3 {
                came[at] += shares[at];
                let waits = holes[at] > ms && ms < 499;
                if !waits {
                    let late = if away > 0 && (1..499).contains(&ms) && chance(away) == 0 {
                        2
                    } else {
                        0
                    };
                    let told = came[at] + late * shares[at];
                    let at_ns = ms * 1_000_000;
                    let bytes = 1448 * u64::from(came[at]);
                    flows[at].note_all(at_ns, bytes, at_ns + u64::from(late) * 1_000_000, told);
                    holes[at] = ms + 1 + chance(120);
                } else if counted {
                    flows[at].note_segments(ms * 1_000_000, came[at]);
                }
            }
        }
        flows
    }

    #[test]
    fn flows_that_wait_for_lost_segments_never_add_up_to_more_than_the_link_carries() {
        let link = 1448.0 * 100.0;
        let rates = |counted: bool| {
            (0..200).map(move |seed| {
                let flows = lossy(seed, counted, 0);
                rate(&flows.iter().collect::<Vec<_>>(), 200) / link
            })
        };
        for share in rates(true) {
            assert!((0.999..=1.0001).contains(&share), "{share}");
        }
        assert!(rates(false).any(|share| share > 1.05));
    }

    #[test]
    fn segments_that_came_between_the_readings_of_bytes_and_segments_made_bbr_faster_than_its_link()
    {
        let link = 1448.0 * 100.0;
        for seed in 0..200 {
            let flows = lossy(seed, true, 3);
            let share = rate(&flows.iter().collect::<Vec<_>>(), 200) / link;
            assert!((0.999..=1.0001).contains(&share), "{share}");
        }
    }

    /// Three flows that share a link of a segment each 121 µs, in bursts; each is looked at every 1 to 4 ms, at times of
    /// its own.
    fn looked_at(seed: u64) -> Vec<Arrivals> {
        let mut chance = chances(seed);
        let mut flows = vec![Arrivals::default(); 3];
        let (mut came, mut next_us, mut bursting) = ([0u64; 3], [0u64; 3], 0);
        for us in (0..600_000).step_by(121) {
            if chance(10) == 0 {
                bursting = chance(3) as usize;
            }
            came[bursting] += 1448;
            for at in 0..3 {
                if us >= next_us[at] {
                    flows[at].note(us * 1000, came[at]);
                    next_us[at] = us + 1000 + chance(3000);
                }
            }
        }
        flows
    }

    #[test]
    fn a_window_that_begins_in_the_middle_of_a_burst_made_flows_faster_than_their_link() {
        let squares: f64 = (0..200)
            .map(|seed| {
                let flows = looked_at(seed);
                let share = rate(&flows.iter().collect::<Vec<_>>(), 200) / (1448.0 / 0.121);
                (share - 1.0).powi(2)
            })
            .sum();
        assert!((squares / 200.0).sqrt() < 0.0006);
    }

    #[test]
    fn a_hole_that_never_ends_leaves_few_points_and_no_bytes() {
        let mut flow = steady(0, 10, 100);
        for ms in 11..=100_000 {
            if flow.due(ms * 1_000_000) {
                flow.note_segments(ms * 1_000_000, ms as u32);
            }
        }
        assert!(flow.unknown.len() <= MOST);
        assert_eq!(in_one_window(&[&flow], 0).1, 10_000_000);
    }

    #[test]
    fn time_and_bytes_never_go_back() {
        let mut flow = steady(0, 10, 5);
        let before = flow.clone().points;
        flow.note(9_000_000, 1000);
        flow.note(11_000_000, 3);
        assert_eq!(flow.points, before);
    }
}
