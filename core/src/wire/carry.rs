//! Carries out one trial on open ports and returns its record.
//!
//! Each sender has a thread of its own, and the calling thread accounts. All ports are returned afterwards. This file
//! decides how long to wait; it never interprets the figures.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::account::Account;
use crate::account::changes::Watched;
use crate::account::frame_log::FrameLog;
use crate::account::loss_watch::LossWatch;
use crate::account::record::{Record, Transmitter};
use crate::account::watch::Watch;
use crate::error::{EngineError, Result};
use crate::frame::table::Table;
use crate::hiccup::Hiccups;
use crate::hops::Hops;
use crate::host::affinity;
use crate::host::kernel_clock::monotonic_ns;
use crate::host::precedence::{First, Pauses};
use crate::interface::link_watch::LinkWatch;
use crate::port::expected::{Claim, Expected};
use crate::port::receive::Receive;
use crate::port::transmit::{Control, Ended, Load, Transmit};
use crate::trial::departures::{Departures, PATIENCE};
use crate::trial::switches::Switches;
use crate::trial::{Elsewhere, Trial};

/// Time from the start of the threads to the first frame: enough to write the frames and first departures of a
/// sender.
const LEAD_NS: u64 = 30_000_000;
/// Interval between two reads of the receiving ports: short compared with the time in which their rings fill up, and
/// long enough not to disturb a device that shares the core.
const LOOK: Duration = Duration::from_millis(5);
/// After a stop the trial waits at most this long for frames that are still on their way.
const STOPPED_DRAIN_NS: u64 = 100_000_000;
/// A late sender gives up this long after the end of the trial, or after 0.5 % of the trial's duration if that is
/// longer. A sender that lost its CPU to another process for two ticks of a 250 Hz kernel can catch up within this
/// time.
const SLACK_NS: u64 = 10_000_000;

/// The nice value of the thread that accounts; a sender goes before it.
const ACCOUNT_NICE: i32 = -10;
/// The role of a sending thread in `Interference`.
const SENDER: &str = "sender";

/// Open ports. Their numbers are those of `transmit` and `receive` in the trial.
pub struct Ports {
    pub senders: Vec<Sender>,
    pub receivers: Vec<(usize, Box<dyn Receive>)>,
    pub links: LinkWatch,
    /// Ports that receive frames for all addresses, each with the socket that holds it so.
    pub promiscuous: HashMap<usize, OwnedFd>,
}

/// One thread that sends, and the ports it serves.
pub struct Sender {
    pub ports: Vec<usize>,
    pub transmit: Box<dyn Transmit>,
}

