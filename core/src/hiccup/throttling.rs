//! CPU quotas of the control groups of this process, of version 1 or 2, up to the root. This file reads quotas and
//! never sets one.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The time for which quotas stopped the process's control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Throttling {
    /// Periods of a quota that ended with stopped threads.
    pub periods: u64,
    /// For how long, summed over cores.
    pub stopped_ns: u64,
}

/// The counters since the groups were made, summed over all groups that the process is in.
pub type Quota = Throttling;

impl Throttling {
    pub fn between(before: Option<Quota>, after: Option<Quota>) -> Option<Throttling> {
        let (before, after) = (before?, after?);
        Some(Throttling {
            periods: after.periods.saturating_sub(before.periods),
            stopped_ns: after.stopped_ns.saturating_sub(before.stopped_ns),
        })
    }
}

/// None if the process sees no control group with a CPU controller.
pub fn quota() -> Option<Quota> {
    let mounts = read_to_string("/proc/self/mountinfo").ok()?;
    let groups = read_to_string("/proc/thread-self/cgroup").ok()?;
    let mut total = None;
    for folder in folders(&mounts, &groups) {
        if let Some(own) = parse(&read_to_string(folder.join("cpu.stat")).unwrap_or_default()) {
            let sum = total.get_or_insert(Throttling {
                periods: 0,
                stopped_ns: 0,
            });
            sum.periods += own.periods;
            sum.stopped_ns += own.stopped_ns;
        }
    }
    total
}

/// The folders of the process's groups that may have a quota, each with all its ancestors: a quota of an ancestor
/// stops the groups below it and is counted at the ancestor only.
fn folders(mounts: &str, groups: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let unified = controllers.is_empty();
        if !unified && !controllers.split(',').any(|name| name == "cpu") {
            continue;
        }
        for mount in mounts.lines() {
            if let Some((root, point)) = mounted(mount, unified)
                && let Ok(below) = Path::new(path).strip_prefix(root)
            {
                let own = Path::new(point).join(below);
                let within = own.ancestors().take_while(|at| at.starts_with(point));
                found.extend(within.map(Path::to_owned));
                break;
            }
        }
    }
    found
}

/// proc_pid_mountinfo(5): root and mount point, if the line is of the hierarchy wanted.
fn mounted(line: &str, unified: bool) -> Option<(&str, &str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let name = kind.next()?;
    let mut options = kind.nth(1)?.split(',');
    let wanted = if unified {
        name == "cgroup2"
    } else {
        name == "cgroup" && options.any(|option| option == "cpu")
    };
    let mut place = place.split(' ').skip(3);
    wanted.then_some(()).and(place.next().zip(place.next()))
}

/// `cpu.stat`: version 1 counts `throttled_time` in ns, version 2 `throttled_usec` in µs.
fn parse(statistics: &str) -> Option<Quota> {
    let value = |name: &str| {
        let mut pairs = statistics.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(key, _)| *key == name)?.1.trim().parse().ok()
    };
    let in_us = |us: u64| us.saturating_mul(1000);
    Some(Throttling {
        periods: value("nr_throttled")?,
        stopped_ns: value("throttled_time").or(value("throttled_usec").map(in_us))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
33 30 0:29 /box /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    #[test]
    fn the_groups_of_both_versions_are_found_with_their_ancestors() {
        let groups = "5:cpuset:/no\n4:cpu,cpuacct:/a/b\n0::/box/x\n";
        let expected = [
            "/sys/fs/cgroup/cpu,cpuacct/a/b",
            "/sys/fs/cgroup/cpu,cpuacct/a",
            "/sys/fs/cgroup/cpu,cpuacct",
            "/sys/fs/cgroup/unified/x",
            "/sys/fs/cgroup/unified",
        ];
        assert_eq!(folders(MOUNTS, groups), expected.map(PathBuf::from));
        assert!(folders(MOUNTS, "0::/elsewhere\nnonsense\n").is_empty());
        assert!(folders("", groups).is_empty());
    }

    #[test]
    fn both_versions_statistics_are_read() {
        let one = "nr_periods 9\nnr_throttled 3\nthrottled_time 5000\n";
        let two = "usage_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 5\n";
        let expected = Throttling {
            periods: 3,
            stopped_ns: 5000,
        };
        assert_eq!(parse(one), Some(expected));
        assert_eq!(parse(two), Some(expected));
        assert_eq!(parse("usage_usec 1\n"), None);
    }
}
