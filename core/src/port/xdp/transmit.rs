//! Sends XDP frames from a BPF program that paces, stamps and numbers them.
//!
//! The kernel runs the program once a frame (BPF_PROG_TEST_RUN with live frames). This file sets
//! the load, makes the calls and reads what was sent; it never touches a frame on its way.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aya::Ebpf;
use aya::programs::{Xdp, XdpMode};

use crate::capture::bpf_ring;
use crate::capture::ring::CaptureRing;
use crate::capture::source::Direction;
use crate::error::{EngineError, Result};
use crate::hiccup::speed::Meter;
use crate::host::kernel_clock::{monotonic_ns, sleep_until};
use crate::host::netns;
use crate::interface::place::Place;
use crate::latency::histogram::Histogram;
use crate::port::bpf::layout::{
    BATCHES, BatchTime, DEPARTURES, Departure, OUTLETS, Outlet, TRANSMIT_OBJECT, Transmitter,
};
use crate::port::bpf::mapped::Mapped;
use crate::port::bpf::program::{load, lots};
use crate::port::transmit::{Control, Ended, Load, Sent, Transmit};
use crate::port::xdp::admission::{self, Admission};
use crate::port::xdp::batch::Batch;
use crate::port::xdp::batch_pace::paced;
use crate::port::xdp::dead_end::DeadEnd;
use crate::port::xdp::departure_ring::{self, DepartureRing, Packed};
use crate::port::xdp::refusals::Refusals;
use crate::trial::switches::Switches;

/// Bytes of a frame that fit into one page beside the headroom and tailroom of the kernel.
const LONGEST_FRAME: usize = 3300;
/// Frames that are further apart are sent with one call each, with a sleep in between.
const SLEEP_GAP_NS: u64 = 100_000;
/// A call is made this long before its frame is due, for the set-up of the call and for a late wake-up.
const LEAD_NS: u64 = 150_000;
/// The longest sleep, so that a stop is noticed.
const NAP_NS: u64 = 20_000_000;
/// How soon a sender that found no departure looks again.
const EMPTY_NS: u64 = 100_000;
/// The same where streams are paused: departures are written long before they are due.
const PAUSED_NS: u64 = 2_000_000;
/// The limit of the kernel.
const LARGEST_BATCH: u32 = 256;
/// One call sends the frames of this time: its set-up (20 µs) delays few frames, and a batch that is too small is noticed
/// before the sender is late.
const CALL_NS: u64 = 2_000_000;
/// The same where frames cost so little that none can be late: fewer of them wait for a set-up.
const ROOMY_CALL_NS: u64 = 10_000_000;
/// The same where batches are timed: the pace of the core is looked at between calls.
const BATCHES_NS: u64 = 1_000_000;

pub struct XdpTransmit {
    program: Ebpf,
    outlets: Arc<Mapped<Outlet>>,
    batch_times: Mapped<BatchTime>,
    shared: Arc<Shared>,
    places: Vec<Place>,
    indices: Vec<u32>,
    load: Option<Prepared>,
    batch: Batch,
    meter: Meter,
    _dispatched: DeadEnd,
    _admissions: Vec<Admission>,
    refusals: Option<Refusals>,
}

/// The part of a load that is needed while it is sent.
struct Prepared {
    start_ns: u64,
    give_up_ns: u64,
    patience_ns: u64,
    period_ns: u64,
    frames: u64,
    /// As in `Load`.
    batch_frames: Option<u32>,
    lists_batches: bool,
    /// A frame as long as the longest one, which the kernel copies first.
    longest: Vec<u8>,
    /// Where streams are switched one by one; `frames` has no meaning then.
    switches: Option<Arc<Switches>>,
}

impl Prepared {
    /// Frames still to be sent, as far as that is known; none if the load is over.
    fn left(&self, next: u64, left_out: u64, filled: impl Fn() -> u64) -> Option<u64> {
        let left = match &self.switches {
            None => self.frames - left_out - next,
            Some(switches) => {
                // This is read first: once the trial is over, nothing more is written.
                let over = switches.is_over();
                let left = filled() - next;
                if over { left } else { left.max(1) }
            }
        };
        (left > 0).then_some(left)
    }
}

/// What the sending and the refilling thread share.
struct Shared {
    state: Mapped<Transmitter>,
    departures: Arc<Mapped<Departure>>,
    ring: Mutex<DepartureRing>,
    /// Frames of the load that are not written into the ring.
    left_out: AtomicU64,
}

impl Shared {
    fn ring(&self) -> MutexGuard<'_, DepartureRing> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> u64 {
        self.state.load(offset_of!(Transmitter, next))
    }
}

impl Control for Shared {
    fn offered(&self) -> u64 {
        self.next() - self.ring().skipped()
    }

    fn stop(&self) {
        self.state.store(offset_of!(Transmitter, stop), 1);
    }

