//! What an item that is still open has said: by its deltas, its `*.done` events, its parts.
//!
//! Text is kept as it is written in JSON, between the quotes, so that a delta costs a copy and
//! the close of an item is made without encoding anything anew (C6).

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::contract::catalogue::{PartKind, Role, item_type};
use crate::contract::item::{Payload, part_payload};
use crate::contract::parts::PartNumbers;
use crate::json::{edit, scan};

/// One text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    /// Its deltas, joined.
    deltas: Vec<u8>,
    /// The whole of it, as the event has it that sums it up.
    whole: Option<Vec<u8>>,
    /// What was decoded of it to be compared, and how much of it that is.
    decoded: Option<(String, usize)>,
}

impl Text {
    /// The text as JSON has it between the quotes: the whole if it came, else its deltas.
    pub(crate) fn raw(&self) -> &[u8] {
        self.whole.as_deref().unwrap_or(&self.deltas)
    }

    /// Adds a delta, given between its quotes.
    pub(crate) fn add(&mut self, raw: &[u8]) {
        self.deltas.extend_from_slice(raw);
    }

    /// The deltas as JSON has them between the quotes.
    pub(crate) fn deltas(&self) -> &[u8] {
        &self.deltas
    }

    /// The deltas as a client decodes them.
    pub(crate) fn decoded_deltas(&self) -> Cow<'_, str> {
        scan::unescaped(&self.deltas)
    }

    pub(crate) fn decoded(&self) -> Cow<'_, str> {
        scan::unescaped(self.raw())
    }

    /// The text as a client decodes it, for comparing it after each delta: what was decoded is
    /// kept. Half a surrogate pair at its end waits for the other half.
    pub(crate) fn decoded_so_far(&mut self) -> &str {
        let raw = self.whole.as_deref().unwrap_or(&self.deltas);
        let (text, end) = self.decoded.get_or_insert_default();
        let whole = raw.len() - scan::half_a_pair(raw);
        if let Some(more) = raw.get(*end..whole) {
            text.push_str(&scan::unescaped(more));
            *end = whole;
        }
        text
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// What of `whole`, a JSON string, the deltas have not brought, as a JSON string; `None` where
    /// that is nothing, or they have brought something else.
    pub(crate) fn rest<'a>(&self, whole: &'a str) -> Option<Cow<'a, str>> {
        if self.whole.is_some() || whole == r#""""# {
            return None;
        }
        if self.deltas.is_empty() {
            return Some(Cow::Borrowed(whole));
        }
        let inner = whole.get(1..whole.len().saturating_sub(1))?;
        let text = scan::unescaped(inner.as_bytes());
        let rest = text.strip_prefix(&*self.decoded_deltas())?;
        (!rest.is_empty()).then(|| Cow::Owned(edit::quoted(rest)))
    }

    /// The whole of it is what its deltas have said.
    pub(crate) fn set_whole_as_streamed(&mut self) {
        self.whole = Some(self.deltas.clone());
    }

    pub(crate) fn set_whole(&mut self, raw: &[u8]) {
        self.whole = Some(raw.to_vec());
        self.decoded = None;
    }

    /// The text goes on from here, whatever was said.
    pub(crate) fn restart(&mut self, text: &str) {
        let quoted = edit::quoted(text);
        let raw = quoted.get(1..quoted.len().saturating_sub(1));
        *self = Self {
            deltas: raw.unwrap_or_default().as_bytes().to_vec(),
            ..Self::default()
        };
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.raw().is_empty()
    }

    fn len(&self) -> usize {
        self.deltas.len() + self.whole.as_ref().map_or(0, Vec::len)
    }
}

/// Which list of its item a part is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    Content,
    Summary,
}

/// A place in an item where text goes: a part, or the one text of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    Part(List, u64),
    Call,
}

/// One part of an item.
#[derive(Debug, Clone)]
struct Part {
    kind: PartKind,
    /// The part as it was opened.
    opened: Option<Vec<u8>>,
    text: Text,
    /// Whether the server did not open it.
    unopened: bool,
    /// Annotations that came on their own, as the inside of a JSON array.
    annotations: Vec<u8>,
    /// The part as it was closed.
    closed: Option<Vec<u8>>,
}

impl Part {
    fn new(kind: PartKind) -> Self {
        Self {
            kind,
            opened: None,
            text: Text::default(),
            unopened: false,
            annotations: Vec::new(),
            closed: None,
        }
    }

