//! The processor's counter: how it is read and where it can be trusted.
//!
//! A counter is trusted if it runs at one rate on all processors in all power states and if the kernel uses it as its
//! clock source: the watchdog of the kernel drops a counter that is not steady.

use std::fs;

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Name of the trusted counter of this host; `None` if stamps must come from the kernel.
pub fn trusted() -> Option<&'static str> {
    let kernel = fs::read_to_string(CLOCKSOURCE).unwrap_or_default();
    (steady() && KEPT_TIME_BY.contains(&kernel.trim())).then_some(NAME)
}

/// Name of a counter that runs at one rate by its specification, whether or not the kernel uses it. Such a counter
/// can be calibrated.
pub fn promised() -> Option<&'static str> {
    steady().then_some(NAME)
}

/// Whether the kernel's clock source of this name is this counter. Against such a clock source the counter can only
/// be compared with itself.
pub fn is_kept_time_by(clock_source: &str) -> bool {
    KEPT_TIME_BY.contains(&clock_source)
}

#[cfg(target_arch = "x86_64")]
mod architecture {
    use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};

    pub const NAME: &str = "TSC";
    /// kvm-clock is the TSC scaled by the hypervisor, which shows an invariant TSC only to guests that
    /// it does not move to another rate; a move in spite of that is found at the next anchor.
    pub const KEPT_TIME_BY: [&str; 2] = ["tsc", "kvm-clock"];

    /// Whether there are an invariant TSC (AMD APM 3 E.4.7, Intel SDM 3 §18.17.1) and RDTSCP.
    pub fn steady() -> bool {
        let most = __cpuid(0x8000_0000).eax;
        most >= 0x8000_0007
            && __cpuid(0x8000_0007).edx & 1 << 8 != 0
            && __cpuid(0x8000_0001).edx & 1 << 27 != 0
    }

    /// Ticks, read when all instructions before are done.
    #[inline]
    pub fn ticks() -> u64 {
        let mut processor = 0;
        // SAFETY: called only where `steady` found RDTSCP; it writes the processor's number to ours.
        unsafe { __rdtscp(&mut processor) }
    }

    /// Ticks in no order with what surrounds the read.
    #[inline]
    pub fn unordered_ticks() -> u64 {
        // SAFETY: every x86_64 processor has RDTSC, and Linux does not forbid it by default.
        unsafe { _rdtsc() }
    }

    /// Ticks, after all instructions before and before all instructions after.
    #[inline]
    pub fn fenced_ticks() -> u64 {
        // SAFETY: every x86_64 processor has LFENCE and RDTSC; no memory is touched.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod architecture {
    use std::arch::asm;

    pub const NAME: &str = "CNTVCT";
    pub const KEPT_TIME_BY: [&str; 1] = ["arch_sys_counter"];

    /// The architecture promises one rate (Arm ARM D12.1.2); broken ones are read by the kernel only.
    pub fn steady() -> bool {
        true
    }

    /// Ticks, read when all instructions before are done.
    #[inline]
    pub fn ticks() -> u64 {
        let ticks;
        // SAFETY: reads a register that Linux opens to user space; no memory is touched.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack)) };
        ticks
    }

    /// Ticks in no order with what surrounds the read.
    #[inline]
    pub fn unordered_ticks() -> u64 {
        let ticks;
        // SAFETY: as above.
        unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }

    /// Ticks, after all instructions before and before all instructions after.
    #[inline]
    pub fn fenced_ticks() -> u64 {
        let ticks;
        // SAFETY: as above.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack)) };
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod architecture {
    pub const NAME: &str = "none";
    pub const KEPT_TIME_BY: [&str; 0] = [];

    pub fn steady() -> bool {
        false
    }

    /// Never called: no counter is trusted here.
    pub fn ticks() -> u64 {
        crate::host::kernel_clock::monotonic_ns()
    }

    /// Never called: no counter is trusted here.
    pub fn unordered_ticks() -> u64 {
        crate::host::kernel_clock::monotonic_ns()
    }

    /// The kernel's clock in place of a counter: ns.
    pub fn fenced_ticks() -> u64 {
        crate::host::kernel_clock::monotonic_ns()
    }
}

use architecture::{KEPT_TIME_BY, NAME, steady};
pub use architecture::{fenced_ticks, ticks, unordered_ticks};
