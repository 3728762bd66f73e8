//! `Peer`: a host by its address. An IPv4 address is the same whatever kind of socket it was seen at; one of a single link has
//! the number of its interface.

use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    pub ip: IpAddr,
    /// Number of the interface; 0: none.
    pub scope: u32,
}

impl Peer {
    pub fn of(address: SocketAddr) -> Self {
        let scope = match address {
            SocketAddr::V6(v6) => v6.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        Peer {
            ip: address.ip().to_canonical(),
            scope,
        }
    }

    /// The same with a port.
    pub fn at(self, port: u16) -> SocketAddr {
        match self.ip {
            IpAddr::V4(_) => SocketAddr::new(self.ip, port),
            IpAddr::V6(v6) => SocketAddrV6::new(v6, port, 0, self.scope).into(),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            0 => write!(to, "{}", self.ip),
            scope => write!(to, "{}%{scope}", self.ip),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_one_whatever_socket_sees_it() {
        let of = |text: &str| Peer::of(text.parse().unwrap());
        assert_eq!(of("[::ffff:192.0.2.7]:1"), of("192.0.2.7:2"));
        assert_ne!(of("[fe80::1%2]:1"), of("[fe80::1%3]:1"));
        assert_eq!(of("[fe80::1%3]:1").to_string(), "fe80::1%3");
        assert_eq!(of("[fe80::1%3]:1").at(9).to_string(), "[fe80::1%3]:9");
    }
}
