//! What this machine is, as the tester keeps it beside a record: the keys of `keisoku/ground/host/context.py`, without those of
//! Python.

use std::fs::read_to_string;

use serde_json::{Value, json};

use keisoku::host::affinity;

/// Properties of this machine that can influence a result.
pub fn context() -> Value {
    let name = read("/proc/sys/kernel/hostname");
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    json!({
        "host": name,
        "system": system().unwrap_or_else(|| "Linux".into()),
        "kernel": read("/proc/sys/kernel/osrelease"),
        "cpu": cpu().unwrap_or_else(|| std::env::consts::ARCH.into()),
        "cpus": std::thread::available_parallelism().map_or(1, usize::from),
        "governor": if governor.is_empty() { "not visible".into() } else { governor },
        "clock_source": if source.is_empty() { "unknown".into() } else { source },
        "scheduling": scheduling(),
        "versions": {"keisoku": env!("CARGO_PKG_VERSION")},
    })
}

/// Whom this process shares CPUs with (sched(7)).
fn scheduling() -> Value {
    let group = read("/proc/self/autogroup");
    let (name, nice) = group
        .rsplit_once(' ')
        .map_or((String::new(), None), |(name, nice)| {
            let name = name.split(' ').next().unwrap_or_default();
            (
                name.trim_start_matches('/').to_owned(),
                nice.parse::<i32>().ok(),
            )
        });
    // SAFETY: these calls take numbers and return them.
    let (session, nice_here, policy) = unsafe {
        (
            libc::getsid(0),
            libc::getpriority(libc::PRIO_PROCESS, 0),
            libc::sched_getscheduler(0),
        )
    };
    let policy = match policy {
        libc::SCHED_OTHER => "normal",
        libc::SCHED_BATCH => "batch",
        libc::SCHED_IDLE => "idle",
        libc::SCHED_FIFO => "fifo",
        libc::SCHED_RR => "rr",
        _ => "other",
    };
    json!({
        "session": session,
        "own_session": u32::try_from(session) == Ok(std::process::id()),
        "autogroups": read("/proc/sys/kernel/sched_autogroup_enabled") == "1",
        "autogroup": name,
        "autogroup_nice": nice,
        "nice": nice_here,
        "policy": policy,
        "cpus": affinity::allowed().unwrap_or_default(),
    })
}

fn system() -> Option<String> {
    let text = read_to_string("/etc/os-release")
        .or_else(|_| read_to_string("/usr/lib/os-release"))
        .ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

fn cpu() -> Option<String> {
    let text = read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

fn read(path: &str) -> String {
    read_to_string(path).map_or(String::new(), |text| text.trim().to_owned())
}