    /// The part with all that was said of it, as JSON.
    fn json(&self) -> Vec<u8> {
        if let Some(closed) = &self.closed {
            return closed.clone();
        }
        let blank = self.opened.as_deref();
        let blank = blank.unwrap_or(self.kind.blank().as_bytes());
        let mut members: Vec<(&str, Vec<u8>)> = Vec::new();
        if !self.text.is_empty() {
            let text = [b"\"", self.text.raw(), b"\""].concat();
            members.push((self.kind.text_key(), text));
        }
        if !self.annotations.is_empty() {
            let list = [b"[", self.annotations.as_slice(), b"]"].concat();
            members.push(("annotations", list));
        }
        edit::with_members(blank, &members)
    }

    fn is_whole(&self) -> bool {
        self.closed.is_some() || self.text.is_whole()
    }

    fn says_anything(&self) -> bool {
        self.closed.is_some() || !self.text.is_empty() || !self.annotations.is_empty()
    }

    fn len(&self) -> usize {
        let json = |json: &Option<Vec<u8>>| json.as_ref().map_or(0, Vec::len);
        self.text.len() + self.annotations.len() + json(&self.opened) + json(&self.closed) + 64
    }
}

/// What one open item has said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    /// How its content parts are numbered.
    pub(crate) numbers: PartNumbers,
    parts: BTreeMap<(List, u64), Part>,
    /// The text of a call.
    text: Text,
    /// How many bytes are kept.
    bytes: usize,
    /// How many of them its owner has counted.
    counted: usize,
    /// The last status that an event of it told.
    status: Option<&'static str>,
    /// Something came that has no known place in the item.
    elsewhere: bool,
    /// It is more than the limit allows; nothing more is kept.
    overflowed: bool,
}

impl Said {
    /// What an item says whose beginning was not seen.
    pub(crate) fn joined() -> Self {
        Self {
            numbers: PartNumbers::trusted(),
            ..Self::default()
        }
    }

    /// Opens the summary part at `index`; returns whether it was not open.
    pub(crate) fn opens_summary(&mut self, index: u64) -> bool {
        if self.overflowed || self.parts.contains_key(&(List::Summary, index)) {
            return false;
        }
        self.change(List::Summary, index, PartKind::Summary, |_| ());
        true
    }

    /// The summary part at `index` was opened for the server.
    pub(crate) fn mark_unopened(&mut self, index: u64) {
        if let Some(part) = self.parts.get_mut(&(List::Summary, index)) {
            part.unopened = true;
        }
    }

    /// Whether the summary part at `index` was opened for the server.
    pub(crate) fn is_unopened(&self, index: u64) -> bool {
        let part = self.parts.get(&(List::Summary, index));
        part.is_some_and(|part| part.unopened)
    }

    /// The part is opened with this JSON text.
    pub(crate) fn open_part(&mut self, list: List, index: u64, kind: PartKind, json: &[u8]) {
        let text = scan::member(json, kind.text_key()).and_then(|span| json.get(span));
        let text = text.and_then(|text| text.strip_prefix(b"\"")?.strip_suffix(b"\""));
        self.change(list, index, kind, |part| {
            // What is opened as another kind was opened before, for the server.
            if part.kind == kind {
                part.opened = Some(json.to_vec());
            }
            // A part may begin with a text, or repeat what it has said.
            let text = text.unwrap_or_default();
            let more = text.strip_prefix(part.text.raw()).unwrap_or(text);
            part.text.add(more);
        });
    }

    /// The part is closed with this JSON text.
    pub(crate) fn close_part(&mut self, list: List, index: u64, kind: PartKind, json: &[u8]) {
        self.change(list, index, kind, |part| part.closed = Some(json.to_vec()));
    }

    /// A part is annotated.
    pub(crate) fn annotate(&mut self, index: u64, kind: PartKind, annotation: &[u8]) {
        self.change(List::Content, index, kind, |part| {
            if !part.annotations.is_empty() {
                part.annotations.push(b',');
            }
            part.annotations.extend_from_slice(annotation);
        });
    }

    /// What is known of the part at `index`: its text, and whether it is closed.
    pub(crate) fn part_state(&self, list: List, index: u64) -> Option<(&Text, bool)> {
        let part = self.parts.get(&(list, index))?;
        Some((&part.text, part.closed.is_some()))
    }

    /// The numbers of the parts of a list that are known.
    pub(crate) fn part_indices(&self, list: List) -> Vec<u64> {
        let parts = self.parts.range((list, 0)..=(list, u64::MAX));
        parts.map(|(&(_, index), _)| index).collect()
    }

    /// The whole of the text at `spot` is what its deltas have said.
    pub(crate) fn sum_up_as_streamed(&mut self, spot: Spot, kind: PartKind) {
        match spot {
            Spot::Call => self.change_text(Text::set_whole_as_streamed),
            Spot::Part(list, index) => {
                self.change(list, index, kind, |part| part.text.set_whole_as_streamed());
            }
        }
    }

