//! `keisoku-far reflect`: a STAMP reflector, for anybody who asks, or for whoever has the key.

use std::net::IpAddr;

use super::{Open, Service};
use crate::options::{Form, Options};
use crate::stamp::reflector::Reflector;

pub const SERVICE: Service = Service {
    name: "reflect",
    summary: "reflects STAMP packets (RFC 8762), for 'keisoku path delay' and other senders",
    port: 862,
    options: &[
        Form {
            name: "key-file",
            value: Some("FILE"),
            help: "file with the key of the authenticated mode (RFC 8762 §4.4); a line end after it does not count",
        },
        Form {
            name: "peer",
            value: Some("ADDRESS"),
            help: "the only host that is answered (default: any)",
        },
    ],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let address = options.place()?.address(options.port()?)?;
    let peer = options.text("peer").map(|text| {
        let (ip, _) = text.split_once('%').unwrap_or((text, ""));
        ip.parse::<IpAddr>()
            .map_err(|_| format!("--peer: '{text}' is no IP address; give that of the sender"))
    });
    let reflector = Reflector::open(address, options.key()?, peer.transpose()?).map_err(|error| {
        format!(
            "a UDP socket at {address} cannot be opened: {error}; choose another address or --port"
        )
    })?;
    Ok(Box::new(reflector))
}

impl Open for Reflector {
    fn says(&self) -> String {
        format!("reflecting at UDP port {}", self.port())
    }

    fn serve(&self) {
        Reflector::serve(self);
    }

    fn stop(&self) {
        Reflector::stop(self);
    }

    fn summary(&self) -> String {
        let (reflected, refused) = self.counts();
        format!("reflected {reflected} packets, refused {refused}")
    }
}
