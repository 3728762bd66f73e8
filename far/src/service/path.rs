//! `keisoku-far path`: what serves 'keisoku path packet-pair' and 'path clocks', one client at a time.

use std::sync::Arc;

use super::{Open, Service};
use crate::options::{Form, Options};
use crate::path::session::PathSessions;
use crate::two_ended::busy::Busy;
use crate::two_ended::clients::Server;

pub const SERVICE: Service = Service {
    name: "path",
    summary: "serves 'keisoku path packet-pair' and 'path clocks', one client at a time",
    port: 8620,
    options: &[Form {
        name: "udp-port",
        value: Some("PORT"),
        help: "UDP port of the probes, to be let through where a firewall or NAT is in between (0: any free one)",
    }],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let sessions = PathSessions {
        udp_port: options.port_of("udp-port", 0)?,
    };
    let at = options.place()?.address(options.port()?)?;
    Ok(Box::new(Server::open(
        at,
        Some(Arc::<Busy>::default()),
        |_| Ok(sessions),
    )?))
}

impl Open for Server<PathSessions> {
    fn says(&self) -> String {
        let probes = match self.sessions().udp_port {
            0 => String::new(),
            port => format!(", probes at UDP port {port}"),
        };
        format!("listening at TCP port {}{probes}", self.port())
    }

    fn serve(&self) {
        Server::serve(self);
    }

    fn stop(&self) {
        Server::stop(self);
    }
}
