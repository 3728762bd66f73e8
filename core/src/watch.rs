//! What other threads see of a running trial, and the word to stop it. Holds no facts of a record.

use std::sync::atomic::{AtomicBool, AtomicU64};

#[derive(Default)]
pub struct Watch {
    pub offered: AtomicU64,
    pub forwarded: AtomicU64,
    pub stop: AtomicBool,
    pub finished: AtomicBool,
}
