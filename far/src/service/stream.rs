//! `keisoku-far stream`: what answers 'keisoku line' and 'keisoku stream' of other hosts, one at a time.

use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

use super::{Open, Service};
use crate::options::{Form, Options};
use crate::stream::session::StreamSessions;
use crate::two_ended::busy::Busy;
use crate::two_ended::one_client::Server;

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
            name: "busy",
            value: Some("FILE"),
            help: "file whose lock is held while a client measures, as other programs hold it for theirs",
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
    let busy = match options.text("busy") {
        None => Busy::default(),
        Some(path) => Busy::with(File::open(path).map_err(|error| {
            format!("--busy: {path} cannot be opened: {error}; check its path")
        })?),
    };
    let server = Server::open(place.address(options.port()?)?, Arc::new(busy), sessions)?;
    Ok(Box::new(server))
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

impl Open for Server<StreamSessions> {
    fn says(&self) -> String {
        format!("listening at TCP port {}", self.port())
    }

    fn serve(&self) {
        Server::serve(self);
    }

    fn stop(&self) {
        Server::stop(self);
    }
}
