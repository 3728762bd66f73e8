//! The groups that a device has learned from IGMP and MLD messages, and the copies that it makes of a frame.
//!
//! A group is known by its MAC address. Times never decrease.

use std::collections::HashMap;

use serde::Deserialize;

use super::device::{SnoopingSettings, Unknown};

const PS_PER_NS: f64 = 1e3;
const PS_PER_S: f64 = 1e12;

/// A message of a receiver to the device.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// It joins the group; otherwise it leaves it.
    pub joins: bool,
    /// The group's MAC address.
    pub group: u64,
}

pub struct Snooping {
    most_groups: usize,
    join_ps: u64,
    leave_ps: u64,
    floods_unknown: bool,
    groups: HashMap<u64, Vec<Member>>,
    copying: Option<Copying>,
}

/// A port behind which a group has receivers.
struct Member {
    port: usize,
    from_ps: u64,
    until_ps: u64,
}

/// What makes the copies, one after the other.
struct Copying {
    copy_ps: u64,
    /// A frame that would wait longer for a copy gets none.
    longest_ps: u64,
    free_ps: u64,
}

impl Snooping {
    pub fn new(model: &SnoopingSettings) -> Self {
        let copying = model.copies_per_second.map(|rate| {
            let copy_ps = (PS_PER_S / rate).round() as u64;
            Copying {
                copy_ps,
                longest_ps: copy_ps * u64::from(model.waiting_copies),
                free_ps: 0,
            }
        });
        Snooping {
            most_groups: model.groups as usize,
            join_ps: (model.join_ns * PS_PER_NS).round() as u64,
            leave_ps: (model.leave_ns * PS_PER_NS).round() as u64,
            floods_unknown: model.unknown == Unknown::Flood,
            groups: HashMap::new(),
            copying,
        }
    }

    /// A message arrives at `port`.
    pub fn hear(&mut self, message: Message, port: usize, now_ps: u64) {
        if !message.joins {
            let until_ps = now_ps + self.leave_ps;
            for member in self.groups.get_mut(&message.group).into_iter().flatten() {
                if member.port == port {
                    member.until_ps = member.until_ps.min(until_ps);
                }
            }
            return;
        }
        if !self.groups.contains_key(&message.group) && !self.has_room(now_ps) {
            return;
        }
        let members = self.groups.entry(message.group).or_default();
        let stays = members
            .iter_mut()
            .find(|one| one.port == port && one.until_ps > now_ps);
        match stays {
            Some(member) => member.until_ps = u64::MAX,
            None => {
                members.retain(|one| one.port != port);
                members.push(Member {
                    port,
                    from_ps: now_ps + self.join_ps,
                    until_ps: u64::MAX,
                });
            }
        }
    }

    /// Whether the group has a receiver, so that its frames go to receivers only.
    pub fn knows(&self, group: u64, now_ps: u64) -> bool {
        let members = self.groups.get(&group);
        members.is_some_and(|own| own.iter().any(|member| member.receives(now_ps)))
    }

    /// Whether frames of the group go to `port`.
    pub fn leads_to(&self, group: u64, port: usize, now_ps: u64) -> bool {
        let members = self.groups.get(&group);
        let is_there = |member: &Member| member.port == port && member.receives(now_ps);
        members.is_some_and(|own| own.iter().any(is_there))
    }

    pub fn floods_unknown(&self) -> bool {
        self.floods_unknown
    }

    /// How long a copy of a frame that arrives at `now_ps` is delayed; nothing if it is not made.
    pub fn copy(&mut self, now_ps: u64) -> Option<u64> {
        let Some(copying) = &mut self.copying else {
            return Some(0);
        };
        let start_ps = copying.free_ps.max(now_ps);
        if start_ps - now_ps > copying.longest_ps {
            return None;
        }
        copying.free_ps = start_ps + copying.copy_ps;
        Some(copying.free_ps - now_ps)
    }

    fn has_room(&mut self, now_ps: u64) -> bool {
        if self.groups.len() >= self.most_groups {
            self.groups
                .retain(|_, members| members.iter().any(|member| member.until_ps > now_ps));
        }
        self.groups.len() < self.most_groups
    }
}

impl Member {
    fn receives(&self, now_ps: u64) -> bool {
        (self.from_ps..self.until_ps).contains(&now_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snooping(groups: u32, copies_per_second: Option<f64>) -> Snooping {
        Snooping::new(&SnoopingSettings {
            groups,
            join_ns: 1.0,
            leave_ns: 2.0,
            unknown: Unknown::Drop,
            copies_per_second,
            waiting_copies: 2,
        })
    }

    const JOIN: Message = Message {
        joins: true,
        group: 7,
    };
    const LEAVE: Message = Message {
        joins: false,
        group: 7,
    };

    #[test]
    fn a_port_receives_from_its_join_to_its_leave_each_with_its_delay() {
        let mut own = snooping(1, None);
        own.hear(JOIN, 3, 500);
        assert_eq!([1499, 1500].map(|at| own.leads_to(7, 3, at)), [false, true]);
        assert!(own.knows(7, 1500) && !own.leads_to(7, 2, 1500) && !own.knows(8, 1500));
        own.hear(LEAVE, 2, 1600);
        assert!(own.leads_to(7, 3, 9999));
        own.hear(LEAVE, 3, 10_000);
        assert_eq!(
            [11_999, 12_000].map(|at| own.leads_to(7, 3, at)),
            [true, false]
        );
        own.hear(JOIN, 3, 11_000);
        assert!(own.leads_to(7, 3, 12_000), "it joined again in time");
    }

    #[test]
    fn groups_beyond_the_room_are_not_learned_until_one_is_left() {
        let mut own = snooping(1, None);
        let other = Message {
            joins: true,
            group: 8,
        };
        own.hear(JOIN, 3, 0);
        own.hear(other, 3, 0);
        assert!(own.knows(7, 1000) && !own.knows(8, 1000));
        own.hear(LEAVE, 3, 2000);
        own.hear(other, 3, 4001);
        assert!(own.knows(8, 5001));
    }

    #[test]
    fn copies_wait_for_each_other_and_too_many_are_not_made() {
        let mut own = snooping(1, Some(1e9));
        let delays: Vec<_> = (0..5).map(|_| own.copy(0)).collect();
        assert_eq!(delays, [Some(1000), Some(2000), Some(3000), None, None]);
        assert_eq!(own.copy(2500), Some(1500));
    }
}
