//! The state of this host's time of day for a STAMP packet: synchronised or not, and its error bound. Reads only.

use crate::stamp::packet::ErrorEstimate;

const STA_UNSYNC: i32 = 0x0040;

/// For a packet that leaves now; not synchronised if the kernel does not say so.
pub fn error_estimate() -> ErrorEstimate {
    // SAFETY: timex is plain integers, for which all zero is a value; without modes the call only fills it.
    let (answer, found) = unsafe {
        let mut found: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut found), found)
    };
    let synchronised = answer >= 0 && found.status & STA_UNSYNC == 0;
    ErrorEstimate::of(found.maxerror.max(1) as f64 / 1e6, synchronised)
}