    fn count(&self, offered: &mut [u64]) {
        for (all, own) in offered.iter_mut().zip(self.ring().sent()) {
            *all += own;
        }
    }

    fn count_unsent(&self, unsent: &mut [u64]) {
        for (all, own) in unsent.iter_mut().zip(self.ring().unsent()) {
            *all += own;
        }
    }

    fn tell_links(&self, up: &[bool]) {
        self.ring().tell_links(up);
    }

    fn refill(&self) {
        let postponed_ns = self.state.load(offset_of!(Transmitter, postponed_ns));
        let mut ring = self.ring();
        let filled = ring.fill(self.next(), postponed_ns);
        let left_out = ring.left_out.iter().sum();
        self.left_out.store(left_out, Ordering::Relaxed);
        self.state.store(offset_of!(Transmitter, filled), filled);
    }
}

impl XdpTransmit {
    /// One sender for ports of one namespace.
    pub fn open(places: &[Place]) -> Result<Self> {
        let place = &places[0];
        let mut program = load(places, TRANSMIT_OBJECT, "transmit")?;
        let dispatched = dispatch(&mut program).map_err(|error| {
            place.refusal("attach a BPF program where no frame arrives", &error)
        })?;
        let failed = |error| place.refusal("map the transmitter's state", &error);
        let map = |name| {
            let absent = || io::Error::other("no such map");
            program.map(name).ok_or_else(absent).map_err(failed)
        };
        let departures = Mapped::new(map("departures")?, DEPARTURES as usize).map_err(failed)?;
        let departures = Arc::new(departures);
        let state = Mapped::new(map("transmitter")?, 1).map_err(failed)?;
        let outlets = Arc::new(Mapped::new(map("outlets")?, OUTLETS).map_err(failed)?);
        let frames = map("frames")?;
        let ring = DepartureRing::new(departures.clone(), outlets.clone(), frames, lots(places));
        let ring = ring.map_err(failed)?;
        let batch_times = Mapped::new(map("batch_times")?, BATCHES).map_err(failed)?;
        if places.len() > OUTLETS {
            return Err(EngineError(format!(
                "one sender serves at most {} ports",
                OUTLETS
            )));
        }
        let indices: Vec<u32> = places.iter().map(Place::index).collect::<Result<_>>()?;
        let admit = |(place, index): (_, &u32)| admission::admit(place, *index).transpose();
        let admissions = places.iter().zip(&indices).filter_map(admit);
        let admissions = admissions.collect::<Result<_>>()?;
        Ok(XdpTransmit {
            program,
            outlets,
            batch_times,
            shared: Arc::new(Shared {
                state,
                departures,
                ring: Mutex::new(ring),
                left_out: AtomicU64::new(0),
            }),
            places: places.to_vec(),
            load: None,
            batch: Batch::default(),
            meter: Meter::default(),
            _dispatched: dispatched,
            _admissions: admissions,
            refusals: Refusals::open(places, &indices),
            indices,
        })
    }

    /// Frames of each port that its driver refused so far.
    fn refused(&self) -> Vec<Option<u64>> {
        let counts = self.refusals.as_ref().map(Refusals::counts);
        counts.unwrap_or_else(|| vec![None; self.places.len()])
    }

    fn sent(&self, outlet: usize, load: &Prepared, refused_frames: Option<u64>) -> Sent {
        let left_out = self.shared.ring().left_out[outlet];
        // SAFETY: the program does not run now; the structures are plain integers.
        let outlet = unsafe { self.outlets.at(outlet).read_volatile() };
        let state = &self.shared.state;
        let relative = |time_ns: u64| time_ns.saturating_sub(load.start_ns);
        Sent {
            offered_frames: outlet.offered,
            unsent_frames: outlet.unsent + left_out,
            first_sent_ns: relative(outlet.first_sent_ns),
            last_sent_ns: relative(outlet.last_sent_ns),
            lag_max_ns: outlet.lag_max_ns,
            postponed_ns: state.load(offset_of!(Transmitter, postponed_ns)),
            interrupted_ns: state.load(offset_of!(Transmitter, interrupted_ns)),
            interruptions: state.load(offset_of!(Transmitter, interruptions)),
            shifts: self.shifts(load.start_ns),
            refused_frames,
            gaps: Histogram::from_counts(&outlet.gaps).buckets(),
            driver_delay: None,
            batches: paced(self.batches(), self.meter.pieces()),
            listed_batches: self
                .batches()
                .filter(|_| load.lists_batches)
                .map(|batch| (batch.begun_ns, batch.took_ns))
                .collect(),
        }
    }