    /// A delta of the text at `spot`, given between its quotes; `kind` is that of its part.
    pub(crate) fn add(&mut self, spot: Spot, kind: PartKind, raw: &[u8]) {
        match spot {
            Spot::Call => self.change_text(|text| text.add(raw)),
            Spot::Part(list, index) => {
                self.change(list, index, kind, |part| part.text.add(raw));
            }
        }
    }

    /// A further delta of the text at `spot`, which is known.
    pub(crate) fn add_more(&mut self, spot: Spot, raw: &[u8]) {
        let text = match spot {
            Spot::Call => Some(&mut self.text),
            Spot::Part(list, index) => {
                let part = self.parts.get_mut(&(list, index));
                part.map(|part| &mut part.text)
            }
        };
        if let Some(text) = text.filter(|_| !self.overflowed) {
            text.add(raw);
            self.bytes += raw.len();
        }
    }

    /// The whole of the text at `spot`, given between its quotes.
    pub(crate) fn sum_up(&mut self, spot: Spot, kind: PartKind, raw: &[u8]) {
        match spot {
            Spot::Call => self.change_text(|text| text.set_whole(raw)),
            Spot::Part(list, index) => {
                self.change(list, index, kind, |part| part.text.set_whole(raw));
            }
        }
    }

    /// The text of a call goes on from here, whatever was said.
    pub(crate) fn restart(&mut self, text: &str) {
        self.change_text(|own| own.restart(text));
    }

    /// The deltas of the text at `spot`, joined, as JSON has them between the quotes.
    pub(crate) fn deltas_at(&self, spot: Spot) -> &[u8] {
        match spot {
            Spot::Call => self.text.deltas(),
            Spot::Part(list, index) => {
                let part = self.parts.get(&(list, index));
                part.map_or(b"", |part| part.text.deltas())
            }
        }
    }

    /// The text of a call.
    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    /// The text of a call, to be compared after each delta.
    pub(crate) fn text_so_far(&mut self) -> &str {
        self.text.decoded_so_far()
    }

    /// An event told this status.
    pub(crate) fn set_status(&mut self, status: Option<&'static str>) {
        self.status = status;
    }

