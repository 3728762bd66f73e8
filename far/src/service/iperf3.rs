//! `keisoku-far iperf3`: answers clients of iperf3 (esnet/iperf), one at a time.

use super::{Open, Service};
use crate::iperf3::server::Iperf3Server;
use crate::options::Options;

pub const SERVICE: Service = Service {
    name: "iperf3",
    summary: "answers clients of iperf3: TCP and UDP, both directions, one client at a time",
    port: 5201,
    options: &[],
    open,
};

fn open(options: &Options) -> Result<Box<dyn Open>, String> {
    let at = options.place()?.address(options.port()?)?;
    Ok(Box::new(Iperf3Server::open(at)?))
}

impl Open for Iperf3Server {
    fn says(&self) -> String {
        format!("listening at TCP and UDP port {}", self.port())
    }

    fn serve(&self) {
        Iperf3Server::serve(self);
    }

    fn stop(&self) {
        Iperf3Server::stop(self);
    }
}
