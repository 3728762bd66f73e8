//! `Place`: an interface, the engine that drives it, and its settings. It never opens a socket.

use std::io;

use serde::Deserialize;

use crate::error::{EngineError, Result};
use crate::host::netns;

/// An interface and the engine that is to drive it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub engine: Engine,
    pub interface: String,
    /// File of the network namespace; `None`: the one of this process.
    pub namespace: Option<String>,
    /// The most frames that an xdp port hands to the kernel together; `None`: as the rate requires.
    #[serde(default)]
    pub batch: Option<u32>,
    /// Bytes of each frame that the port's program keeps for a capture; 0 if it will not be captured.
    #[serde(default)]
    pub capture_bytes: u32,
    /// Number of the PTP hardware clock that stamps what a packet socket receives; `None`: the kernel stamps.
    #[serde(default)]
    pub phc: Option<u32>,
    /// The port takes the outer VLAN tag out of what it receives, and no XDP program sees it.
    #[serde(default)]
    pub removes_tags: bool,
    /// The port's program computes views of frames (`view`).
    #[serde(default)]
    pub views: bool,
    /// How many times 16 MiB of different frames the sender of an xdp port can hold.
    #[serde(default = "one")]
    pub lots: u32,
    /// Count the frames that the driver of an xdp port has no room for.
    #[serde(default)]
    pub counts_refusals: bool,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    Xdp,
    Afxdp,
    Packet,
}

impl Place {
    /// The interface's index in its namespace.
    pub fn index(&self) -> Result<u32> {
        let name = std::ffi::CString::new(self.interface.as_str())
            .map_err(|_| EngineError("an interface name contains a zero byte".into()))?;
        netns::within(self.namespace.as_deref(), || {
            // SAFETY: the name is a zero-terminated string that outlives the call.
            match unsafe { libc::if_nametoindex(name.as_ptr()) } {
                0 => Err(io::Error::from_raw_os_error(libc::ENODEV)),
                index => Ok(index),
            }
        })
        .map_err(|error| self.refusal("look up", &error))
    }

    /// Refuses a port that takes tags out of frames, where every byte of the headers is to be compared.
    pub fn shows_tags(&self) -> Result<()> {
        if !self.removes_tags {
            return Ok(());
        }
        let interface = &self.interface;
        Err(EngineError(format!(
            "{interface}: it takes VLAN tags out of received frames, so changes of them cannot be seen; switch that off with `ethtool -K {interface} rxvlan off`, or use `packet:{interface}`"
        )))
    }

    /// One sentence for what went wrong while doing `what`.
    pub fn refusal(&self, what: &str, error: &io::Error) -> EngineError {
        let interface = &self.interface;
        let place = match &self.namespace {
            Some(namespace) => format!(" in {namespace}"),
            None => String::new(),
        };
        EngineError(match error.raw_os_error() {
            Some(libc::ENODEV) => {
                format!("{interface}: no such interface{place}; `ip link` lists those there are")
            }
            Some(libc::EPERM | libc::EACCES) => format!(
                "{interface}: not allowed to {what}{place}; run as root or give CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON"
            ),
            Some(libc::ENOENT) if self.namespace.is_some() => {
                format!(
                    "{interface}: there is no network namespace{place}; `ip netns` lists those there are"
                )
            }
            Some(libc::EBUSY | libc::EEXIST) => format!(
                "{interface}: another XDP program is attached{place}; remove it or use `packet:{interface}`"
            ),
            Some(libc::ENETDOWN) => {
                format!("{interface}: the interface is down{place}; set it up first")
            }
            _ => format!("{interface}: cannot {what}{place}: {error}"),
        })
    }

    #[cfg(not(bpf))]
    pub fn built_without_clang(&self) -> EngineError {
        let interface = &self.interface;
        EngineError(format!(
            "{interface}: this keisoku was built without clang and libbpf's headers, so it has no engine xdp or afxdp; use `packet:{interface}`"
        ))
    }
}
