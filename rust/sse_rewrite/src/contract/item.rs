//! Reads an output item's JSON into what deciding takes: its identity and a payload digest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use serde_json::Value;

use crate::contract::catalogue::{Role, item_type};
use crate::contract::identity::{Field, Identity};
use crate::contract::tail::Tail;
use crate::json::scan;

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

/// Keys of ciphertext, which is another one each time it is made of the same text (C6).
const CIPHERTEXT: [&str; 2] = ["encrypted_content", "fingerprint"];

/// What an item says, reduced to what deciding takes.
///
/// The digest does not depend on the item's type: code that was streamed as a
/// `code_interpreter_call` and comes back as `reasoning` has the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Payload {
    /// Equal for equal payload. Log probabilities, status and ciphertext are not part of it.
    pub digest: u64,
    /// Whether there is no payload at all, as far as it can be read.
    pub empty: bool,
    /// Whether there is ciphertext, which says something that only the server can read.
    pub encrypted: bool,
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

    /// The payload of an item that consists of these texts, in order.
    #[must_use]
    pub fn of(texts: &[Cow<str>]) -> Self {
        let mut hasher = DefaultHasher::new();
        let mut empty = true;
        for text in texts.iter().filter(|text| !text.is_empty()) {
            text.hash(&mut hasher);
            empty = false;
        }
        Self {
            digest: hasher.finish(),
            empty,
            encrypted: false,
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

/// An output item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its JSON text.
    pub json: &'a [u8],
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

impl<'a> Item<'a> {
    /// Reads an item from its JSON text, as a client decodes it: what is no UTF-8 is U+FFFD.
    ///
    /// Fields of an unexpected type are ignored: a server that sends `"id": 5` sends no id.
    ///
    /// # Errors
    ///
    /// [`NotAnItem`] where the text is no JSON object or has no `type`; such an item
    /// announces nothing.
    pub fn read(json: &'a [u8]) -> Result<Self, NotAnItem> {
        let fields = Object::read(json).ok_or(NotAnItem)?;
        let mut identity = Identity::of_kind(&fields.text("type").unwrap_or_default());
        if identity.kind.is_empty() {
            return Err(NotAnItem);
        }
        for field in Field::ALL {
            identity.set(field, fields.text(field.key()).map(Cow::into_owned));
        }
        let payload = read_payload(&identity.kind, &fields);
        Ok(Self {
            json,
            identity,
            payload,
        })
    }

    /// Whether the contract forbids to drop this item (C5): every kind of call counts, a
    /// message or reasoning only with something in it.
    #[must_use]
    pub fn carries_anything(&self) -> bool {
        let is_content = item_type(&self.identity.kind).role == Role::Content;
        !is_content || !self.payload.empty || self.payload.encrypted
    }

    /// The text that the deltas of an item of this type make up, if it is there.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'a, str>> {
        let key = item_type(&self.identity.kind).text?;
        Object::read(self.json)?.text(key)
    }

    /// Whether one of its texts is `text`.
    #[must_use]
    pub fn has_text(&self, text: &str) -> bool {
        if let Some(own) = self.text() {
            return own == text;
        }
        Object::read(self.json).is_some_and(|fields| {
            let lists = ["content", "summary"].iter();
            let mut texts = lists.flat_map(|key| fields.parts(key, &["text", "refusal"]));
            texts.any(|own| own == text)
        })
    }

    /// All texts of the item, one after the other.
    #[must_use]
    pub fn texts(&self) -> String {
        let Some(fields) = Object::read(self.json) else {
            return String::new();
        };
        match item_type(&self.identity.kind).text {
            Some(key) => fields.text(key).unwrap_or_default().into_owned(),
            None => ["content", "summary"]
                .iter()
                .flat_map(|key| fields.parts(key, &["text", "refusal"]))
                .collect(),
        }
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
        let start = scan::skip_space(json, 0);
        let end = scan::object(json, start, |member| {
            members.push((scan::key(json, &member), member.value));
        })?;
        (scan::skip_space(json, end) == json.len()).then_some(Self { json, members })
    }

    fn value(&self, key: &str) -> Option<Range<usize>> {
        let mut members = self.members.iter().rev();
        let (_, value) = members.find(|(name, _)| **name == *key.as_bytes())?;
        Some(value.clone())
    }

    fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        scan::text(self.json, self.value(key)?)
    }

    /// What the member says, if anything.
    fn said(&self, key: &str) -> Option<Cow<'a, str>> {
        said(self.json.get(self.value(key)?)?)
    }

    /// What the parts of a message or of reasoning say under these keys.
    fn parts(&self, key: &str, keys: &[&str]) -> Vec<Cow<'a, str>> {
        let mut found = Vec::new();
        let Some(parts) = self.value(key) else {
            return found;
        };
        scan::array(self.json, parts.start, |part| {
            let part = self.json.get(part).and_then(Object::read);
            let said = part
                .iter()
                .flat_map(|part| keys.iter().filter_map(|key| part.said(key)));
            found.extend(said);
        });
        found
    }
}

