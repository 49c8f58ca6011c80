//! Ids: which item has which, and how one is made where there is none (C11).

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::contract::catalogue::{ITEM_TYPES, id_prefix};

/// vLLM's own prefix for the ids of built-in tool calls.
const VLLM_TOOL_PREFIX: &str = "tool_";

/// How many ids of one item are remembered; a server that changes them often is found by index.
const MAX_PER_ITEM: usize = 8;

/// One kind of name, `id` or `call_id`, over all items of a response.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdRegistry {
    /// The items that the server has called by a name, in order of announcement.
    owners: HashMap<String, Vec<usize>>,
    /// How many names each item has here.
    counts: Vec<usize>,
    /// The names that were sent on: each names one item.
    taken: HashSet<String>,
}

impl IdRegistry {
    /// The items that were called `name`, in order of announcement.
    pub(crate) fn owners(&self, name: &str) -> &[usize] {
        self.owners.get(name).map_or(&[], Vec::as_slice)
    }

    /// Remembers that the item at `index` was called `name`.
    pub(crate) fn add(&mut self, name: &str, index: usize) {
        if self.owners(name).contains(&index) {
            return;
        }
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(index).filter(|n| **n < MAX_PER_ITEM) {
            *count += 1;
            self.owners.entry(name.to_owned()).or_default().push(index);
        }
    }

    /// Whether `name` was sent on as some item's own.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Takes `wanted` if no item has it, else the first free name that `minted` offers.
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

/// `id` under the conventional prefix of `kind`, its own part kept.
///
/// A type without a convention keeps its id as it is.
#[must_use]
pub fn conventional(kind: &str, id: &str) -> String {
    let Some(own) = id_prefix(kind) else {
        return id.to_owned();
    };
    if id.starts_with(own) {
        return id.to_owned();
    }
    let prefixes = ITEM_TYPES.iter().filter_map(|row| row.id_prefix);
    let bare = prefixes
        .chain([VLLM_TOOL_PREFIX])
        .find_map(|prefix| id.strip_prefix(prefix))
        .unwrap_or(id);
    format!("{own}{bare}")
}

/// An id for an item that has none of its own, the same for the same input.
///
/// It is a function of its arguments, not of chance, so that a stream cut differently into
/// chunks is still rewritten to the same bytes.
#[must_use]
pub fn item_id(kind: &str, response_id: &str, index: usize, attempt: u32) -> String {
    let prefix = id_prefix(kind).unwrap_or("item_");
    format!("{prefix}{:016x}", hash(kind, response_id, index, attempt))
}

/// A `call_id` for a call that has none, or another call's.
#[must_use]
pub fn call_id(response_id: &str, index: usize, attempt: u32) -> String {
    format!("call_{:016x}", hash("call_id", response_id, index, attempt))
}

fn hash(purpose: &str, response_id: &str, index: usize, attempt: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (purpose, response_id, index, attempt).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_all_items_that_were_called_by_it() {
        let mut registry = IdRegistry::default();
        registry.add("a", 0);
        registry.add("a", 0);
        registry.add("a", 2);
        assert_eq!(registry.owners("a"), [0, 2]);
        assert_eq!(registry.owners("b"), [0; 0]);
    }

    #[test]
    fn the_names_of_an_item_are_bounded() {
        let mut registry = IdRegistry::default();
        (0..100).for_each(|name| registry.add(&name.to_string(), 0));
        assert_eq!(registry.owners.len(), MAX_PER_ITEM);
        registry.add("x", 1);
        assert_eq!(registry.owners("x"), [1]);
    }

    #[test]
    fn a_taken_name_is_replaced_by_the_first_free_one() {
        let mut registry = IdRegistry::default();
        let minted = |attempt: u32| format!("m{attempt}");
        let mut take = |wanted: Option<&str>| registry.take(wanted.map(str::to_owned), minted);
        assert_eq!(take(Some("m0")), ("m0".into(), false));
        assert_eq!(take(Some("m0")), ("m1".into(), true));
        assert_eq!(take(None), ("m2".into(), true));
        assert!(registry.is_taken("m2"));
    }

    #[test]
    fn the_hexadecimal_part_is_kept_under_the_conventional_prefix() {
        for (kind, id, want) in [
            ("reasoning", "89d3c2a7e9e2f1cd", "rs_89d3c2a7e9e2f1cd"),
            ("reasoning", "msg_aee679956e1b7ea2", "rs_aee679956e1b7ea2"),
            (
                "code_interpreter_call",
                "tool_bbac156178189d5f",
                "ci_bbac156178189d5f",
            ),
            (
                "web_search_call",
                "tool_bbac156178189d5f",
                "ws_bbac156178189d5f",
            ),
            (
                "function_call",
                "fc_a2e7ebc8bbc3aadf",
                "fc_a2e7ebc8bbc3aadf",
            ),
            ("image_generation_call", "ig_1", "ig_1"),
        ] {
            assert_eq!(conventional(kind, id), want);
        }
    }

    #[test]
    fn minting_depends_on_its_input_only() {
        assert_eq!(
            item_id("message", "resp_1", 0, 0),
            item_id("message", "resp_1", 0, 0)
        );
        assert_ne!(
            item_id("message", "resp_1", 0, 0),
            item_id("message", "resp_1", 1, 0)
        );
        assert_ne!(call_id("resp_1", 0, 0), call_id("resp_1", 0, 1));
    }
}
