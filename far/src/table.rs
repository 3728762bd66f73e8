//! The table of services. Whoever adds one writes a file in `service/` and a line here, and nothing else.

use crate::service::{Service, reflect};

pub const SERVICES: &[Service] = &[reflect::SERVICE];
