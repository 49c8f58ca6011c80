//! Reads an output item's JSON into what the ledger needs: its identity and a payload digest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use serde_json::Value;

use crate::identity::{Field, Identity};
use crate::tail::Tail;
use crate::walk;

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
    /// How a function's arguments, or a message, end.
    pub tail: Tail,
    /// The digest of a message's `phase`, where it has one.
    pub phase: Option<u64>,
}

impl Payload {
    /// The payload of an item that says nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::of(&[])
    }

    fn of(parts: &[Cow<str>]) -> Self {
        let mut hasher = DefaultHasher::new();
        let mut empty = true;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            part.hash(&mut hasher);
            empty = false;
        }
        Self {
            digest: hasher.finish(),
            empty,
            tail: Tail::default(),
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
        let fields = Object::read(text.as_bytes()).ok_or(NotAnItem)?;
        let mut identity = Identity::of_kind(&fields.text("type").unwrap_or_default());
        if identity.kind.is_empty() {
            return Err(NotAnItem);
        }
        for field in Field::ALL {
            identity.set(field, fields.text(field.key()).map(Cow::into_owned));
        }
        let payload = read_payload(&identity.kind, &fields);
        Ok(Self { identity, payload })
    }

    /// Reads an item as a client decodes its bytes: what is no UTF-8 is U+FFFD.
    pub(crate) fn read(json: &[u8]) -> Result<Self, NotAnItem> {
        Self::from_json(&walk::decoded(json))
    }

    /// Whether the contract forbids to drop this item (C5): every kind of call counts, a
    /// message or reasoning only with something in it.
    #[must_use]
    pub fn carries_anything(&self) -> bool {
        !matches!(self.identity.kind.as_str(), "message" | "reasoning") || !self.payload.empty
    }
}

/// An object's members, of which the last of one name counts.
struct Object<'a> {
    json: &'a [u8],
    members: Vec<(Cow<'a, [u8]>, Range<usize>)>,
}

impl<'a> Object<'a> {
    fn read(json: &'a [u8]) -> Option<Self> {
        let mut members = Vec::new();
        let start = walk::skip_space(json, 0);
        let end = walk::object(json, start, |member| {
            members.push((walk::key(json, &member), member.value));
        })?;
        (walk::skip_space(json, end) == json.len()).then_some(Self { json, members })
    }

    fn value(&self, key: &str) -> Option<Range<usize>> {
        let mut members = self.members.iter().rev();
        let (_, value) = members.find(|(name, _)| **name == *key.as_bytes())?;
        Some(value.clone())
    }

    fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        walk::text(self.json, self.value(key)?)
    }

    /// What the member says, if anything.
    fn said(&self, key: &str) -> Option<Cow<'a, str>> {
        said(self.json.get(self.value(key)?)?)
    }

    /// The texts of a message's or reasoning item's parts, with their annotations.
    fn parts(&self, key: &str) -> Vec<Cow<'a, str>> {
        let mut found = Vec::new();
        let Some(parts) = self.value(key) else {
            return found;
        };
        walk::array(self.json, parts.start, |part| {
            let part = self.json.get(part).and_then(Object::read);
            let keys = ["text", "refusal", "annotations"].iter();
            found.extend(
                part.iter()
                    .flat_map(|part| keys.clone().filter_map(|key| part.said(key))),
            );
        });
        found
    }
}

fn read_payload(kind: &str, fields: &Object) -> Payload {
    let all_of =
        |keys: &[&str]| -> Vec<_> { keys.iter().filter_map(|key| fields.said(key)).collect() };
    match kind {
        "message" => {
            let parts = fields.parts("content");
            Payload {
                tail: parts.last().map(|text| Tail::of(text)).unwrap_or_default(),
                phase: fields
                    .said("phase")
                    .map(|phase| Payload::of(&[phase]).digest),
                ..Payload::of(&parts)
            }
        }
        "reasoning" => {
            let mut parts = fields.parts("content");
            parts.extend(fields.parts("summary"));
            parts.extend(fields.said("encrypted_content"));
            Payload::of(&parts)
        }
        "function_call" => {
            let arguments = fields.said("arguments").unwrap_or_default();
            Payload {
                tail: Tail::of(&arguments),
                ..Payload::of(&[arguments])
            }
        }
        "code_interpreter_call" => Payload::of(&all_of(&["code", "outputs"])),
        "mcp_call" => Payload::of(&all_of(&["arguments", "output", "error"])),
        "custom_tool_call" => Payload::of(&all_of(&["input"])),
        _ => {
            let members = fields.members.iter();
            let named = members.map(|(name, value)| (&**name, value.clone()));
            let named: BTreeMap<&[u8], Range<usize>> = named
                .filter(|(name, _)| NOT_PAYLOAD.iter().all(|other| other.as_bytes() != *name))
                .collect();
            let values = named.into_values();
            let said: Vec<_> = values
                .filter_map(|value| said(fields.json.get(value)?))
                .collect();
            Payload::of(&said)
        }
    }
}

/// A text for anything that says something: the string itself, or canonical JSON.
///
/// What cannot be decoded, such as half a surrogate pair, says what its bytes say.
fn said(value: &[u8]) -> Option<Cow<'_, str>> {
    if value.starts_with(b"\"") {
        let text = walk::text(value, 0..value.len());
        return Some(text.unwrap_or_else(|| walk::decoded(value)));
    }
    match serde_json::from_slice(value) {
        Ok(Value::Null) => None,
        Ok(Value::Array(items)) if items.is_empty() => None,
        Ok(other) => Some(Cow::Owned(other.to_string())),
        Err(_) => Some(walk::decoded(value)),
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
    fn what_is_no_item_says_so() {
        assert_eq!(Item::from_json("null"), Err(NotAnItem));
        assert_eq!(Item::from_json(r#"{"id":"x"}"#), Err(NotAnItem));
        assert_eq!(
            item(r#"{"type":"x","id":5,"call_id":null}"#).identity.id,
            None
        );
    }
}
