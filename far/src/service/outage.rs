//! `keisoku-far outage`: the other end of measurements of interruptions, for whoever asks for a session over TCP.

use keisoku::outage::service::Service as Server;

use super::{Open, Service};
use crate::options::Options;

/// Packets a second of all clients together.
const MOST_PER_SECOND: u64 = 200_000;

pub const SERVICE: Service = Service {
    name: "outage",
    summary: "answers 'keisoku outage udp' and 'outage tcp' of other hosts",
    port: 8622,
    options: &[],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let address = options.place()?.address(options.port()?)?;
    let server = Server::open(address, MOST_PER_SECOND).map_err(|error| {
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
