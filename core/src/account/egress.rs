//! By which ports the frames of one stream left the device, where they may arrive at one of several.

use serde::Serialize;

use crate::trial::Stream;

/// The most stays that are listed; a device that spreads the frames of one stream over ports has one for each frame.
const LIMIT: usize = 64;

/// Consecutive arrivals of a stream at one port. Times are of transmission, in ns since the start of the trial.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Stay {
    pub port: usize,
    pub frames: u64,
    pub first_sent_ns: u64,
    pub last_sent_ns: u64,
}

/// All intact arrivals of a stream at one port.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Arrived {
    pub port: usize,
    pub frames: u64,
}

/// The stays of one stream in the order of arrival.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Egress {
    /// The first ones, and the last one.
    pub stays: Vec<Stay>,
    /// How often the port changed.
    pub changes: u64,
    /// Of each port that the frames may arrive at.
    pub arrived: Vec<Arrived>,
    /// The place among these of the port of the last stay.
    #[serde(skip)]
    place: usize,
}

impl Egress {
    /// Of a stream; nothing where its frames may arrive at one port only.
    pub fn of(stream: &Stream) -> Option<Self> {
        let ports = std::iter::once(&stream.receive).chain(&stream.among);
        (!stream.among.is_empty()).then(|| Egress::new(ports.copied()))
    }

    fn new(ports: impl Iterator<Item = usize>) -> Self {
        Egress {
            stays: Vec::new(),
            changes: 0,
            arrived: ports.map(|port| Arrived { port, frames: 0 }).collect(),
            place: 0,
        }
    }

    /// Frames that have arrived so far, by port.
    pub fn frames(&self) -> impl Iterator<Item = u64> + '_ {
        self.arrived.iter().map(|port| port.frames)
    }

    /// A frame arrives at one of the ports.
    #[inline]
    pub fn arrive(&mut self, port: usize, sent_ns: u64) {
        match self.stays.last_mut() {
            Some(stay) if stay.port == port => {
                stay.frames += 1;
                stay.last_sent_ns = sent_ns;
            }
            _ => self.begin(port, sent_ns),
        }
        self.arrived[self.place].frames += 1;
    }

    #[cold]
    fn begin(&mut self, port: usize, sent_ns: u64) {
        let mut ports = self.arrived.iter();
        self.place = ports
            .position(|arrived| arrived.port == port)
            .expect("one of the ports");
        self.changes += u64::from(!self.stays.is_empty());
        if self.stays.len() == LIMIT {
            self.stays.pop();
        }
        self.stays.push(Stay {
            port,
            frames: 1,
            first_sent_ns: sent_ns,
            last_sent_ns: sent_ns,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_port_begins_a_stay() {
        let mut egress = Egress::new([2, 1, 3].into_iter());
        for (port, sent_ns) in [(1, 10), (1, 20), (2, 40), (1, 50)] {
            egress.arrive(port, sent_ns);
        }
        let ports: Vec<_> = egress.stays.iter().map(|stay| stay.port).collect();
        assert_eq!((ports, egress.changes), (vec![1, 2, 1], 2));
        assert_eq!(egress.stays[0].frames, 2);
        assert_eq!(egress.stays[0].last_sent_ns, 20);
        assert_eq!(egress.stays[1].first_sent_ns, 40);
        let arrived: Vec<_> = egress
            .arrived
            .iter()
            .map(|one| (one.port, one.frames))
            .collect();
        assert_eq!(arrived, [(2, 1), (1, 3), (3, 0)]);
    }

    #[test]
    fn a_device_that_spreads_frames_takes_bounded_memory() {
        let mut egress = Egress::new([0, 1].into_iter());
        for sequence in 0..1000 {
            egress.arrive(sequence % 2, sequence as u64);
        }
        assert_eq!((egress.stays.len(), egress.changes), (LIMIT, 999));
        assert!(egress.arrived.iter().all(|one| one.frames == 500));
        assert_eq!(
            egress.stays.last().map(|stay| stay.first_sent_ns),
            Some(999)
        );
    }
}
