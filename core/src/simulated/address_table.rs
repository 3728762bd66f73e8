//! The port behind which `address` is; `None` if it is not known.

use std::collections::HashMap;

use super::device;

const PS_PER_S: f64 = 1e12;

pub struct AddressTable {
    entries: usize,
    ageing_ps: u64,
    /// The time to learn one address. A new address that arrives meanwhile is not learned.
    learning_ps: u64,
    learning_until_ps: u64,
    /// The port of each address, and when the address was last seen.
    places: HashMap<u64, (usize, u64)>,
    /// Before this time no entry is too old.
    next_ageing_ps: u64,
}

impl AddressTable {
    pub fn new(model: &device::AddressTableSettings) -> Self {
        let ageing_ps = (model.ageing_s * PS_PER_S).round() as u64;
        AddressTable {
            entries: model.entries as usize,
            ageing_ps,
            learning_ps: model
                .learning_per_second
                .map_or(0, |rate| (PS_PER_S / rate).floor() as u64),
            learning_until_ps: 0,
            places: HashMap::new(),
            next_ageing_ps: ageing_ps,
        }
    }

    /// A frame from `address` arrived at `port`. Times never decrease.
    pub fn learn(&mut self, address: u64, port: usize, now_ps: u64) {
        if let Some(place) = self.places.get_mut(&address)
            && now_ps - place.1 < self.ageing_ps
        {
            *place = (port, now_ps);
            return;
        }
        if now_ps < self.learning_until_ps || !self.has_room(now_ps) {
            return;
        }
        self.learning_until_ps = now_ps + self.learning_ps;
        self.places.insert(address, (port, now_ps));
    }

    /// Adds an address that was known before the trial, which takes no time.
    pub fn know(&mut self, address: u64, port: usize) {
        if self.places.len() < self.entries {
            self.places.insert(address, (port, 0));
        }
    }

    /// The port behind which `address` is; nothing if it is not known.
    pub fn find(&self, address: u64, now_ps: u64) -> Option<usize> {
        let &(port, seen_ps) = self.places.get(&address)?;
        (now_ps - seen_ps < self.ageing_ps).then_some(port)
    }

    fn has_room(&mut self, now_ps: u64) -> bool {
        if self.places.len() >= self.entries && now_ps >= self.next_ageing_ps {
            let ageing_ps = self.ageing_ps;
            self.places.retain(|_, place| now_ps - place.1 < ageing_ps);
            let oldest_ps = self.places.values().map(|place| place.1).min();
            self.next_ageing_ps = oldest_ps.unwrap_or(now_ps) + ageing_ps;
        }
        self.places.len() < self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: u32, learning_per_second: Option<f64>, ageing_s: f64) -> AddressTable {
        AddressTable::new(&device::AddressTableSettings {
            entries,
            learning_per_second,
            ageing_s,
        })
    }

    #[test]
    fn a_full_table_learns_nothing_until_an_entry_is_too_old() {
        let mut table = table(2, None, 1e-12 * 100.0);
        table.learn(1, 0, 0);
        table.learn(2, 0, 50);
        table.learn(3, 1, 99);
        assert_eq!(
            [table.find(1, 99), table.find(2, 99), table.find(3, 99)],
            [Some(0), Some(0), None]
        );
        assert_eq!(table.find(1, 100), None);
        table.learn(3, 1, 100);
        assert_eq!([table.find(2, 149), table.find(3, 149)], [Some(0), Some(1)]);
    }

    #[test]
    fn an_address_that_is_seen_again_stays_and_moves() {
        let mut table = table(1, None, 1e-12 * 100.0);
        table.learn(1, 0, 0);
        table.learn(1, 2, 90);
        assert_eq!(table.find(1, 189), Some(2));
        assert_eq!(table.find(1, 190), None);
    }

    #[test]
    fn what_comes_while_it_learns_is_not_learned() {
        let mut table = table(9, Some(1e9), 1.0);
        for (address, now_ps) in [(1, 0), (2, 999), (3, 1000), (4, 2000)] {
            table.learn(address, 0, now_ps);
        }
        let known: Vec<_> = (1..5)
            .filter(|address| table.find(*address, 3000).is_some())
            .collect();
        assert_eq!(known, [1, 3, 4]);
    }
}
