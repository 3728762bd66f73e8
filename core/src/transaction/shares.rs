//! `Shares`: how long a server's own host held transactions, in all of a trial.

use serde::Serialize;

use crate::latency::histogram::{Buckets, Histogram};

/// Times between four moments of a transaction in the server's host: the kernel had the request, the program had read
/// it, it called to send the response, the response left. Only transactions with both of the kernel's stamps count.
#[derive(Default)]
pub struct Shares {
    reading: Times,
    answering: Times,
    sending: Times,
    all: Times,
}

#[derive(Default)]
struct Times {
    count: u64,
    sum_ns: i64,
    histogram: Histogram,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct TimesReport {
    pub count: u64,
    pub sum_ns: i64,
    pub buckets: Buckets,
}

/// As it crosses to Python.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SharesReport {
    /// From the kernel's stamp of the request until the program had read it.
    pub reading: TimesReport,
    /// From there until it called to send the response.
    pub answering: TimesReport,
    /// From there until the kernel's stamp of the response.
    pub sending: TimesReport,
    pub all: TimesReport,
}

impl Times {
    fn record(&mut self, ns: i64) {
        self.count += 1;
        self.sum_ns += ns;
        self.histogram.record(ns);
    }

    fn report(&self) -> TimesReport {
        TimesReport {
            count: self.count,
            sum_ns: self.sum_ns,
            buckets: self.histogram.buckets(),
        }
    }
}

impl Shares {
    /// All times are of one clock, in ns.
    pub fn record(&mut self, arrived: u64, read: u64, sent: u64, left: u64) {
        self.reading.record(read as i64 - arrived as i64);
        self.answering.record(sent as i64 - read as i64);
        self.sending.record(left as i64 - sent as i64);
        self.all.record(left as i64 - arrived as i64);
    }

    pub fn report(&self) -> SharesReport {
        SharesReport {
            reading: self.reading.report(),
            answering: self.answering.report(),
            sending: self.sending.report(),
            all: self.all.report(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_the_whole() {
        let mut shares = Shares::default();
        shares.record(1000, 1010, 1013, 1033);
        shares.record(2000, 2020, 2021, 2022);
        let told = shares.report();
        let sums = [&told.reading, &told.answering, &told.sending].map(|one| one.sum_ns);
        assert_eq!(sums, [30, 4, 21]);
        assert_eq!((told.all.count, told.all.sum_ns), (2, 55));
        assert_eq!(told.all.buckets.counts, [1, 1]);
    }
}