    /// As in `Sent`, of all ports together.
    fn batches(&self) -> impl Iterator<Item = BatchTime> {
        let timed = self.shared.state.load(offset_of!(Transmitter, batches)) as usize;
        // SAFETY: in the mapping; the program does not run now, and the structure is plain integers.
        (timed.saturating_sub(BATCHES)..timed)
            .map(|number| unsafe { self.batch_times.at(number % BATCHES).read_volatile() })
    }

    /// As in `Sent`.
    fn shifts(&self, start_ns: u64) -> Vec<(u64, u64)> {
        let state = self.shared.state.at(0);
        let kept = self.shared.state.load(offset_of!(Transmitter, shifted));
        (0..kept as usize)
            .map(|number| {
                // SAFETY: in the mapping; the program does not run now, and the structure is plain integers.
                let shift = unsafe { (&raw const (*state).shifts[number]).read_volatile() };
                (shift.sent_ns.saturating_sub(start_ns), shift.by_ns)
            })
            .collect()
    }

    /// Refuses a frame that does not fit, and a driver that cannot send XDP frames.
    fn check(&self, packed: &Packed) -> Result<()> {
        for (place, index) in self.places.iter().zip(&self.indices) {
            let interface = &place.interface;
            if packed.longest > LONGEST_FRAME {
                return Err(EngineError(format!(
                    "{interface}: the xdp engine sends frames of at most {} bytes; use `packet:{interface}`",
                    LONGEST_FRAME + 4
                )));
            }
            admission::check(place, *index)?;
        }
        Ok(())
    }
}

impl Transmit for XdpTransmit {
    fn capture_ring(&mut self) -> Result<Option<CaptureRing>> {
        bpf_ring::of_program(&mut self.program, &self.places, Direction::Outgoing)
    }

    fn prepare(&mut self, load: Load) -> Result<()> {
        let packed = Packed::new(&load, lots(&self.places))?;
        self.check(&packed)?;
        let prepared = Prepared {
            start_ns: load.start_ns,
            give_up_ns: load.give_up_ns,
            patience_ns: load.patience_ns,
            period_ns: load.departures.period_ns(),
            frames: load.departures.frames(),
            batch_frames: load.batch_frames,
            lists_batches: load.lists_batches,
            longest: vec![0; packed.longest],
            switches: load.departures.switches().cloned(),
        };
        let state = self.shared.state.at(0);
        // SAFETY: inside the mappings; the program does not run now. All zero is a value.
        unsafe {
            state.write_bytes(0, 1);
            (*state).give_up_ns = load.give_up_ns;
            (*state).catch_up_ns = load.departures.catch_up_ns();
            (*state).patience_ns = load.patience_ns;
            (*state).batch_mask = load
                .batch_frames
                .map_or(u64::MAX, |frames| u64::from(frames) - 1);
            for (outlet, index) in self.indices.iter().enumerate() {
                let outlet = self.outlets.at(outlet);
                outlet.write_bytes(0, 1);
                (*outlet).interface = (*index).into();
                (*outlet).skipped_from = u64::MAX;
            }
        }
        self.shared.ring().begin(load, packed, self.places.len());
        self.shared.refill();
        self.load = Some(prepared);
        Ok(())
    }

    fn control(&self) -> Arc<dyn Control> {
        self.shared.clone()
    }

