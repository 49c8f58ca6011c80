//! Which item answers to an id, and which ids are taken (C11).

use std::collections::{HashMap, HashSet};

/// Who answers to an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The item in this slot alone.
    One(usize),
    /// Several items, where a server is careless: the id names none of them.
    Many,
}

/// One kind of name, `id` or `call_id`, over all items of a response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    owners: HashMap<String, Owner>,
    taken: HashSet<String>,
}

impl Directory {
    /// Who answers to `name`, whether it was sent on or is upstream's only.
    pub(crate) fn owner(&self, name: &str) -> Option<Owner> {
        self.owners.get(name).copied()
    }

    /// The slot of the one item that answers to `name`.
    pub(crate) fn sole_owner(&self, name: &str) -> Option<usize> {
        match self.owner(name) {
            Some(Owner::One(slot)) => Some(slot),
            _ => None,
        }
    }

    /// The item in `slot` was announced as `name`; what others have too names nobody.
    pub(crate) fn claim(&mut self, name: &str, slot: usize) {
        self.owners
            .entry(name.to_owned())
            .and_modify(|owner| {
                if *owner != Owner::One(slot) {
                    *owner = Owner::Many;
                }
            })
            .or_insert(Owner::One(slot));
    }

    /// The item in `slot` answers to `name` unless another does: a stale name proves nothing.
    pub(crate) fn claim_vacant(&mut self, name: &str, slot: usize) {
        self.owners
            .entry(name.to_owned())
            .or_insert(Owner::One(slot));
    }

    /// Takes `name` if nobody has it; returns whether nobody had.
    pub(crate) fn take_free(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes `wanted` if nobody has it, else the first free name that `minted` offers.
    ///
    /// Returns the name, and whether it was minted.
    pub(crate) fn take(
        &mut self,
        wanted: Option<String>,
        minted: impl Fn(u32) -> String,
    ) -> (String, bool) {
        if let Some(wanted) = wanted
            && self.taken.insert(wanted.clone())
        {
            return (wanted, false);
        }
        let mut attempt = 0;
        loop {
            let name = minted(attempt);
            if self.taken.insert(name.clone()) {
                return (name, true);
            }
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_items_names_neither() {
        let mut directory = Directory::default();
        directory.claim("a", 0);
        directory.claim("a", 0);
        assert_eq!(directory.sole_owner("a"), Some(0));
        directory.claim("a", 1);
        assert_eq!(directory.owner("a"), Some(Owner::Many));
        assert_eq!(directory.sole_owner("a"), None);
    }

    #[test]
    fn a_stale_name_stays_with_its_owner() {
        let mut directory = Directory::default();
        directory.claim("a", 0);
        directory.claim_vacant("a", 1);
        assert_eq!(directory.sole_owner("a"), Some(0));
    }

    #[test]
    fn a_taken_name_is_replaced_by_the_first_free_one() {
        let mut directory = Directory::default();
        let minted = |attempt: u32| format!("m{attempt}");
        assert_eq!(
            directory.take(Some("m0".into()), minted),
            ("m0".into(), false)
        );
        assert_eq!(
            directory.take(Some("m0".into()), minted),
            ("m1".into(), true)
        );
        assert_eq!(directory.take(None, minted), ("m2".into(), true));
    }
}
