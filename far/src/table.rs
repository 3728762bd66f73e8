//! The table of services. Whoever adds one writes a file in `service/` and a line here, and nothing else.

use crate::service::{Service, iperf3, outage, path, reflect, stream};

pub const SERVICES: &[Service] = &[
    iperf3::SERVICE,
    outage::SERVICE,
    path::SERVICE,
    reflect::SERVICE,
    stream::SERVICE,
];
