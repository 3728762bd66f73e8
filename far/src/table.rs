//! The table of services. Whoever adds one writes a file in `service/` and a line here, and nothing else.

use crate::service::{Service, outage, path, reflect, stream};

pub const SERVICES: &[Service] = &[
    outage::SERVICE,
    path::SERVICE,
    reflect::SERVICE,
    stream::SERVICE,
];