    fn run(&mut self) -> Result<Ended> {
        let place = &self.places[0];
        let failed = |what: &str, error: io::Error| place.refusal(what, &error);
        let load = self.load.take().expect("prepared");
        netns::enter(place.namespace.as_deref())
            .map_err(|error| failed("enter its namespace", error))?;
        let program = self.program.program("transmit").expect("loaded in `open`");
        let program: &Xdp = program.try_into().expect("it is an XDP program");
        let program = program.fd().expect("loaded in `open`").as_fd().as_raw_fd();
        let state = &self.shared.state;
        let single = load.period_ns > SLEEP_GAP_NS;
        let refused_before = self.refused();
        let mut batch_ns = 0;
        loop {
            let next = self.shared.next();
            let left_out = self.shared.left_out.load(Ordering::Relaxed);
            let left = load.left(next, left_out, || {
                state.load(offset_of!(Transmitter, filled))
            });
            let stopped = state.load(offset_of!(Transmitter, stop)) != 0;
            let now_ns = monotonic_ns();
            let interrupted_ns = state.load(offset_of!(Transmitter, interrupted_ns));
            let give_up_ns = load.give_up_ns + interrupted_ns.min(load.patience_ns);
            let Some(left) = left.filter(|_| !stopped && now_ns <= give_up_ns) else {
                break;
            };
            if next == state.load(offset_of!(Transmitter, filled)) {
                let paused = load.switches.is_some();
                sleep_until(now_ns + if paused { PAUSED_NS } else { EMPTY_NS });
                continue;
            }
            let due_ns = departure_ring::entry(&self.shared.departures, next).due_ns
                + state.load(offset_of!(Transmitter, postponed_ns));
            if due_ns > now_ns + LEAD_NS {
                sleep_until((due_ns - LEAD_NS).min(now_ns + NAP_NS));
                continue;
            }
            let chosen = self.batch.choose(load.period_ns);
            let frames = if single {
                1
            } else if self.batch.has_room(load.period_ns) {
                left.min(ROOMY_CALL_NS / load.period_ns)
            } else {
                left.min(CALL_NS / load.period_ns.max(1)).max(1)
            };
            let batch = load.batch_frames.or(place.batch).unwrap_or(chosen);
            let batch = batch.clamp(1, LARGEST_BATCH);
            let frames = match load.batch_frames {
                None => {
                    self.meter.work_when_due(now_ns);
                    frames
                }
                // The end of a batch is seen when the next one is asked for. Where that is not due in this call, its runs
                // send nothing.
                Some(timed) => {
                    let timed = u64::from(timed);
                    let batches = match load.period_ns * timed {
                        apart if apart < SLEEP_GAP_NS => BATCHES_NS / apart.max(batch_ns).max(1),
                        _ => 0,
                    };
                    self.meter.work();
                    state.store(offset_of!(Transmitter, batch_from), next);
                    state.store(offset_of!(Transmitter, batch_begun_ns), 0);
                    timed * batches.max(2)
                }
            };
            let waited_ns = state.load(offset_of!(Transmitter, waited_ns));
            let called_ns = monotonic_ns();
            send_live(program, &load.longest, frames as u32, batch)
                .map_err(|error| failed("send XDP frames", error))?;
            let took_ns = monotonic_ns() - called_ns;
            batch_ns = took_ns * u64::from(batch) / frames.max(1);
            let waited_ns = state.load(offset_of!(Transmitter, waited_ns)) - waited_ns;
            // A stop by the host is no cost of the frames, and no batch makes it shorter.
            let stopped_ns = state.load(offset_of!(Transmitter, interrupted_ns)) - interrupted_ns;
            self.batch.met(
                self.shared.next() - next,
                took_ns.saturating_sub(waited_ns + stopped_ns),
            );
        }
        if load.batch_frames.is_some() {
            self.meter.work();
        }
        let refused = self.refused().into_iter().zip(refused_before);
        let refused = refused.map(|(now, before)| Some(now? - before?));
        let (offered, unsent) = self.shared.ring().end(self.shared.next());
        Ok(Ended {
            sent: refused
                .enumerate()
                .map(|(outlet, refused)| self.sent(outlet, &load, refused))
                .collect(),
            offered,
            unsent,
            speed: self.meter.take(),
        })
    }

    fn stamp(&self) -> &str {
        "CLOCK_MONOTONIC in the BPF program that sends"
    }
}

/// Attaches the program where no frame ever arrives.
///
/// The kernel keeps attached XDP programs in its dispatcher. A program that is only run by calls would be added to
/// the dispatcher at the beginning of each call and removed at the end, with a wait of tens of ms each time
/// (measured: gaps of 10 to 60 ms between calls).
fn dispatch(object: &mut Ebpf) -> io::Result<DeadEnd> {
    let program = object
        .program_mut("transmit")
        .ok_or_else(|| io::Error::other("no program"))?;
    let program: &mut Xdp = program.try_into().map_err(io::Error::other)?;
    let program = Mutex::new(program);
    DeadEnd::with(|index| {
        let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
        let attached = program.attach_to_if_index(index, XdpMode::Skb);
        attached.map(drop).map_err(io::Error::other)
    })
}

/// The part of the kernel's `union bpf_attr` for BPF_PROG_TEST_RUN.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    result: u32,
    data_in_bytes: u32,
    data_out_bytes: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_in_bytes: u32,
    context_out_bytes: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    padding: u32,
}

const BPF_PROG_TEST_RUN: libc::c_long = 10;
const BPF_F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;

/// Runs the program `repeat` times, each time on a frame of its own that then goes where the program says.
fn send_live(program: i32, template: &[u8], repeat: u32, batch: u32) -> io::Result<()> {
    let mut attributes = TestRun {
        program: program as u32,
        data_in_bytes: template.len() as u32,
        data_in: template.as_ptr() as u64,
        repeat,
        flags: BPF_F_TEST_XDP_LIVE_FRAMES,
        batch,
        ..TestRun::default()
    };
    // SAFETY: the kernel reads the attributes and the template, both of which outlive the call,
    // and writes only into the attributes.
    let run = unsafe {
        let size = size_of_val(&attributes);
        libc::syscall(libc::SYS_bpf, BPF_PROG_TEST_RUN, &raw mut attributes, size)
    };
    match io::Error::last_os_error() {
        _ if run == 0 => Ok(()),
        // A signal arrived: the caller checks what was sent and goes on.
        error if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
        error => Err(error),
    }
}
