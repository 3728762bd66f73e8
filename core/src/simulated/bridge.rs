//! Decides by addresses where a frame goes: to the port that it is meant for, to another one, or to all.
//!
//! It is used only where addresses matter: for a device with an address table, and for frames to group addresses.

use serde::Deserialize;

use super::address_table::AddressTable;
use super::device;
use super::snooping::{Message, Snooping};

/// The group bit of a MAC address (IEEE 802 §8.2): broadcast and multicast.
const GROUP: u64 = 1 << 40;
const BROADCAST: u64 = 0xFFFF_FFFF_FFFF;

/// MAC addresses in the frames of a trial, as numbers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    pub streams: Vec<Macs>,
    /// What learning frames taught the device before the trial: addresses, and the tester's ports behind which they
    /// are.
    pub known: Vec<(u64, usize)>,
}

/// Addresses of consecutive frames of one stream, as two cycles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Macs {
    pub sources: Vec<u64>,
    pub destinations: Vec<u64>,
    /// What the frames tell the device of groups, as a cycle; empty if they tell nothing.
    #[serde(default)]
    pub messages: Vec<Message>,
}

/// Where a frame goes. Ports are those of the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes to the port that it is meant for.
    Meant,
    /// It goes to another port.
    Elsewhere(usize),
    /// It goes to all ports but that at which it arrived.
    Flood,
    /// It goes to the ports behind which this group has receivers.
    Group(u64),
    /// It goes to no port: the device itself reads it, it arrived at the port to which it should go, or nobody wants it.
    Filter,
}

pub struct Bridge {
    streams: Vec<Macs>,
    table: Option<AddressTable>,
    pub snooping: Option<Snooping>,
}

impl Bridge {
    /// Without a table, the device has always known every address.
    pub fn new(
        table: Option<&device::AddressTableSettings>,
        snooping: Option<&device::SnoopingSettings>,
        addresses: &Addresses,
    ) -> Self {
        let mut table = table.map(AddressTable::new);
        if let Some(table) = &mut table {
            for (address, port) in &addresses.known {
                table.know(*address, *port);
            }
        }
        Bridge {
            streams: addresses.streams.clone(),
            table,
            snooping: snooping.map(Snooping::new),
        }
    }

    /// The verdict on frame `sequence` of a stream, which arrived at `input` at `now_ps` and is meant for `output`.
    pub fn forward(
        &mut self,
        stream: usize,
        sequence: u64,
        now_ps: u64,
        input: usize,
        output: usize,
    ) -> Verdict {
        let macs = &self.streams[stream];
        let of = |cycle: &[u64]| cycle[(sequence % cycle.len() as u64) as usize];
        let destination = of(&macs.destinations);
        if let Some(table) = &mut self.table {
            table.learn(of(&macs.sources), input, now_ps);
        }
        if destination & GROUP != 0 {
            return self.forward_to_group(stream, sequence, now_ps, input, destination);
        }
        let Some(table) = &self.table else {
            return Verdict::Meant;
        };
        match table.find(destination, now_ps) {
            None => Verdict::Flood,
            Some(port) if port == input => Verdict::Filter,
            Some(port) if port == output => Verdict::Meant,
            Some(port) => Verdict::Elsewhere(port),
        }
    }

    fn forward_to_group(
        &mut self,
        stream: usize,
        sequence: u64,
        now_ps: u64,
        input: usize,
        group: u64,
    ) -> Verdict {
        let Some(snooping) = self.snooping.as_mut().filter(|_| group != BROADCAST) else {
            return Verdict::Flood;
        };
        let messages = &self.streams[stream].messages;
        if !messages.is_empty() {
            let message = messages[(sequence % messages.len() as u64) as usize];
            snooping.hear(message, input, now_ps);
            return Verdict::Filter;
        }
        if snooping.knows(group, now_ps) {
            Verdict::Group(group)
        } else if snooping.floods_unknown() {
            Verdict::Flood
        } else {
            Verdict::Filter
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_what_was_learned() {
        let one = |source, destination| Macs {
            sources: vec![source],
            destinations: vec![destination],
            messages: Vec::new(),
        };
        let addresses = Addresses {
            streams: vec![one(1, 9), one(2, 1), one(3, 0xFFFF_FFFF_FFFF), one(4, 1)],
            known: vec![(8, 3)],
        };
        let table = device::AddressTableSettings {
            entries: 10,
            learning_per_second: None,
            ageing_s: 1.0,
        };
        let mut bridge = Bridge::new(Some(&table), None, &addresses);
        assert_eq!(bridge.forward(0, 0, 0, 0, 1), Verdict::Flood);
        assert_eq!(bridge.forward(1, 0, 1, 1, 0), Verdict::Meant);
        assert_eq!(bridge.forward(2, 7, 2, 2, 0), Verdict::Flood);
        assert_eq!(bridge.forward(3, 0, 3, 0, 2), Verdict::Filter);
        assert_eq!(bridge.forward(3, 0, 4, 1, 2), Verdict::Elsewhere(0));
        let mut all_knowing = Bridge::new(None, None, &addresses);
        assert_eq!(all_knowing.forward(0, 0, 0, 0, 1), Verdict::Meant);
        assert_eq!(all_knowing.forward(2, 0, 0, 2, 0), Verdict::Flood);
    }
}
