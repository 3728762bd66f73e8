//! `Place`: a local address, in this network namespace or in one with a name, written ADDRESS or ADDRESS@NAMESPACE. Without
//! an address it is any one of IPv4 and IPv6.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use keisoku::host::netns;
use socket2::Type;

use crate::two_ended::sockets::bound;

/// Where iproute2 keeps the names.
const FOLDER: &str = "/run/netns";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    host: String,
    namespace: Option<String>,
}

impl Place {
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, namespace) = match text.split_once('@') {
            Some((host, name)) if !name.is_empty() => (host, Some(name)),
            _ => (text.trim_end_matches('@'), None),
        };
        let path = namespace.map(|name| Path::new(FOLDER).join(name));
        if let (Some(path), Some(name)) = (&path, namespace)
            && !path.exists()
        {
            return Err(format!(
                "--at: there is no namespace {name}; see the names in {FOLDER}"
            ));
        }
        Ok(Place {
            host: host.to_owned(),
            namespace: path.map(|path| path.to_string_lossy().into_owned()),
        })
    }

    /// Path of the namespace's file.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Moves the calling thread into the namespace. Threads that it starts are there, too, so it is called before any is.
    pub fn enter(&self) -> Result<(), String> {
        netns::enter(self.namespace.as_deref()).map_err(|error| {
            let name = self.namespace.as_deref().unwrap_or_default();
            format!("--at: the namespace {name} cannot be entered: {error}; start it as root")
        })
    }

    /// The first address of the host, with a port.
    pub fn address(&self, port: u16) -> Result<SocketAddr, String> {
        if self.host.is_empty() {
            return Ok(any(port));
        }
        let found = (self.host.as_str(), port)
            .to_socket_addrs()
            .map(|mut all| all.next());
        match found {
            Ok(Some(address)) => Ok(address),
            _ => Err(format!(
                "--at: {} is not known; give an address of this host",
                self.host
            )),
        }
    }
}

/// That of both versions, unless the kernel has no IPv6.
fn any(port: u16) -> SocketAddr {
    match bound((Ipv6Addr::UNSPECIFIED, 0).into(), Type::STREAM) {
        Ok(_) => (Ipv6Addr::UNSPECIFIED, port).into(),
        Err(_) => (Ipv4Addr::UNSPECIFIED, port).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_an_address_and_perhaps_a_namespace_that_exists() {
        let place = Place::parse("fe80::1%1").unwrap();
        assert_eq!(place.address(7).unwrap().to_string(), "[fe80::1%1]:7");
        assert_eq!(Place::parse("127.0.0.1@"), Place::parse("127.0.0.1"));
        let error = Place::parse("127.0.0.1@keisoku-is-not-there").unwrap_err();
        assert!(error.contains("there is no namespace keisoku-is-not-there"));
        let any = Place::parse("").unwrap().address(7).unwrap();
        assert!(any.ip().is_unspecified() && any.port() == 7);
    }
}
