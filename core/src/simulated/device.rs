//! The settings of a simulated device as they come from Python. `keisoku/ground/simulated_device/device.py` explains each
//! field to users and refuses wrong values; this file only reads them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::chance::{Concern, Draws, uniform};
use crate::marker::Marking;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    pub ports: u16,
    pub link_bits_per_second: f64,
    /// Resolution of the tester's stamps, which are rounded down to multiples of it; zero: exact.
    pub resolution_ns: f64,
    /// Larger frames are all dropped.
    pub max_frame_bytes: Option<u32>,
    pub forwarding: Forwarding,
    pub output: OutputSettings,
    /// Absent if frames go directly to their output.
    pub input: Option<Input>,
    /// Absent if every address has always been known.
    pub address_table: Option<AddressTableSettings>,
    /// Absent if it keeps no state of connections.
    pub connections: Option<ConnectionSettings>,
    /// Absent if frames to groups go to all ports.
    pub snooping: Option<SnoopingSettings>,
    pub jitter: Option<Jitter>,
    pub scatter: Option<Scatter>,
    pub loss: Loss,
    pub stall: Option<Stall>,
    pub reset: Option<Reset>,
    /// What events do to streams.
    pub interruptions: Vec<Interruption>,
    pub faults: FaultSettings,
    /// How much faster a port's clock runs than the tester's, in millionths.
    pub clock_offset_ppm: BTreeMap<u16, f64>,
    pub pairs: Vec<Pair>,
    /// The tester's own host; absent if it never takes a CPU from a sender.
    pub host: Option<Host>,
    /// The queues of each output; empty if frames of all classes wait in one.
    pub queues: Vec<QueueSettings>,
    pub scheduler: Scheduler,
}

/// A queue for some classes of traffic.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSettings {
    /// The code points of its frames. Frames of code points that no queue has are in the last one.
    pub codes: Vec<u8>,
    /// A queue is served before all of lower priority.
    pub priority: u8,
    /// Its share among queues of its priority.
    pub weight: f64,
    /// Absent: the whole buffer of the output.
    pub buffer_bytes: Option<u64>,
    pub policer: Option<Bucket>,
    pub shaper: Option<Bucket>,
    pub marking: Option<Marking>,
}

/// A token bucket, of bytes from destination address to FCS.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    pub bits_per_second: f64,
    pub burst_bytes: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    pub kind: SchedulerKind,
    /// What a queue of weight 1 may send in a round of DRR.
    pub quantum_bytes: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerKind {
    /// Deficit round robin (Shreedhar and Varghese 1995).
    Drr,
    /// Self-clocked fair queueing (Golestani 1994), a weighted fair queueing.
    Wfq,
}

/// What a device reads of one of a stream's frames to know its class.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    pub code: u8,
    /// Capable of ECN: ECT(0) or ECT(1).
    pub ecn: bool,
}

/// Latency from first bit in to first bit out (FIFO, as the study e1 measures it) of a frame that meets no queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forwarding {
    pub mode: Mode,
    pub ns_per_byte: f64,
    pub constant_ns: f64,
    /// Bytes that a cut-through device reads before it forwards; absent: the Ethernet header.
    pub header_bytes: Option<u32>,
    /// Time from the first bit of a frame until the device knows where to send it; no frame leaves sooner.
    pub decision_ns: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    StoreAndForward,
    CutThrough,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSettings {
    /// The buffer holds the frame that is being sent and those that wait.
    pub buffer_bytes: u64,
    /// Absent: the link rate.
    pub service_bits_per_second: Option<f64>,
}

/// Each input is a queue in which a frame that waits for its output blocks those behind it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub buffer_bytes: u64,
    /// The sender is made to pause when the buffer is half full.
    pub back_pressure: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressTableSettings {
    pub entries: u32,
    /// Absent: at any rate.
    pub learning_per_second: Option<f64>,
    /// Time after which an address that is not seen again is removed.
    pub ageing_s: f64,
}

/// A connection is known from its first frame of the inner side on; frames from the outer side pass only if theirs is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSettings {
    pub entries: u32,
    /// Time after which a connection that is not seen again is removed.
    pub timeout_s: f64,
    pub when_full: WhenFull,
    /// Absent: at any rate.
    pub new_per_second: Option<f64>,
    /// New connections that may wait for their turn.
    pub waiting: u32,
    /// How fast it removes all entries when it is told to; absent: at once.
    pub forgotten_per_second: Option<f64>,
    /// Absent: one.
    pub buckets: Option<u32>,
    /// Absent: a bucket has no limit of its own.
    pub bucket_entries: Option<u32>,
    /// How many outer ports it has; absent: it translates none.
    pub ports: Option<u16>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// A new connection is dropped.
    Refuse,
    /// It takes the place of the one that was not seen for the longest time.
    Evict,
}