    /// The status that it ends with, if an event told one.
    pub(crate) fn status(&self) -> Option<&'static str> {
        self.status
    }

    /// Something was said that has no known place in the item.
    pub(crate) fn says_elsewhere(&mut self) {
        self.elsewhere = true;
    }

    /// Whether something was said that has no known place in the item.
    pub(crate) fn has_said_elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// The limit is reached: what was kept is given up.
    pub(crate) fn overflow(&mut self) {
        self.parts.clear();
        self.text = Text::default();
        self.bytes = 0;
        self.counted = 0;
        self.overflowed = true;
    }

    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Whether all that came is known, so that an item can be closed with it.
    pub(crate) fn is_known(&self) -> bool {
        !self.overflowed && !self.elsewhere
    }

    /// Whether anything was said.
    pub(crate) fn says_anything(&self) -> bool {
        self.elsewhere
            || self.overflowed
            || !self.text.is_empty()
            || self.parts.values().any(Part::says_anything)
    }

    /// Whether each text that was begun was also summed up.
    pub(crate) fn is_whole(&self) -> bool {
        let is_whole = self.text.is_whole() || self.text.is_empty();
        is_whole && self.parts.values().all(Part::is_whole) && self.says_anything()
    }

    /// How many bytes its owner has counted.
    pub(crate) fn counted(&self) -> usize {
        self.counted
    }

    /// How many bytes are kept now, which its owner counts.
    pub(crate) fn count(&mut self) -> usize {
        self.counted = self.bytes;
        self.bytes
    }

    /// All texts, one after the other, as a client decodes them.
    pub(crate) fn texts(&self) -> String {
        let mut all = self.text.decoded().into_owned();
        for part in self.parts.values() {
            all.push_str(&part.text.decoded());
        }
        all
    }

    /// All deltas, one after the other, as a client decodes them.
    pub(crate) fn deltas(&self) -> String {
        let mut all = self.text.decoded_deltas().into_owned();
        for part in self.parts.values() {
            all.push_str(&part.text.decoded_deltas());
        }
        all
    }

    /// The payload of an item of type `kind` that says this, and no more.
    pub(crate) fn payload(&self, kind: &str) -> Payload {
        if item_type(kind).role != Role::Content {
            return Payload::of(&[self.text.decoded()]);
        }
        let parts: Vec<_> = self.parts.values().map(Part::json).collect();
        let texts: Vec<_> = parts.iter().flat_map(|part| part_payload(part)).collect();
        Payload::of(&texts)
    }

    /// The item, announced as `json`, with all that it has said.
    pub(crate) fn item(&self, kind: &str, json: &[u8]) -> Vec<u8> {
        let row = item_type(kind);
        let mut members: Vec<(&str, Vec<u8>)> = Vec::new();
        if let Some(key) = row.text.filter(|_| !self.text.is_empty()) {
            members.push((key, [b"\"", self.text.raw(), b"\""].concat()));
        }
        for (list, key) in [(List::Content, "content"), (List::Summary, "summary")] {
            let parts = self.parts.range((list, 0)..=(list, u64::MAX));
            let parts: Vec<_> = parts.map(|(_, part)| part.json()).collect();
            if !parts.is_empty() {
                members.push((key, [b"[", parts.join(&b',').as_slice(), b"]"].concat()));
            }
        }
        edit::with_members(json, &members)
    }

    /// Changes a part, which is made where there is none, and counts what it takes.
    fn change(&mut self, list: List, index: u64, kind: PartKind, change: impl FnOnce(&mut Part)) {
        if self.overflowed {
            return;
        }
        let mut before = 0;
        let entry = self.parts.entry((list, index));
        let part = entry
            .and_modify(|part| before = part.len())
            .or_insert_with(|| Part::new(kind));
        change(part);
        self.bytes = (self.bytes + part.len()).saturating_sub(before);
    }

    /// Changes the text of a call, and counts what it takes.
    fn change_text(&mut self, change: impl FnOnce(&mut Text)) {
        if self.overflowed {
            return;
        }
        let before = self.text.len();
        change(&mut self.text);
        self.bytes = (self.bytes + self.text.len()).saturating_sub(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPOT: Spot = Spot::Part(List::Content, 0);

    #[test]
    fn a_text_is_decoded_delta_by_delta_as_it_is_at_once() {
        let pieces: [&[u8]; 5] = [b"a", br"\ud83c", br"\udf0a", br"\n\\", b"\xc3\xa9"];
        let mut text = Text::default();
        for piece in pieces {
            text.add(piece);
            let so_far = text.decoded_so_far().to_owned();
            assert!(text.decoded().starts_with(&so_far));
        }
        assert_eq!(text.decoded_so_far(), "a\u{1f30a}\n\\\u{e9}");
        text.set_whole(b"b");
        assert_eq!(text.decoded_so_far(), "b");
    }

    #[test]
    fn its_bytes_are_counted_and_none_after_the_limit() {
        let mut said = Said::default();
        said.add(SPOT, PartKind::Text, b"0123456789");
        let first = said.count();
        said.add_more(SPOT, b"01234");
        said.add(SPOT, PartKind::Text, b"01234");
        assert_eq!(said.count() - first, 10);
        said.sum_up(SPOT, PartKind::Text, b"0123456789");
        assert_eq!(said.count() - first, 20);
        said.sum_up(SPOT, PartKind::Text, b"");
        assert_eq!(said.count() - first, 10);
        said.add(Spot::Call, PartKind::Text, b"0123456789");
        assert_eq!(said.count() - first, 20);
        assert_eq!(said.counted(), said.count());
        said.overflow();
        for spot in [SPOT, Spot::Call] {
            said.add(spot, PartKind::Text, b"more");
            said.add_more(spot, b"more");
            said.sum_up(spot, PartKind::Text, b"more");
        }
        said.close_part(List::Content, 0, PartKind::Text, b"{}");
        assert_eq!((said.count(), said.is_known()), (0, false));
    }

    #[test]
    fn a_part_that_is_opened_with_a_text_goes_on_from_there() {
        let mut said = Said::default();
        let part = br#"{"type":"output_text","text":"ab"}"#;
        said.open_part(List::Content, 0, PartKind::Text, part);
        said.add(SPOT, PartKind::Text, b"c");
        assert_eq!(said.texts(), "abc");
        let item = said.item("message", b"{}");
        assert_eq!(
            item,
            br#"{"content":[{"type":"output_text","text":"abc"}]}"#
        );
    }

    #[test]
    fn what_was_closed_stands_for_what_was_streamed_and_annotations_are_listed() {
        let mut said = Said::default();
        said.add(SPOT, PartKind::Text, b"a");
        said.annotate(0, PartKind::Text, b"1");
        said.annotate(0, PartKind::Text, b"2");
        let item = said.item("message", b"{}");
        let text = String::from_utf8(item).expect("text");
        assert!(text.contains(r#""text":"a""#) && text.contains(r#""annotations":[1,2]"#));
        assert!(!said.is_whole());
        said.close_part(List::Content, 0, PartKind::Text, br#"{"x":1}"#);
        assert!(said.is_whole());
        assert_eq!(said.item("message", b"{}"), br#"{"content":[{"x":1}]}"#);
    }
}
