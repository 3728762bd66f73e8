//! A session of the far end: a client that was let in, its flows, and what is sent to it and comes from it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::host::kernel_clock::monotonic_ns;
use crate::stamped_socket::address::KernelAddress;

use super::super::TURN;
use super::super::arrivals::{Arrival, Arrivals, ArrivalsRecord, Delays};
use super::super::connection::Connection;
use super::super::packet::{Kind, Packet};
use super::super::schedule::{Next, Schedule};
use super::super::socket::Datagrams;
/// After this nothing is sent to it any more.
const PATIENCE_NS: u64 = 120_000_000_000;
/// Of those that the packets of a flow came from, so many are kept.
const MOST_ADDRESSES: usize = 64;

/// What a client wants.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Wanted {
    pub flows: usize,
    pub interval_ns: u64,
    pub quiet_ns: u64,
    /// The slot with which this end begins; not 0 where it goes on for one that is gone.
    pub first: u64,
}

#[derive(Debug, Serialize)]
pub struct FarFlowRecord {
    pub flow: usize,
    /// The first slot in which something was sent, as only then the flow's address was known.
    pub begun: Option<u64>,
    /// The addresses that its packets came from, and since when.
    pub from: Vec<(u64, String)>,
    pub arrivals: ArrivalsRecord,
}

/// A connection, where it is from, since when, and to which flow of which session it belongs.
pub(super) struct Guest {
    pub(super) connection: Connection,
    pub(super) from: SocketAddr,
    pub(super) since_ns: u64,
    pub(super) of: Option<(u64, usize)>,
}

#[derive(Clone, Copy)]
pub(super) enum Way {
    Udp(KernelAddress),
    /// Its place in the list.
    Tcp(usize),
}

pub(super) struct Flow {
    pub(super) to: Option<Way>,
    pub(super) begun: Option<u64>,
    /// How many packets were sent.
    pub(super) sent: u64,
    pub(super) from: Vec<(u64, SocketAddr)>,
    pub(super) arrivals: Arrivals,
}

pub(super) struct Session {
    pub(super) peer: IpAddr,
    pub(super) local: IpAddr,
    pub(super) opened_ns: u64,
    pub(super) heard_ns: u64,
    /// When whoever asked for it looked at it last.
    pub(super) looked_ns: u64,
    /// Whether this end was told to send: two ends that hear each other would never end by themselves.
    pub(super) joined: bool,
    pub(super) schedule: Schedule,
    pub(super) flows: Vec<Flow>,
    pub(super) delays: Delays,
    pub(super) refused: BTreeMap<i32, u64>,
}

impl Session {
    pub(super) fn new(wanted: &Wanted, peer: IpAddr, local: IpAddr, now_ns: u64) -> Self {
        let flow = |_| Flow {
            to: None,
            begun: None,
            sent: 0,
            from: Vec::new(),
            arrivals: Arrivals::new(wanted.quiet_ns, wanted.flows),
        };
        Session {
            peer,
            local,
            opened_ns: now_ns,
            heard_ns: now_ns,
            looked_ns: now_ns,
            joined: false,
            schedule: Schedule::new(
                now_ns,
                wanted.interval_ns,
                wanted.flows as u64,
                wanted.first,
            ),
            flows: (0..wanted.flows).map(flow).collect(),
            delays: Delays::new(now_ns),
            refused: BTreeMap::new(),
        }
    }

    /// When there was a sign last that somebody wants it.
    pub(super) fn wanted_ns(&self) -> u64 {
        match self.joined {
            true => self.looked_ns,
            false => self.heard_ns.max(self.looked_ns),
        }
    }

    pub(super) fn is_wanted(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.wanted_ns()) < PATIENCE_NS
    }

    pub(super) fn take(
        &mut self,
        packet: &Packet,
        way: Way,
        from: SocketAddr,
        arrived_ns: u64,
        dropped: impl FnOnce() -> u64,
    ) {
        let Some(flow) = self.flows.get_mut(usize::from(packet.flow)) else {
            return;
        };
        self.heard_ns = self.heard_ns.max(arrived_ns);
        if flow.from.last().is_none_or(|(_, last)| *last != from) {
            flow.to = Some(way);
            if flow.from.len() < MOST_ADDRESSES {
                flow.from.push((arrived_ns, from));
            }
        }
        let arrival = Arrival {
            number: packet.number,
            sent_ns: packet.sent_ns,
            arrived_ns,
            sent_before: packet.sent_before,
        };
        flow.arrivals.take(arrival, dropped);
        self.delays.take(&arrival);
    }

    pub(super) fn send(
        &mut self,
        token: u64,
        socket: &Datagrams,
        guests: &mut [Option<Guest>],
    ) -> u64 {
        for _ in 0..TURN {
            let now_ns = monotonic_ns();
            let slot = match self.schedule.next(now_ns) {
                Next::Wait { until_ns } => return until_ns - now_ns,
                Next::Send { slot } => slot,
            };
            let flows = self.flows.len() as u64;
            let number = (slot % flows) as usize;
            let flow = &mut self.flows[number];
            if let Some(to) = &flow.to {
                flow.begun.get_or_insert(slot);
                let (next, received) = flow.arrivals.heard();
                let packet = Packet {
                    kind: Kind::Data,
                    flow: number as u16,
                    token,
                    number: slot / flows,
                    sent_ns: monotonic_ns(),
                    next,
                    received,
                    sent_before: flow.sent,
                };
                flow.sent += 1;
                let outcome = match to {
                    Way::Udp(to) => socket.send(&packet.write(), to),
                    Way::Tcp(place) => {
                        let guest = guests.get_mut(*place).and_then(Option::as_mut);
                        let guest = guest.filter(|guest| guest.of == Some((token, number)));
                        // Where it is over, or has no room, the packet is lost.
                        if guest
                            .is_some_and(|guest| guest.connection.send(&packet.write()).is_err())
                        {
                            guests[*place] = None;
                        }
                        Ok(())
                    }
                };
                if let Err(error) = outcome {
                    let number = error.raw_os_error().unwrap_or(0);
                    *self.refused.entry(number).or_default() += 1;
                }
            }
            self.schedule.sent(slot, monotonic_ns());
        }
        0
    }
}

impl Flow {
    pub(super) fn record((number, flow): (usize, &Flow)) -> FarFlowRecord {
        let text = |(since_ns, address): &(u64, SocketAddr)| (*since_ns, address.to_string());
        FarFlowRecord {
            flow: number,
            begun: flow.begun,
            from: flow.from.iter().map(text).collect(),
            arrivals: flow.arrivals.record(),
        }
    }
}
