//! A client that accumulates what a stream says of each item, as strict clients do.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::event::{Event, Lane, field};
use crate::items::KINDS;

/// What an item says, text by text. An empty text says nothing and is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Texts(BTreeMap<Lane, String>);

/// What an item says beside its texts: each value of each member, lists by their entries.
pub(crate) type Rest = Vec<(String, Value)>;

impl Texts {
    pub(crate) fn add(&mut self, lane: Lane, text: &str) {
        if !text.is_empty() {
            *self.0.entry(lane).or_default() += text;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, lane: Lane) -> &str {
        self.0.get(&lane).map_or("", String::as_str)
    }

    pub(crate) fn lanes(&self) -> impl Iterator<Item = (Lane, &str)> {
        self.0.iter().map(|(lane, text)| (*lane, text.as_str()))
    }

    /// Whether each text of `other` is the beginning of the one here.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        other
            .lanes()
            .all(|(lane, text)| self.get(lane).starts_with(text))
    }

    /// The same without what items do not say again in their close.
    pub(crate) fn of_item_only(&self) -> Self {
        let in_item = |lane: &Lane| matches!(lane, Lane::Content | Lane::Summary | Lane::Main);
        let lanes = self.0.iter().filter(|(lane, _)| in_item(lane));
        Self(lanes.map(|(lane, text)| (*lane, text.clone())).collect())
    }
}

impl fmt::Display for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.values().map(|text| format!("{text:?}")).collect();
        f.write_str(&texts.join("+"))
    }
}

/// The texts of an item.
pub(crate) fn texts_of(item: &Value) -> Texts {
    let mut texts = Texts::default();
    for (key, lane) in [("content", Lane::Content), ("summary", Lane::Summary)] {
        let parts = item.get(key).and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let text = field(part, "text").or(field(part, "refusal"));
            texts.add(lane, text.unwrap_or_default());
        }
    }
    for key in ["arguments", "input", "code"] {
        texts.add(Lane::Main, field(item, key).unwrap_or_default());
    }
    texts
}

/// What an item says beside its texts. What is encrypted says the same under many values.
pub(crate) fn rest_of(item: &Value) -> Rest {
    const NOT_SAID: [&str; 12] = [
        "type",
        "id",
        "call_id",
        "name",
        "namespace",
        "server_label",
        "status",
        "role",
        "encrypted_content",
        "fingerprint",
        "summary",
        "content",
    ];
    let mut rest = Vec::new();
    for (key, value) in item.as_object().into_iter().flatten() {
        let is_text = matches!(key.as_str(), "arguments" | "input" | "code") && value.is_string();
        if !NOT_SAID.contains(&key.as_str()) && !is_text {
            say(&mut rest, key, value);
        }
    }
    let parts = item.get("content").and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        say(&mut rest, "annotations", &part["annotations"]);
    }
    rest
}

fn say(rest: &mut Rest, key: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(values) => {
            rest.extend(values.iter().map(|value| (key.to_owned(), value.clone())));
        }
        other => rest.push((key.to_owned(), other.clone())),
    }
}

/// What a client knows of an item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// What the client tells items apart by.
    pub(crate) key: usize,
    pub(crate) kind: String,
    /// The first id that it was named by.
    pub(crate) id: Option<String>,
    pub(crate) call_id: Option<String>,
    pub(crate) name: Option<String>,
    /// The item of each announcement.
    pub(crate) announced: Vec<Value>,
    /// The deltas, joined.
    pub(crate) streamed: Texts,
    pub(crate) deltas: Vec<String>,
    /// The texts of events such as `output_text.done`.
    pub(crate) whole: Texts,
    /// The close.
    pub(crate) close: Option<Value>,
    /// The entry in the terminal output.
    pub(crate) listed: Option<Value>,
}

impl Seen {
    /// Everything that was said of it, each time it was.
    pub(crate) fn says(&self) -> Vec<Texts> {
        let items = self.announced.iter().chain(&self.close).chain(&self.listed);
        let mut says: Vec<Texts> = items.map(texts_of).collect();
        says.extend([self.streamed.clone(), self.whole.clone()]);
        says
    }

    /// Everything beside texts.
    pub(crate) fn rests(&self) -> Rest {
        let items = self.announced.iter().chain(&self.close).chain(&self.listed);
        items.flat_map(rest_of).collect()
    }

    /// Whether events of the stream said of it that it is, its entry at the end apart.
    pub(crate) fn is_streamed(&self) -> bool {
        let says = !self.streamed.is_empty() || !self.whole.is_empty();
        says || !self.announced.is_empty() || self.close.is_some()
    }

    /// Whether something as long was said of it, text by text.
    pub(crate) fn covers(&self, texts: &Texts) -> bool {
        let says = self.says();
        texts
            .lanes()
            .all(|(lane, text)| says.iter().any(|it| it.get(lane).starts_with(text)))
    }

    fn learn(&mut self, object: &Value) {
        let text = |key| field(object, key).map(str::to_owned);
        self.id = self
            .id
            .take()
            .or_else(|| text("id").or_else(|| text("item_id")));
        self.call_id = self.call_id.take().or_else(|| text("call_id"));
        self.name = self.name.take().or_else(|| text("name"));
    }
}