/// The keys of a part that say something.
pub(crate) const PART_PAYLOAD: [&str; 3] = ["text", "refusal", "annotations"];

/// What one part says.
pub(crate) fn part_payload(part: &[u8]) -> Vec<Cow<'_, str>> {
    let fields = Object::read(part);
    let fields = fields.iter();
    fields
        .flat_map(|part| PART_PAYLOAD.iter().filter_map(|key| part.said(key)))
        .collect()
}

fn read_payload(kind: &str, fields: &Object) -> Payload {
    let row = item_type(kind);
    let encrypted = CIPHERTEXT.iter().any(|key| fields.said(key).is_some());
    let payload = match (row.role, row.payload) {
        (Role::Content, _) => {
            let mut texts = fields.parts("content", &PART_PAYLOAD);
            let tail = texts.last().map(|text| Tail::of(text));
            texts.extend(fields.parts("summary", &PART_PAYLOAD));
            let phase = fields.said("phase");
            Payload {
                tail: tail.unwrap_or_default(),
                phase: phase.map(|phase| Payload::of(&[phase]).digest),
                ..Payload::of(&texts)
            }
        }
        (_, []) => {
            let members = fields.members.iter();
            let named: BTreeMap<&[u8], Range<usize>> = members
                .map(|(name, value)| (&**name, value.clone()))
                .filter(|(name, _)| {
                    let excluded = NOT_PAYLOAD.iter().chain(&CIPHERTEXT);
                    excluded.clone().all(|other| other.as_bytes() != *name)
                })
                .collect();
            let values = named.into_values();
            let said: Vec<_> = values
                .filter_map(|value| said(fields.json.get(value)?))
                .collect();
            Payload::of(&said)
        }
        (_, keys) => {
            let said: Vec<_> = keys.iter().filter_map(|key| fields.said(key)).collect();
            let text = row.text.and_then(|key| fields.text(key));
            Payload {
                tail: text.map(|text| Tail::of(&text)).unwrap_or_default(),
                ..Payload::of(&said)
            }
        }
    };
    Payload {
        encrypted,
        ..payload
    }
}

/// A text for anything that says something: the string itself, or canonical JSON.
///
/// What cannot be decoded, such as half a surrogate pair, says what its bytes say.
fn said(value: &[u8]) -> Option<Cow<'_, str>> {
    if value.starts_with(b"\"") {
        let text = scan::text(value, 0..value.len());
        return Some(text.unwrap_or_else(|| scan::decoded(value)));
    }
    match serde_json::from_slice(value) {
        Ok(Value::Null) => None,
        Ok(Value::Array(items)) if items.is_empty() => None,
        Ok(mut other) => {
            without_ciphertext(&mut other);
            Some(Cow::Owned(other.to_string()))
        }
        Err(_) => Some(scan::decoded(value)),
    }
}

/// Removes ciphertext at any depth.
fn without_ciphertext(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !CIPHERTEXT.contains(&key.as_str()));
            members.values_mut().for_each(without_ciphertext);
        }
        Value::Array(items) => items.iter_mut().for_each(without_ciphertext),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> Item<'_> {
        Item::read(text.as_bytes()).expect("a test item")
    }

    #[test]
    fn ciphertext_is_not_payload_but_says_something() {
        for kind in ["reasoning", "program", "made_up"] {
            let texts = ["a", "b"].map(|cipher| {
                format!(r#"{{"type":"{kind}","encrypted_content":"{cipher}","x":{{"fingerprint":"{cipher}"}}}}"#)
            });
            let [one, two] = [&texts[0], &texts[1]].map(|text| item(text));
            assert_eq!(one.payload, two.payload);
            assert!(one.payload.encrypted && one.carries_anything());
        }
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
        assert_eq!(Item::read(b"null"), Err(NotAnItem));
        assert_eq!(Item::read(br#"{"id":"x"}"#), Err(NotAnItem));
        assert_eq!(
            item(r#"{"type":"x","id":5,"call_id":null}"#).identity.id,
            None
        );
    }
}
