//! Events as bytes, in several ways of writing them, and bytes as events.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::Value;
use sse_rewrite::{Policy, SseRewriter};

use crate::event::Event;

/// How a server writes its frames and its JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) line_end: &'static str,
    pub(crate) event_lines: bool,
    /// Write all but ASCII as escapes, as Python does.
    pub(crate) escaped: bool,
    /// What is written between members, and after a key: with a space, as Python does.
    pub(crate) separators: [&'static str; 2],
    /// The key that comes first in an object; the others are sorted.
    pub(crate) first_key: &'static str,
    /// The body ends right after the data of its last frame.
    pub(crate) without_blank_line: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            line_end: "\n",
            event_lines: true,
            escaped: false,
            separators: [",", ":"],
            first_key: "",
            without_blank_line: false,
        }
    }
}

impl Layout {
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        (any::<[bool; 5]>(), prop::bool::weighted(0.05)).prop_map(|(flags, without_blank_line)| {
            let [crlf, no_event_lines, escaped, spaced, type_first] = flags;
            Self {
                line_end: if crlf { "\r\n" } else { "\n" },
                event_lines: !no_event_lines,
                escaped,
                separators: if spaced { [", ", ": "] } else { [",", ":"] },
                first_key: if type_first { "type" } else { "" },
                without_blank_line,
            }
        })
    }

    /// Each frame of a stream.
    pub(crate) fn frames(self, events: &[Event]) -> Vec<Vec<u8>> {
        let end = self.line_end;
        let last = events.len().wrapping_sub(1);
        let frame = |(place, event): (usize, &Event)| {
            let mut frame = match &event.body {
                Value::String(text) => text.clone(),
                _ if !self.event_lines => format!("data: {}", self.json(&event.body)),
                body => format!("event: {}{end}data: {}", event.kind(), self.json(body)),
            };
            if place != last || !self.without_blank_line {
                frame += end;
                frame += end;
            }
            frame.into_bytes()
        };
        events.iter().enumerate().map(frame).collect()
    }

    /// A stream.
    pub(crate) fn bytes(self, events: &[Event]) -> Vec<u8> {
        self.frames(events).concat()
    }

    fn json(self, value: &Value) -> String {
        let mut out = String::new();
        self.write(value, &mut out);
        out
    }

    fn write(self, value: &Value, out: &mut String) {
        let [comma, colon] = self.separators;
        match value {
            Value::Array(values) => {
                out.push('[');
                for (place, value) in values.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { comma });
                    self.write(value, out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(key, _)| (*key != self.first_key, key.as_str()));
                for (place, (key, value)) in members.into_iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { comma });
                    self.write(&Value::String(key.clone()), out);
                    out.push_str(colon);
                    self.write(value, out);
                }
                out.push('}');
            }
            Value::String(text) if self.escaped => {
                for char in Value::String(text.clone()).to_string().chars() {
                    if char.is_ascii() {
                        out.push(char);
                        continue;
                    }
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        write!(out, "\\u{unit:04x}").expect("a string takes all");
                    }
                }
            }
            other => out.push_str(&other.to_string()),
        }
    }
}

/// The frames of a stream, sharing no code with the rewriter.
pub(crate) fn parse(bytes: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let frames = text.split("\n\n").filter(|frame| !frame.is_empty());
    let event = |frame: &str| {
        let data = frame.lines().filter_map(|line| line.strip_prefix("data:"));
        let data: Vec<&str> = data
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        match serde_json::from_str(&data.join("\n")) {
            Ok(body @ Value::Object(_)) => Event::new(body),
            _ => Event::raw(frame),
        }
    };
    frames.map(event).collect()
}

/// What a rewriter makes of pieces of a stream, before the end and with it.
pub(crate) struct Rewritten {
    /// What was sent for each piece.
    pub(crate) sent: Vec<Vec<u8>>,
    /// What was sent at the end.
    pub(crate) last: Vec<u8>,
    pub(crate) rewriter: SseRewriter,
}

impl Rewritten {
    pub(crate) fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut rewriter = SseRewriter::new(Policy::default());
        let feed = |piece| {
            let mut sent = Vec::new();
            rewriter.feed_into(piece, &mut sent);
            sent
        };
        let sent = pieces.into_iter().map(feed).collect();
        let mut last = Vec::new();
        rewriter.finish_into(&mut last);
        Self {
            sent,
            last,
            rewriter,
        }
    }

    /// All that was sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [&self.sent.concat()[..], &self.last].concat()
    }
}

/// What a rewriter makes of a stream.
pub(crate) fn rewritten(bytes: &[u8]) -> Vec<u8> {
    Rewritten::of([bytes]).bytes()
}