/// What a client knows of the items of a stream after it, in order of their first event.
///
/// `key_of` tells an event's item, and `listed_as` those of a terminal event's entries. A closed
/// item cannot grow: what is new after the close is an item of its own under the same key.
pub(crate) fn accumulate(
    stream: &[Event],
    key_of: impl Fn(&Event) -> Option<usize>,
    listed_as: impl Fn(&Event) -> Vec<usize>,
) -> Vec<Seen> {
    let mut client = Client::default();
    for event in stream {
        if event.is_terminal() {
            for (key, entry) in listed_as(event).into_iter().zip(event.output()) {
                client.listed(key, entry);
            }
        }
        if let Some(key) = key_of(event) {
            client.event(key, event);
        }
    }
    client.items
}

/// What is known of a stream whose events tell their items in truth.
pub(crate) fn truth(stream: &[Event]) -> Vec<Seen> {
    accumulate(stream, |event| event.owner, |event| event.listed.clone())
}

/// What a client knows that tells items apart by `output_index`, and by their types.
pub(crate) fn by_index(stream: &[Event]) -> Vec<Seen> {
    let placed = |event: &Event| index_key(event.index()?, event.item_type()?);
    accumulate(stream, placed, |event| {
        let kinds = event.output().iter().map(|entry| field(entry, "type"));
        let keys = (0..).zip(kinds.map(Option::unwrap_or_default));
        keys.map(|(index, kind)| index_key(index, kind).unwrap_or(usize::MAX))
            .collect()
    })
}

/// What `by_index` tells an item apart by.
pub(crate) fn index_key(index: u64, kind: &str) -> Option<usize> {
    let kind = KINDS.iter().position(|known| *known == kind)?;
    Some(usize::try_from(index).ok()? * KINDS.len() + kind)
}

/// The `output_index` of an item that `by_index` tells.
pub(crate) fn index_of_key(key: usize) -> usize {
    key / KINDS.len()
}

#[derive(Default)]
struct Client {
    items: Vec<Seen>,
}

impl Client {
    /// The item of `key`; a new one where that is closed and is told something `new`.
    fn item(&mut self, key: usize, kind: &str, new: bool) -> &mut Seen {
        let known = self.items.iter().rposition(|item| item.key == key);
        let place = match known {
            Some(place) if !(new && self.items[place].close.is_some()) => place,
            other => {
                let like = other.map(|place| &self.items[place]);
                self.items.push(Seen {
                    key,
                    call_id: like.and_then(|item| item.call_id.clone()),
                    name: like.and_then(|item| item.name.clone()),
                    ..Seen::default()
                });
                self.items.len() - 1
            }
        };
        let item = &mut self.items[place];
        if item.kind.is_empty() {
            kind.clone_into(&mut item.kind);
        }
        item
    }

    /// Whether something other was said under `key` so far.
    fn is_new(&self, key: usize, texts: &Texts, rest: &Rest) -> bool {
        let mut items = self.items.iter().filter(|item| item.key == key);
        let nothing = texts.is_empty() && rest.is_empty();
        let said = |item: &Seen| {
            let texts_said = texts.is_empty() || item.says().contains(texts);
            texts_said && rest.iter().all(|value| item.rests().contains(value))
        };
        !nothing && !items.any(said)
    }

    fn event(&mut self, key: usize, event: &Event) {
        let kind = event.item_type().unwrap_or_default().to_owned();
        if let Some(item) = event.item() {
            let (texts, rest) = (texts_of(item), rest_of(item));
            let new = self.is_new(key, &texts, &rest);
            let says_text = new && !texts.is_empty();
            let seen = self.item(key, &kind, if event.is_done() { new } else { says_text });
            seen.learn(item);
            if event.is_added() {
                seen.announced.push(item.clone());
            } else if seen.close.is_none() {
                seen.close = Some(item.clone());
            }
            return;
        }
        if !event.is_scoped() {
            return;
        }
        let Some((lane, _)) = event.place() else {
            self.item(key, &kind, false);
            return;
        };
        if let Some(text) = event.delta() {
            let seen = self.item(key, &kind, !text.is_empty());
            if seen.close.is_none() {
                seen.streamed.add(lane, text);
                seen.deltas.push(text.to_owned());
            }
        } else if let Some(text) = event.whole() {
            let mut texts = Texts::default();
            texts.add(lane, text);
            let new = self.is_new(key, &texts, &Rest::new());
            let seen = self.item(key, &kind, new);
            // A part is summed up by its text's event and by its own.
            let by_part = event.body.get("part").is_some() && !seen.whole.get(lane).is_empty();
            if seen.close.is_none() && !by_part {
                seen.whole.add(lane, text);
            }
        }
        if let Some(seen) = self.items.iter_mut().rfind(|item| item.key == key) {
            seen.learn(&event.body);
        }
    }

    fn listed(&mut self, key: usize, entry: &Value) {
        let kind = field(entry, "type").unwrap_or_default().to_owned();
        let texts = texts_of(entry);
        // Of the items under one key, the entry is that which says the same, else the first.
        let of_key = |item: &&mut Seen| item.key == key && item.listed.is_none();
        let says = |item: &Seen| item.says().contains(&texts);
        let mut items = self.items.iter_mut().filter(of_key);
        let first = items.next();
        let seen = match first {
            Some(item) if !says(item) => items.find(|item| says(item)).unwrap_or(item),
            Some(item) => item,
            None => self.item(key, &kind, false),
        };
        seen.learn(entry);
        seen.listed = Some(entry.clone());
    }
}
