//! `keisoku-far stream`: what answers 'keisoku line' and 'keisoku stream' of other hosts, one at a time.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use super::{Open, Service};
use crate::capacity::server::CapacityServer;
use crate::options::{Form, Options};
use crate::stream::session::StreamSessions;
use crate::two_ended::busy::Busy;
use crate::two_ended::clients::Server;

const CAPACITY_PORT: u16 = 24601;

pub const SERVICE: Service = Service {
    name: "stream",
    summary: "serves 'keisoku line' and 'keisoku stream': streams, transactions, files, one client at a time",
    port: 8621,
    options: &[
        Form {
            name: "files",
            value: Some("DIRECTORY"),
            help: "directory into which clients of 'keisoku stream file' may write",
        },
        Form {
            name: "settable",
            value: None,
            help: "let clients change MTU and offloads of the interface towards them",
        },
        Form {
            name: "capacity",
            value: Some("[=PORT]"),
            help: "also serve 'stream capacity' and other clients of UDPSTP (RFC 9946), at UDP port 24601 or another",
        },
        Form {
            name: "key-file",
            value: Some("FILE"),
            help: "file with the key of clients of --capacity, whose requests must be signed",
        },
        Form {
            name: "other-address",
            value: Some("ADDRESS"),
            help: "a second address of this host, at which clients of 'line' look at NATs, too (RFC 5780)",
        },
    ],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let place = options.place()?;
    let files = options.text("files").map(PathBuf::from);
    if let Some(folder) = files.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(format!(
            "--files: {} is no directory; give the path of one",
            folder.display()
        ));
    }
    let sessions = StreamSessions {
        files,
        settable: options.has("settable"),
        other: options
            .text("other-address")
            .map(other_address)
            .transpose()?,
        namespace: place.namespace().map(str::to_owned),
    };
    let key = options.key()?;
    if key.is_some() && !options.has("capacity") {
        return Err(
            "--key-file: only tests of capacity are signed; add --capacity, or leave it out".into(),
        );
    }
    let busy = Arc::<Busy>::default();
    let server = Server::open(place.address(options.port()?)?, Some(busy.clone()), |_| {
        Ok(sessions)
    })?;
    let capacity = if options.has("capacity") {
        let at = place.address(options.port_of("capacity", CAPACITY_PORT)?)?;
        Some(CapacityServer::open(at, key, busy)?)
    } else {
        None
    };
    Ok(Box::new(StreamService { server, capacity }))
}

/// One from which datagrams can be sent.
fn other_address(text: &str) -> Result<IpAddr, String> {
    let remedy = "give a second address of this host";
    let ip: IpAddr = text
        .parse()
        .map_err(|_| format!("--other-address: '{text}' is no IP address; {remedy}"))?;
    UdpSocket::bind(SocketAddr::new(ip, 0))
        .map_err(|error| format!("--other-address: {ip} cannot be used: {error}; {remedy}"))?;
    Ok(ip)
}

/// Each has clients while the other has none.
struct StreamService {
    server: Server<StreamSessions>,
    capacity: Option<CapacityServer>,
}

impl Open for StreamService {
    fn says(&self) -> String {
        let capacity = match &self.capacity {
            None => String::new(),
            Some(server) => format!(", measuring capacity at UDP port {}", server.port()),
        };
        format!("listening at TCP port {}{capacity}", self.server.port())
    }

    fn serve(&self) {
        thread::scope(|scope| {
            if let Some(capacity) = &self.capacity {
                scope.spawn(|| capacity.serve());
            }
            self.server.serve();
        });
    }

    fn stop(&self) {
        self.server.stop();
        if let Some(capacity) = &self.capacity {
            capacity.stop();
        }
    }
}
