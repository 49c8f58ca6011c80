//! Makes an event of a frame, of which no more is decoded than deciding takes.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use serde::de::IgnoredAny;

use crate::contract::catalogue::{Effect, EventKind, classify};
use crate::contract::event::{Event, Scoped};
use crate::contract::item::Item;
use crate::json::scan;
use crate::wire::fields::{Fields, member, member_text};
use crate::wire::frame::Frame;
use crate::wire::output::Output;

/// The prefix of the event types of the API.
const API: &str = "response.";

/// What was read of a frame.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) json: &'a [u8],
    pub(super) fields: Fields,
    pub(super) event_type: Cow<'a, str>,
    /// Whether the data has the type, not just the `event` line.
    pub(super) states_type: bool,
    pub(super) number: Option<u64>,
    pub(super) output: Option<Output<'a>>,
    part_type: Option<Cow<'a, str>>,
    item_id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    call_id: Option<Cow<'a, str>>,
    response_id: Option<Cow<'a, str>>,
}

impl<'a> Reading<'a> {
    /// Reads a frame; `None` where its data is no JSON object.
    pub(super) fn of(frame: &'a Frame) -> Option<Self> {
        let json = &*frame.data;
        let fields = Fields::read(json).filter(|_| is_json(json))?;
        let text = |span: &Option<Range<usize>>| scan::text(json, span.clone()?);
        let part_type = member_text(json, fields.part.as_ref(), "type");
        let stated = text(&fields.event_type);
        let named = frame.event.and_then(|name| std::str::from_utf8(name).ok());
        let is_known = |name: &str| classify(name, part_type.as_deref()) != EventKind::Other;
        // Clients read the data; the line above it counts where that says nothing they know.
        let event_type = match (stated, named) {
            (Some(stated), _) if is_known(&stated) || stated.starts_with(API) => stated,
            (_, Some(named)) => Cow::Borrowed(named),
            (stated, None) => stated.unwrap_or_default(),
        };
        let states_type = text(&fields.event_type).is_some_and(|stated| stated == event_type);
        let mut reading = Self {
            json,
            number: count(json, fields.sequence_number.as_ref()),
            output: None,
            part_type: None,
            item_id: text(&fields.item_id),
            name: text(&fields.name),
            call_id: text(&fields.call_id),
            response_id: None,
            event_type,
            states_type,
            fields,
        };
        reading.part_type = part_type;
        let response = reading.fields.response.clone();
        match reading.kind() {
            EventKind::Created => {
                reading.response_id = member_text(json, response.as_ref(), "id");
            }
            EventKind::Terminal { .. } => {
                reading.output = response.and_then(|span| Output::read(json, &span));
            }
            _ => {}
        }
        Some(reading)
    }

    /// What its type says of the event.
    pub(super) fn kind(&self) -> EventKind<'_> {
        classify(&self.event_type, self.part_type.as_deref())
    }

    /// The event.
    pub(super) fn event(&self) -> Event<'_> {
        let index = self.count(self.fields.output_index.as_ref());
        let item = || {
            let text = self.json.get(self.fields.item.clone()?)?;
            Item::read(text).ok()
        };
        match self.kind() {
            EventKind::Created => Event::Created {
                response_id: self.response_id.as_deref(),
            },
            EventKind::Progress => Event::Progress,
            EventKind::Added => Event::Announced {
                index,
                item: item(),
            },
            EventKind::Done => Event::Closed {
                index,
                item: item(),
            },
            EventKind::Terminal { failed } => Event::Terminal {
                failed,
                output: self
                    .output
                    .as_ref()
                    .map_or_else(Vec::new, |output| output.items.clone()),
            },
            EventKind::Error => Event::Error,
            EventKind::Other if self.is_error() => Event::Error,
            EventKind::Other if self.event_type.starts_with(API) => Event::OfResponse,
            EventKind::Other => Event::Other,
            EventKind::Scoped(scope) => {
                let span = |span: &Option<Range<usize>>| self.json.get(span.clone()?);
                let part_index =
                    |span: &Option<Range<usize>>| scan::index(self.json, span.clone()?);
                let whole = scope.text.filter(|_| scope.effect == Effect::Whole);
                let whole = whole
                    .and_then(|key| member(self.json, &(self.fields.start..self.json.len()), key));
                Event::Scoped(Scoped {
                    event_type: &self.event_type,
                    part_type: self.part_type.as_deref(),
                    index,
                    item_id: self.item_id.as_deref(),
                    content_index: part_index(&self.fields.content_index),
                    summary_index: part_index(&self.fields.summary_index),
                    name: self.name.as_deref(),
                    call_id: self.call_id.as_deref(),
                    text: span(&self.fields.delta).or_else(|| span(&whole)),
                    part: span(&self.fields.part),
                    annotation: span(&self.fields.annotation),
                })
            }
        }
    }

    /// Whether it says that the server failed, without a type of the API.
    fn is_error(&self) -> bool {
        let event = self.fields.start..self.json.len();
        self.event_type.is_empty() && member(self.json, &event, "error").is_some()
    }

    fn count(&self, span: Option<&Range<usize>>) -> Option<u64> {
        count(self.json, span)
    }
}

fn count(json: &[u8], span: Option<&Range<usize>>) -> Option<u64> {
    scan::count(json, span?.clone())
}

/// Whether the text is JSON, as far as clients take it.
///
/// Python writes and reads the numbers `NaN`, `Infinity` and `-Infinity`, which JSON has not.
fn is_json(text: &[u8]) -> bool {
    let is_strict = |text: &[u8]| serde_json::from_slice::<IgnoredAny>(text).is_ok();
    if is_strict(text) {
        return true;
    }
    let has_names = ["NaN", "Infinity"].iter();
    let mut has_names = has_names.map(|name| memmem::find(text, name.as_bytes()));
    has_names.any(|found| found.is_some()) && is_strict(&without_named_numbers(text))
}

/// The text with a 0 in place of each number that JSON has not.
fn without_named_numbers(text: &[u8]) -> Vec<u8> {
    let mut strict = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let names: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
        if byte == b'"' {
            let end = scan::string_end(text, at + 1).map_or(text.len(), |end| end + 1);
            strict.extend_from_slice(text.get(at..end).unwrap_or_default());
            at = end;
        } else if let Some(name) = names.iter().find(|name| rest.starts_with(name)) {
            strict.push(b'0');
            at += name.len();
        } else {
            strict.push(byte);
            at += 1;
        }
    }
    strict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_only_python_writes_are_read() {
        for text in [
            r#"{"a":NaN,"b":[Infinity,-Infinity],"c":"NaN\" Infinity"}"#,
            "[1,2]",
        ] {
            assert!(is_json(text.as_bytes()), "{text}");
        }
        for text in [r#"{"a":NaNa}"#, r#"{"a":"NaN}"#, r#"{"a":+NaN}"#, "NaN,"] {
            assert!(!is_json(text.as_bytes()), "{text}");
        }
    }
}
