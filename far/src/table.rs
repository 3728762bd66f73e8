//! The table of services. Whoever adds one writes a file in `service/` and a line here, and nothing else.

use crate::service::{Service, path, reflect, stream};

pub const SERVICES: &[Service] = &[path::SERVICE, reflect::SERVICE, stream::SERVICE];
