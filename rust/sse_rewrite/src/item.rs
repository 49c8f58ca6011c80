//! Reads an output item's JSON into what the ledger needs: its identity and a payload digest.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::identity::{Field, Identity};

/// Keys that are not payload: identity, and what a server may add or change when it is done.
const NOT_PAYLOAD: [&str; 9] = [
    "type",
    "id",
    "call_id",
    "name",
    "namespace",
    "server_label",
    "status",
    "output_index",
    "sequence_number",
];

/// What an item says, reduced to what deciding takes.
///
/// The digest does not depend on the item's type: code that was streamed as a
/// `code_interpreter_call` and comes back as `reasoning` has the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Payload {
    /// Equal for equal payload. Log probabilities and status are not part of it.
    pub digest: u64,
    /// Whether there is no payload at all.
    pub empty: bool,
    /// Whether the item is a call whose arguments are no complete JSON text.
    pub broken: bool,
    /// The digest of a message's `phase`, where it has one.
    pub phase: Option<u64>,
}

impl Payload {
    /// The payload of an item that says nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::of(&[])
    }

    fn of(parts: &[String]) -> Self {
        let mut hasher = DefaultHasher::new();
        let mut empty = true;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            part.hash(&mut hasher);
            empty = false;
        }
        Self {
            digest: hasher.finish(),
            empty,
            broken: false,
            phase: None,
        }
    }

    /// Whether an item of the payload `rebuilt` can stand for one that said this (C6).
    ///
    /// It may have a phase that the streamed item lacks, but not lose or change one.
    #[must_use]
    pub fn is_kept_by(&self, rebuilt: &Self) -> bool {
        self.digest == rebuilt.digest && (self.phase.is_none() || self.phase == rebuilt.phase)
    }
}

/// An output item as the ledger sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What names it.
    pub identity: Identity,
    /// What it says.
    pub payload: Payload,
}

/// The text is not a JSON object, so it is no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnItem;

impl std::fmt::Display for NotAnItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an output item must be a JSON object with a string `type`")
    }
}

impl std::error::Error for NotAnItem {}

impl Item {
    /// Reads an item from its JSON text.
    ///
    /// Fields of an unexpected type are ignored: a server that sends `"id": 5` sends no id.
    ///
    /// # Errors
    ///
    /// [`NotAnItem`] where the text is no JSON object or has no `type`; such an item
    /// announces nothing.
    pub fn from_json(text: &str) -> Result<Self, NotAnItem> {
        let fields: HashMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|_| NotAnItem)?;
        let string =
            |key: &str| -> Option<String> { serde_json::from_str(fields.get(key)?.get()).ok() };
        let mut identity = Identity::of_kind(&string("type").unwrap_or_default());
        if identity.kind.is_empty() {
            return Err(NotAnItem);
        }
        for field in Field::ALL {
            identity.set(field, string(field.key()));
        }
        let payload = read_payload(&identity.kind, &fields);
        Ok(Self { identity, payload })
    }

    /// Whether the contract forbids to drop this item (C5): every kind of call counts, a
    /// message or reasoning only with something in it.
    #[must_use]
    pub fn carries_anything(&self) -> bool {
        !matches!(self.identity.kind.as_str(), "message" | "reasoning") || !self.payload.empty
    }
}

fn read_payload(kind: &str, fields: &HashMap<String, &RawValue>) -> Payload {
    let value = |key: &str| -> Value {
        fields
            .get(key)
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or(Value::Null)
    };
    match kind {
        "message" => Payload {
            phase: scalar(&value("phase")).map(|phase| Payload::of(&[phase]).digest),
            ..Payload::of(&texts(&value("content")))
        },
        "reasoning" => {
            let mut parts = texts(&value("content"));
            parts.extend(texts(&value("summary")));
            parts.extend(scalar(&value("encrypted_content")));
            Payload::of(&parts)
        }
        "function_call" => {
            let arguments = scalar(&value("arguments")).unwrap_or_default();
            let broken = serde_json::from_str::<IgnoredAny>(&arguments).is_err();
            Payload {
                broken,
                ..Payload::of(&[arguments])
            }
        }
        "code_interpreter_call" => Payload::of(&all_of(&[value("code"), value("outputs")])),
        "mcp_call" => Payload::of(&all_of(&[
            value("arguments"),
            value("output"),
            value("error"),
        ])),
        "custom_tool_call" => Payload::of(&all_of(&[value("input")])),
        _ => {
            let mut keys: Vec<&String> = fields
                .keys()
                .filter(|key| !NOT_PAYLOAD.contains(&key.as_str()))
                .collect();
            keys.sort_unstable();
            let values: Vec<Value> = keys.into_iter().map(|key| value(key)).collect();
            Payload::of(&all_of(&values))
        }
    }
}

/// The texts of a message's or reasoning item's parts, with their annotations.
fn texts(parts: &Value) -> Vec<String> {
    let Some(parts) = parts.as_array() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for part in parts {
        for key in ["text", "refusal", "annotations"] {
            found.extend(part.get(key).and_then(scalar));
        }
    }
    found
}

fn all_of(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(scalar).collect()
}

/// A text for anything that says something: the string itself, or canonical JSON.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.is_empty() => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> Item {
        Item::from_json(text).expect("a test item")
    }

    #[test]
    fn log_probabilities_status_and_spelling_are_not_payload() {
        let streamed = item(
            r#"{"type":"message","id":"a","status":"completed","content":[{"type":"output_text","text":"\u00e9","annotations":[]}]}"#,
        );
        let rebuilt = item(
            r#"{ "content": [{"text":"é","logprobs":[1],"type":"output_text"}], "type":"message","status":null}"#,
        );
        assert_eq!(streamed.payload, rebuilt.payload);
    }

    #[test]
    fn annotations_are_payload() {
        let plain = item(r#"{"type":"message","content":[{"text":"x","annotations":[]}]}"#);
        let cited = item(r#"{"type":"message","content":[{"text":"x","annotations":[{"a":1}]}]}"#);
        assert_ne!(plain.payload, cited.payload);
    }

    #[test]
    fn code_and_the_reasoning_it_comes_back_as_have_one_digest() {
        let code = item(r#"{"type":"code_interpreter_call","code":"print(1)","outputs":[]}"#);
        let reasoning = item(
            r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"print(1)"}]}"#,
        );
        assert_eq!(code.payload.digest, reasoning.payload.digest);
    }

    #[test]
    fn only_calls_and_what_has_text_must_be_kept() {
        assert!(!item(r#"{"type":"reasoning","content":[{"text":""}]}"#).carries_anything());
        assert!(!item(r#"{"type":"message","content":[]}"#).carries_anything());
        assert!(item(r#"{"type":"message","content":[{"text":"\n"}]}"#).carries_anything());
        assert!(item(r#"{"type":"function_call","arguments":""}"#).carries_anything());
    }

    #[test]
    fn arguments_that_were_cut_are_broken() {
        assert!(
            item(r#"{"type":"function_call","arguments":"{\"a\": "}"#)
                .payload
                .broken
        );
        assert!(
            !item(r#"{"type":"function_call","arguments":"{}"}"#)
                .payload
                .broken
        );
    }

    #[test]
    fn what_is_no_item_says_so() {
        assert_eq!(Item::from_json("null"), Err(NotAnItem));
        assert_eq!(Item::from_json(r#"{"id":"x"}"#), Err(NotAnItem));
        assert_eq!(
            item(r#"{"type":"x","id":5,"call_id":null}"#).identity.id,
            None
        );
    }
}