/// The device learns from IGMP and MLD messages behind which ports a group has receivers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnoopingSettings {
    pub groups: u32,
    /// From the message to the first frame that is forwarded, and to the first that is not.
    pub join_ns: f64,
    pub leave_ns: f64,
    /// What happens to frames of groups without receivers.
    pub unknown: Unknown,
    /// Absent: copies take no time.
    pub copies_per_second: Option<f64>,
    /// Copies that may wait for their turn.
    pub waiting_copies: u32,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Unknown {
    Flood,
    Drop,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    pub distribution: Distribution,
    /// Width of the uniform distribution, standard deviation of the normal one.
    pub spread_ns: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Adds 0 to `spread_ns`.
    Uniform,
    /// Adds a deviate of mean 0 (the sum of twelve uniform ones: within six deviations).
    Normal,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Ratio of lost frames of any size.
    pub ratio: f64,
    /// Frames larger than this are lost at `above_ratio` as well, all of them if that is absent.
    pub above_frame_bytes: Option<u32>,
    pub above_ratio: Option<f64>,
}

/// What the tester reads is a normal deviate of mean 0 off, another one in each `every_ns`. No frame waits for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scatter {
    /// Standard deviation.
    pub spread_ns: f64,
    pub every_ns: u64,
}

/// The output begins no frame for `duration_ns`, first at `first_ns` after the first frame was due and
/// then every `period_ns`: once if there is no period, after one period if there is no first time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    pub first_ns: Option<u64>,
    /// In place of `first_ns`: the first one is at a random moment of so long a time.
    pub within_ns: Option<u64>,
    pub period_ns: Option<u64>,
    pub duration_ns: u64,
}

impl Stall {
    /// The same with the random moment of one trial as the first time.
    pub fn of_trial(&self, trial_seed: u64) -> Stall {
        let draws = Draws::new(trial_seed, Concern::Stall);
        let random_ns = self
            .within_ns
            .map(|within_ns| uniform(&draws, 0, within_ns));
        Stall {
            first_ns: random_ns.or(self.first_ns),
            within_ns: None,
            ..self.clone()
        }
    }
}

/// For how long the device forwards nothing and holds nothing when it is reset.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    pub duration_ns: u64,
    /// When it resets by itself in each trial that asks for no reset.
    pub at_ns: Option<u64>,
}

/// An event cuts streams off for a while: flows are counted from 0 in the order of the trial.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interruption {
    /// The event's name.
    pub event: String,
    /// True if the undoing of the event does it.
    pub by_undo: bool,
    /// How long after the event the first frame is lost.
    pub begin_ns: u64,
    /// For how long frames of the first flow are lost.
    pub duration_ns: u64,
    /// By how much longer those of each further flow are.
    pub step_ns: u64,
    pub first_flow: u64,
    /// Absent: the last one of the trial.
    pub last_flow: Option<u64>,
    /// The port by which they leave from its end on, where frames count at whichever port they arrive. Absent: as before.
    #[serde(default)]
    pub to_port: Option<u16>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSettings {
    pub duplicate_ratio: f64,
    /// Ratio of frames that are held back until the next one has passed them.
    pub reorder_ratio: f64,
    /// Only while frames of a stream follow each other faster than this.
    pub reorder_above_fps: Option<f64>,
    pub corrupt_ratio: f64,
}

/// What differs between certain ports. An absent field is as for all other ports.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    pub from_ports: Vec<u16>,
    pub to_ports: Vec<u16>,
    pub forwarding: Option<Forwarding>,
    pub extra_latency_ns: f64,
    pub max_frame_bytes: Option<u32>,
    pub loss: Option<Loss>,
}

/// In each period the CPU of each sender is taken once, at a random moment, for `stop_ms`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    pub stop_ms: f64,
    pub every_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_at_a_random_moment_is_anywhere_within_its_time() {
        let stall = Stall {
            first_ns: None,
            within_ns: Some(1000),
            period_ns: None,
            duration_ns: 10,
        };
        let firsts: Vec<_> = (0..1000)
            .map(|seed| stall.of_trial(seed).first_ns.unwrap())
            .collect();
        assert!(firsts.iter().all(|first| *first <= 1000));
        let mean = firsts.iter().sum::<u64>() as f64 / 1000.0;
        assert!((mean - 500.0).abs() < 40.0, "{mean}");
        assert_eq!(stall.of_trial(3).first_ns, stall.of_trial(3).first_ns);
    }
}
