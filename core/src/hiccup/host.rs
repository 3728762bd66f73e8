//! What the kernel reports of cores: steal time, heat, frequency; and its clock source. This file reads settings and
//! never changes them.

use std::fs::read_to_string;

use super::record::Core;
use super::throttling::{Quota, quota};

const CPUS: &str = "/sys/devices/system/cpu";
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const NS_PER_S: u64 = 1_000_000_000;

/// A reading of counters that only grow, and of settings of the host.
pub struct HostState {
    cores: Vec<CoreState>,
    pub throttling: Option<Quota>,
    pub clock_source: String,
}

struct CoreState {
    cpu: usize,
    steal_ns: Option<u64>,
    heat_events: Option<u64>,
    frequency_khz: Option<u64>,
}

impl HostState {
    pub fn read(cpus: &[usize]) -> Self {
        let statistics = read_to_string("/proc/stat").unwrap_or_default();
        let number = |cpu: usize, file: &str| {
            let text = read_to_string(format!("{CPUS}/cpu{cpu}/{file}")).ok()?;
            text.trim().parse().ok()
        };
        let cores = cpus.iter().map(|&cpu| CoreState {
            cpu,
            steal_ns: steal_ticks(&statistics, cpu).map(|ticks| ticks * tick_ns()),
            heat_events: number(cpu, "thermal_throttle/core_throttle_count"),
            frequency_khz: number(cpu, "cpufreq/scaling_cur_freq"),
        });
        HostState {
            cores: cores.collect(),
            throttling: quota(),
            clock_source: read_to_string(CLOCK_SOURCE)
                .unwrap_or_default()
                .trim()
                .to_owned(),
        }
    }

    /// What changed on each core since `before`, a reading of the same cores.
    pub fn since(&self, before: &HostState) -> Vec<Core> {
        let change = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        let both = self.cores.iter().zip(&before.cores);
        both.map(|(after, before)| Core {
            cpu: after.cpu,
            steal_ns: change(after.steal_ns, before.steal_ns),
            heat_events: change(after.heat_events, before.heat_events),
            frequency_khz: before.frequency_khz.zip(after.frequency_khz),
            lateness: None,
            speed: None,
        })
        .collect()
    }
}

/// The unit of /proc/stat: 10 ms on every common kernel, whatever the frequency of its timer.
pub fn tick_ns() -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    NS_PER_S / u64::try_from(per_second).unwrap_or(100).max(1)
}

/// proc_pid_stat(5): the eighth number of a core's line.
fn steal_ticks(statistics: &str, cpu: usize) -> Option<u64> {
    const STEAL: usize = 8;
    let name = format!("cpu{cpu}");
    let mut lines = statistics.lines().map(str::split_ascii_whitespace);
    let mut line = lines.find(|words| words.clone().next() == Some(&name))?;
    line.nth(STEAL)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number_of_the_cores_own_line() {
        let statistics =
            "cpu  1 2 3 4 5 6 7 80 9 10\ncpu1 1 2 3 4 5 6 7 30 9 10\ncpu10 1 2 3 4 5 6 7 50 0 0\n";
        assert_eq!(steal_ticks(statistics, 1), Some(30));
        assert_eq!(steal_ticks(statistics, 10), Some(50));
        assert_eq!(steal_ticks(statistics, 0), None);
        assert_eq!(steal_ticks("cpu0 1 2 3", 0), None);
    }

    #[test]
    fn this_kernel_tells_of_its_cores() {
        let cpus = crate::host::affinity::allowed().unwrap();
        let (before, after) = (HostState::read(&cpus), HostState::read(&cpus));
        let cores = after.since(&before);
        assert_eq!(cores.len(), cpus.len());
        assert!(cores.iter().all(|core| core.steal_ns.is_some()));
        assert_eq!(before.clock_source, after.clock_source);
    }
}
