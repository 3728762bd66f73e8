//! Enables the hardware stamps of an interface (SIOCSHWTSTAMP) and restores the previous setting.
//!
//! A process that is killed cannot restore it; then `hwstamp_ctl` or the next owner does. Each value changes the
//! setting of one direction only, so that two ports may share an interface.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::host::netns;
use crate::interface::place::Place;

const TX_ON: i32 = 1;
const FILTER_ALL: i32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Transmit,
    Receive,
}

/// Hardware stamps that are enabled as long as this value lives.
pub struct HardwareStamps {
    /// A socket in the namespace of the interface.
    control: OwnedFd,
    interface: String,
    direction: Direction,
    before: i32,
}

impl HardwareStamps {
    /// Enables stamps for every frame of this direction. The error is that of the driver.
    pub fn enable(place: &Place, direction: Direction) -> io::Result<Self> {
        let control = netns::within(place.namespace.as_deref(), || {
            let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
            // SAFETY: socket() touches no memory of ours.
            match unsafe { libc::socket(libc::AF_INET, kind, 0) } {
                ..0 => Err(io::Error::last_os_error()),
                // SAFETY: a new descriptor that nobody else owns.
                socket => Ok(unsafe { OwnedFd::from_raw_fd(socket) }),
            }
        })?;
        let was = get(&control, &place.interface)?;
        let stamps = HardwareStamps {
            control,
            interface: place.interface.clone(),
            direction,
            before: *field(&mut was.clone(), direction),
        };
        let wanted = match direction {
            Direction::Transmit => TX_ON,
            Direction::Receive => FILTER_ALL,
        };
        let mut config = was;
        *field(&mut config, direction) = wanted;
        // The driver returns the setting that it chose.
        let mut got = call(
            libc::SIOCSHWTSTAMP,
            &stamps.control,
            &stamps.interface,
            config,
        )?;
        if *field(&mut got, direction) != wanted {
            return Err(io::Error::other("the hardware stamps some frames only"));
        }
        Ok(stamps)
    }
}

impl Drop for HardwareStamps {
    fn drop(&mut self) {
        // If the interface does not exist any more, there is nothing to restore.
        if let Ok(mut config) = get(&self.control, &self.interface) {
            *field(&mut config, self.direction) = self.before;
            let _ = call(libc::SIOCSHWTSTAMP, &self.control, &self.interface, config);
        }
    }
}

fn get(control: &OwnedFd, interface: &str) -> io::Result<libc::hwtstamp_config> {
    let empty = libc::hwtstamp_config {
        flags: 0,
        tx_type: 0,
        rx_filter: 0,
    };
    call(libc::SIOCGHWTSTAMP, control, interface, empty)
}

fn field(config: &mut libc::hwtstamp_config, direction: Direction) -> &mut i32 {
    match direction {
        Direction::Transmit => &mut config.tx_type,
        Direction::Receive => &mut config.rx_filter,
    }
}

fn call(
    request: libc::c_ulong,
    control: &OwnedFd,
    interface: &str,
    mut config: libc::hwtstamp_config,
) -> io::Result<libc::hwtstamp_config> {
    // SAFETY: ifreq is plain integers and pointers, for which all zero is a value.
    let mut message: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = interface.as_bytes();
    let room = message.ifr_name.len() - 1;
    for (to, from) in message.ifr_name.iter_mut().zip(name.iter().take(room)) {
        *to = *from as libc::c_char;
    }
    message.ifr_ifru.ifru_data = (&raw mut config).cast();
    // SAFETY: message and config outlive the call; the kernel reads and writes one config.
    if unsafe { libc::ioctl(control.as_raw_fd(), request as _, &raw mut message) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::place::Place;

    #[test]
    fn an_interface_without_hardware_stamps_is_refused_and_left_as_it_was() {
        let place: Place =
            serde_json::from_str(r#"{"engine":"packet","interface":"lo","namespace":null}"#)
                .expect("a place");
        for direction in [Direction::Transmit, Direction::Receive] {
            assert!(HardwareStamps::enable(&place, direction).is_err());
        }
    }

    #[test]
    fn each_direction_has_its_own_setting() {
        let mut config = libc::hwtstamp_config {
            flags: 0,
            tx_type: 7,
            rx_filter: 9,
        };
        assert_eq!(*field(&mut config, Direction::Transmit), 7);
        assert_eq!(*field(&mut config, Direction::Receive), 9);
    }
}
