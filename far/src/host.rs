//! This host: what it is, its interfaces, and how long its journal remembers what was changed.

pub mod context;
pub mod ethtool;
pub mod interface_setting;
pub mod journal;
pub mod link_rate;
pub mod netlink;
