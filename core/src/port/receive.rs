//! The trait that the receiving ports of an engine implement.

use crate::capture::ring::CaptureRing;
use crate::error::Result;
use crate::frame::view::Fronts;
use crate::interface::stamping::received::Stamped;
use crate::port::arrival::Arrival;
use crate::port::expected::Expected;

pub trait Receive: Send {
    /// What a capture needs beside a packet socket to see all that the port receives.
    fn capture_ring(&mut self) -> Result<Option<CaptureRing>> {
        Ok(None)
    }
    /// Starts to watch; earlier arrivals are discarded.
    fn begin(&mut self, expected: &Expected) -> Result<()>;
    /// Hands over what arrived since the last call, in the order of the stamps, each with its view where changes are
    /// watched, else with zero.
    fn drain(&mut self, sink: &mut dyn FnMut(Arrival, u64));
    /// The longest time after which `drain` hands over an arrival.
    fn delay_ns(&self) -> u64;
    /// Stops watching, hands over the rest, and returns the number of arrivals that were seen but not handed over.
    fn end(&mut self, sink: &mut dyn FnMut(Arrival, u64)) -> u64;
    /// The fronts of the latest trial's frames that were not as expected, where changes are watched.
    fn fronts(&self) -> &Fronts;
    /// Why arrivals were not handed over in the latest trial, as a clause, where the port knows.
    fn drop_reason(&self) -> Option<&str> {
        None
    }
    /// Frames that the port took out of the host's way since it was opened; `None` if it takes none. The counters of some
    /// drivers have them among those dropped.
    fn taken_frames(&self) -> Option<u64> {
        None
    }
    /// Who stamped the arrivals of the latest trial, if hardware was to.
    fn stamped(&self) -> Option<Stamped> {
        None
    }
    /// Which clock and which point a stamp is taken at.
    fn stamp(&self) -> &str;
}