/// Carries out the trial. `tables` are those that the field `table` of each stream counts.
pub fn carry(
    trial: &Trial,
    tables: &[Arc<Table>],
    ports: &mut Ports,
    watch: &Watch,
    log: Option<Arc<FrameLog>>,
    watched: Option<&Watched>,
    hops: Option<&Hops>,
) -> Result<Record> {
    check(trial, tables, ports)?;
    ports.links.ready(!trial.links_may_fail, &watch.stop)?;
    ports.links.begin(&|port| longest(trial, tables, port))?;
    let mut cpus = affinity::allowed().unwrap_or_default();
    if let Some(place) = cpus.iter().position(|cpu| Some(*cpu) == trial.senders_cpu) {
        cpus[..=place].rotate_right(1);
    }
    let (sending, others) = cpus.split_at(cpus.len().min(ports.senders.len()));
    affinity::restrict(if others.is_empty() { sending } else { others });
    affinity::sleep_precisely();
    affinity::hurry(ACCOUNT_NICE);

    let (start_ns, ahead_ns) = match trial.elsewhere {
        None => (monotonic_ns() + LEAD_NS, None),
        Some(Elsewhere::Receives { start_ns }) if start_ns < monotonic_ns() + LEAD_NS => {
            let late = "the host that receives was not ready in time; measure again";
            return Err(EngineError(late.into()));
        }
        Some(Elsewhere::Receives { start_ns }) => (start_ns, None),
        Some(Elsewhere::Sends { start_ns, ahead_ns }) => (start_ns, Some(ahead_ns)),
    };
    let here_ns = start_ns.wrapping_add_signed(ahead_ns.unwrap_or(0));
    watch.start_ns.store(here_ns, Ordering::Relaxed);
    for sender in &mut ports.senders {
        sender
            .transmit
            .prepare(load(trial, tables, &sender.ports, start_ns, watch))?;
    }
    let mut expected = expected(trial, tables);
    let changes = match watched {
        Some(watched) => watched.changes(trial, &mut expected)?,
        None => Vec::new(),
    };
    for (_, receive) in &mut ports.receivers {
        receive.begin(&expected)?;
    }
    let controls: Vec<Arc<dyn Control>> = ports
        .senders
        .iter()
        .map(|sender| sender.transmit.control())
        .collect();
    let variants = trial.streams.iter().map(|one| tables[one.table].len());
    let mut account = Account::new(start_ns, trial, ports.receivers.len(), log, changes)
        .keeping(variants)
        .ahead(ahead_ns)
        .with_late(hops.map(Hops::late));
    let hiccups = Hiccups::begin(&cpus, sending);
    let mut loss_watch = LossWatch::new(trial.stop_after_lost);
    let (mut interrupted, mut stopped_for_loss, mut link_lost) = (false, false, false);
    let Ports {
        senders,
        receivers,
        links,
        ..
    } = ports;
    let served: Vec<Vec<usize>> = senders.iter().map(|sender| sender.ports.clone()).collect();
    let tell_links = |links: &LinkWatch| {
        for (ports, control) in served.iter().zip(&controls) {
            let up: Vec<bool> = ports.iter().map(|port| links.is_up(*port)).collect();
            control.tell_links(&up);
        }
    };
    tell_links(links);
    let watched = &hiccups;
    let firsts: Vec<First> = senders.iter().map(|_| First::default()).collect();
    let mut pauses = Pauses::from(here_ns);
    let ended: Vec<Result<Ended>> = thread::scope(|scope| {
        let threads: Vec<_> = senders
            .iter_mut()
            .zip(&firsts)
            .enumerate()
            .map(|(place, (sender, first))| {
                let own = if sending.is_empty() {
                    sending
                } else {
                    &sending[place % sending.len()..][..1]
                };
                scope.spawn(move || {
                    affinity::restrict(own);
                    affinity::sleep_precisely();
                    if others.is_empty() {
                        affinity::hurry(affinity::FIRST_NICE);
                    } else {
                        first.enter();
                    }
                    watched.watching(SENDER, || sender.transmit.run())
                })
            })
            .collect();
        let sends = || threads.iter().any(|thread| !thread.is_finished());
        let sends_there = ahead_ns.is_some();
        while sends() || (sends_there && watch.sent.get().is_none() && !interrupted) {
            // SAFETY: the threads are joined after this loop.
            unsafe { pauses.look(&firsts) };
            let lost = links.look();
            tell_links(links);
            controls.iter().for_each(|control| control.refill());
            account.drain(receivers, watch, monotonic_ns());
            let offered = controls.iter().map(|control| control.offered()).sum();
            watch.offered.store(offered, Ordering::Relaxed);
            if let Some(switches) = &watch.switches {
                tell_offered(switches, &controls);
                // A sender that ends before its time has failed, so the others stop as well.
                if !switches.settle() && threads.iter().any(|thread| thread.is_finished()) {
                    controls.iter().for_each(|control| control.stop());
                }
            }
            if watch.stop.load(Ordering::Relaxed) {
                controls.iter().for_each(|control| control.stop());
                interrupted = true;
            }
            if let Some(loss_watch) = &mut loss_watch
                && !stopped_for_loss
                && loss_watch.look(monotonic_ns(), 0, account.trackers())
            {
                controls.iter().for_each(|control| control.stop());
                stopped_for_loss = true;
            }
            if !trial.links_may_fail && !link_lost && lost {
                controls.iter().for_each(|control| control.stop());
                link_lost = true;
            }
            links.wait(LOOK);
        }
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Ended>>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let all = trial.streams.len();
    let there = watch.sent.get().filter(|sent| sent.len() == all);
    if ahead_ns.is_some() && there.is_none() {
        receivers.iter_mut().for_each(|(_, receive)| {
            receive.end(&mut |_, _| ());
        });
        return Err(EngineError(
            "the host that sends did not say what it sent; measure again".into(),
        ));
    }
    let ended = match ended.into_iter().collect::<Result<Vec<_>>>() {
        Ok(ended) => ended,
        Err(error) => {
            receivers.iter_mut().for_each(|(_, receive)| {
                receive.end(&mut |_, _| ());
            });
            return Err(links.failure().unwrap_or(error));
        }
    };
    let mut offered = there.cloned().unwrap_or(vec![0; all]);
    let mut unsent = vec![0; all];
    for sender in &ended {
        add(&mut offered, &sender.offered);
        add(&mut unsent, &sender.unsent);
    }
    let offered_frames: u64 = offered.iter().sum();
    watch.offered.store(offered_frames, Ordering::Relaxed);
    if let Some(switches) = &watch.switches {
        for (place, seen) in switches.streams().iter().enumerate() {
            seen.unsent.store(unsent[place], Ordering::Relaxed);
            seen.offered.store(offered[place], Ordering::Relaxed);
        }
    }
    let intended_frames: u64 = trial.streams.iter().map(|stream| stream.frames).sum();

    let all_sent = ended.iter().flat_map(|sender| &sender.sent);
    let sent_ns = match ahead_ns {
        Some(_) => monotonic_ns(),
        None => start_ns + all_sent.map(|sent| sent.last_sent_ns).max().unwrap_or(0),
    };
    let delay_ns = receivers
        .iter()
        .map(|(_, receive)| receive.delay_ns())
        .max();
    loop {
        account.drain(receivers, watch, monotonic_ns());
        interrupted |= watch.stop.load(Ordering::Relaxed);
        let drain_ns = if interrupted || link_lost {
            trial.drain_ns.min(STOPPED_DRAIN_NS)
        } else {
            trial.drain_ns
        };
        if monotonic_ns() >= sent_ns + drain_ns + delay_ns.unwrap_or(0) {
            break;
        }
        thread::sleep(LOOK);
    }
    account.drain(receivers, watch, monotonic_ns());
    let received = account.end(receivers);
    if let (Some(hops), Some(late)) = (hops, account.take_late()) {
        hops.keep(late);
    }
    let links = links.end(here_ns)?;
    let mut interference = hiccups.end();
    for (place, ended) in ended.iter().enumerate().take(sending.len()) {
        let mut cores = interference.cores.iter_mut();
        if let Some(core) = cores.find(|core| core.cpu == sending[place]) {
            core.speed = Some(ended.speed);
        }
    }
    let words = account.words();
    let mut transmitters = Vec::new();
    for (sender, ended) in senders.iter().zip(ended) {
        for (port, sent) in sender.ports.iter().zip(ended.sent) {
            transmitters.push(Transmitter {
                port: *port,
                sent,
                stamp: sender.transmit.stamp().into(),
            });
        }
    }
    Ok(Record {
        streams: account.finish(trial, &offered, &unsent, receivers),
        transmitters,
        receivers: received,
        links,
        interference: Some(interference),
        interrupted,
        // A trial whose last frame had been sent already was not stopped.
        stopped_for_loss: stopped_for_loss && offered_frames < intended_frames,
        words,
    })
}

/// Publishes how many frames of each stream have been sent so far.
fn tell_offered(switches: &Switches, controls: &[Arc<dyn Control>]) {
    let mut offered = vec![0; switches.streams().len()];
    let mut unsent = offered.clone();
    for control in controls {
        control.count(&mut offered);
        control.count_unsent(&mut unsent);
    }
    for (place, seen) in switches.streams().iter().enumerate() {
        seen.offered.store(offered[place], Ordering::Relaxed);
        seen.unsent.store(unsent[place], Ordering::Relaxed);
    }
}

fn add(all: &mut [u64], own: &[u64]) {
    for (all, own) in all.iter_mut().zip(own) {
        *all += own;
    }
}

/// The part of the trial that the sender which serves `ports` carries out.
fn load(
    trial: &Trial,
    tables: &[Arc<Table>],
    ports: &[usize],
    start_ns: u64,
    watch: &Watch,
) -> Load {
    let streams = trial.streams.iter();
    Load {
        departures: Departures::new(trial, ports, start_ns, watch.switches.as_ref()),
        tables: streams
            .clone()
            .map(|stream| tables[stream.table].clone())
            .collect(),
        outlets: streams
            .map(|stream| ports.iter().position(|port| *port == stream.transmit))
            .collect(),
        first_stream: trial.first_stream,
        start_ns,
        give_up_ns: match watch.switches {
            None => start_ns + trial.duration_ns + SLACK_NS.max(trial.duration_ns / 200),
            Some(_) => u64::MAX,
        },
        patience_ns: match watch.switches {
            None => trial.duration_ns / PATIENCE,
            Some(_) => 0,
        },
        batch_frames: trial.batch_frames,
        lists_batches: trial.lists_batches,
        links_may_fail: trial.links_may_fail,
    }
}

/// What every receiver expects of each stream.
fn expected(trial: &Trial, tables: &[Arc<Table>]) -> Expected {
    let claim = |stream: &crate::trial::Stream| {
        let table = &tables[stream.table];
        if !table.signed {
            return Claim::default();
        }
        let grown = |length: usize| (length as i64 + i64::from(stream.growth_bytes)) as u16;
        let lengths = || table.frames().map(<[u8]>::len);
        Claim {
            least: grown(lengths().min().unwrap_or(0)),
            most: grown(lengths().max().unwrap_or(0)),
            checked_from: grown(table.checked_from),
            tagged: table.frames().all(is_tagged),
            room: table.room as u8,
            view: 0,
        }
    };
    Expected {
        first: trial.first_stream,
        claims: trial.streams.iter().map(claim).collect(),
        views: None,
        words: trial.words,
    }
}

/// The longest frame of the trial at a port, in bytes without FCS.
fn longest(trial: &Trial, tables: &[Arc<Table>], port: usize) -> usize {
    let own = |stream: &&crate::trial::Stream| {
        stream.transmit == port || stream.receives().any(|one| one == port)
    };
    let tables = trial
        .streams
        .iter()
        .filter(own)
        .map(|stream| &tables[stream.table]);
    let lengths = tables.flat_map(|table| table.frames().map(<[u8]>::len));
    lengths.max().unwrap_or(0)
}

/// Whether the Ethernet header is followed by a VLAN tag (802.1Q, 802.1ad).
fn is_tagged(frame: &[u8]) -> bool {
    matches!(frame.get(12..14), Some([0x81, 0x00] | [0x88, 0xA8]))
}

/// Refuses a trial that no port can carry out; the error names the field.
fn check(trial: &Trial, tables: &[Arc<Table>], ports: &Ports) -> Result<()> {
    let refuse = |problem: String| Err(EngineError(problem));
    let switches = trial.switches.as_ref();
    if switches.is_some_and(|switches| switches.len() != trial.streams.len()) {
        return refuse("switches: there must be one for each stream".into());
    }
    if trial
        .batch_frames
        .is_some_and(|frames| !frames.is_power_of_two() || frames > 256)
    {
        return refuse("batch_frames must be a power of two, at most 256".into());
    }
    if trial.streams.is_empty() || trial.interval_ns == 0 {
        return refuse("streams and interval_ns must be at least 1".into());
    }
    if usize::from(trial.first_stream) + trial.streams.len() > usize::from(u16::MAX) {
        return refuse(format!(
            "streams: {} do not fit behind number {}",
            trial.streams.len(),
            trial.first_stream
        ));
    }
    for stream in &trial.streams {
        if !(stream.frames_per_second.is_finite() && stream.frames_per_second > 0.0) {
            return refuse(format!(
                "frames_per_second: {} is not a rate",
                stream.frames_per_second
            ));
        }
        if stream.frames == 0 || stream.frame_bytes.is_empty() {
            return refuse("frames and frame_bytes must be at least 1".into());
        }
        stream.pacing.check().map_err(EngineError)?;
        let sends = |sender: &Sender| sender.ports.contains(&stream.transmit);
        let is_open = |port: usize| ports.receivers.iter().any(|open| open.0 == port);
        let closed = stream.receives().find(|port| !is_open(*port));
        let closed =
            closed.filter(|_| !matches!(trial.elsewhere, Some(Elsewhere::Receives { .. })));
        let sends_there = matches!(trial.elsewhere, Some(Elsewhere::Sends { .. }));
        if !(sends_there || ports.senders.iter().any(sends)) || closed.is_some() {
            return refuse(format!(
                "streams: ports {} and {} are not open for it",
                stream.transmit,
                closed.unwrap_or(stream.receive)
            ));
        }
        let receives: Vec<usize> = stream.receives().collect();
        if (1..receives.len()).any(|place| receives[..place].contains(&receives[place])) {
            return refuse("streams: a port is to receive one of them twice".into());
        }
        let Some(table) = tables.get(stream.table) else {
            return refuse(format!("streams: there is no table {}", stream.table));
        };
        let sizes = stream.frame_bytes.iter().cycle();
        for (frame, bytes) in table.frames().zip(sizes) {
            if frame.len() + 4 != *bytes as usize {
                return refuse(format!(
                    "frames: {} bytes and 4 of FCS are not frame_bytes = {bytes}",
                    frame.len()
                ));
            }
        }
        let headers = table.checked_from as i64 + i64::from(stream.growth_bytes);
        let longest = table.frames().map(<[u8]>::len).max().unwrap_or(0) as i64;
        if headers < 0 || longest + i64::from(stream.growth_bytes) > i64::from(u16::MAX) {
            return refuse(format!(
                "growth_bytes: {} is more than the headers have",
                stream.growth_bytes
            ));
        }
    }
    Ok(())
}
