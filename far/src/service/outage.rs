//! `keisoku-far outage`: the other end of measurements of interruptions, for whoever asks for a session over TCP.

use keisoku::outage::service::Service as Server;

use super::{Open, Service};
use crate::options::{Form, Options};

/// Packets a second of all clients together.
const MOST_PER_SECOND: u64 = 200_000;

pub const SERVICE: Service = Service {
    name: "outage",
    summary: "answers 'keisoku outage' of other hosts, and is an end of a mesh",
    port: 8622,
    options: &[Form {
        name: "mesh",
        value: None,
        help: "also send to other far ends that let this one in, where 'keisoku outage mesh' asks for it",
    }],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let address = options.place()?.address(options.port()?)?;
    let server = Server::open(address, MOST_PER_SECOND, options.has("mesh")).map_err(|error| {
        format!("{address} cannot be listened at: {error}; choose another address or --port")
    })?;
    Ok(Box::new(server))
}

impl Open for Server {
    fn says(&self) -> String {
        format!("listening at TCP and UDP port {}", self.port())
    }

    fn serve(&self) {
        Server::serve(self);
    }

    fn stop(&self) {
        Server::stop(self);
    }
}
