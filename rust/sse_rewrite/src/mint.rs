//! Ids that are made here, not upstream: conventional prefixes and unique replacements.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Each item type's conventional id prefix (contract, "Ids that are minted").
const PREFIXES: [(&str, &str); 7] = [
    ("message", "msg_"),
    ("reasoning", "rs_"),
    ("function_call", "fc_"),
    ("custom_tool_call", "ctc_"),
    ("mcp_call", "mcp_"),
    ("code_interpreter_call", "ci_"),
    ("web_search_call", "ws_"),
];

/// vLLM's own prefix for the ids of built-in tool calls.
const VLLM_TOOL_PREFIX: &str = "tool_";

/// The conventional id prefix of an item type, where it has one.
#[must_use]
pub fn prefix(kind: &str) -> Option<&'static str> {
    PREFIXES
        .iter()
        .find_map(|&(name, prefix)| (name == kind).then_some(prefix))
}

/// The item type as a metric label: one of those with a convention, or `other`.
#[must_use]
pub fn label(kind: &str) -> &'static str {
    let known = PREFIXES.iter().find(|&&(name, _)| name == kind);
    known.map_or("other", |&(name, _)| name)
}

/// `id` under the conventional prefix of `kind`, its own part kept.
///
/// A type without a convention keeps its id as it is.
#[must_use]
pub fn conventional(kind: &str, id: &str) -> String {
    let Some(own) = prefix(kind) else {
        return id.to_owned();
    };
    if id.starts_with(own) {
        return id.to_owned();
    }
    let bare = PREFIXES
        .iter()
        .map(|&(_, prefix)| prefix)
        .chain([VLLM_TOOL_PREFIX])
        .find_map(|prefix| id.strip_prefix(prefix))
        .unwrap_or(id);
    format!("{own}{bare}")
}

/// An id for an item that has none of its own, the same for the same input.
///
/// Minting is a function of its arguments, not of chance, so that a stream cut differently
/// into chunks is still rewritten to the same bytes.
#[must_use]
pub fn item_id(kind: &str, response_id: &str, slot: usize, attempt: u32) -> String {
    let prefix = prefix(kind).unwrap_or("item_");
    format!("{prefix}{:016x}", hash(kind, response_id, slot, attempt))
}

/// A `call_id` for a call that has none, or another call's.
#[must_use]
pub fn call_id(response_id: &str, slot: usize, attempt: u32) -> String {
    format!("call_{:016x}", hash("call_id", response_id, slot, attempt))
}

fn hash(purpose: &str, response_id: &str, slot: usize, attempt: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (purpose, response_id, slot, attempt).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_type_with_a_convention_or_other() {
        assert_eq!(label("mcp_call"), "mcp_call");
        assert_eq!(label("made_up"), "other");
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
