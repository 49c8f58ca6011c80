//! The frame of a delta, with its text and its number left open.

use std::fmt::Write;
use std::ops::Range;

use super::write_string;
use crate::json::scan;

const TEXT: &[u8] = b"delta";
const NUMBER: &[u8] = b"sequence_number";

/// What is around the text and the number of a delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    before: String,
    between: String,
    after: String,
    number_first: bool,
}

impl Template {
    /// Learns from a frame that the server wrote.
    ///
    /// `None` where text and number are not written in it as [`Template::write`] would, each once
    /// and as members of the object that the frame brings.
    #[must_use]
    pub fn of(frame: &str, text: &str, number: i64) -> Option<Self> {
        let (head, json) = frame.split_once("\ndata: ")?;
        let offset = frame.len() - json.len();
        let json = json.strip_suffix("\n\n")?.as_bytes();
        if !head.starts_with("event: ") || head.contains('\n') {
            return None;
        }
        let (mut texts, mut numbers) = (Vec::new(), Vec::new());
        let end = scan::object(json, 0, |member| match &*scan::key(json, &member) {
            TEXT => texts.push(member.value),
            NUMBER => numbers.push(member.value),
            _ => (),
        })?;
        let ([text_at], [number_at]) = (&texts[..], &numbers[..]) else {
            return None;
        };
        let number_first = number_at.start < text_at.start;
        let (first, second) = if number_first {
            (number_at, text_at)
        } else {
            (text_at, number_at)
        };
        let piece = |span: Range<usize>| frame.get(span).map(str::to_owned);
        let template = Self {
            before: piece(0..offset + first.start)?,
            between: piece(offset + first.end..offset + second.start)?,
            after: piece(offset + second.end..frame.len())?,
            number_first,
        };
        let mut again = String::new();
        template.write(text, number, &mut again);
        (end == json.len() && again == frame).then_some(template)
    }

    /// Writes the frame of the delta with this text and number.
    pub fn write(&self, text: &str, number: i64, out: &mut String) {
        out.reserve(self.before.len() + self.between.len() + self.after.len() + text.len() + 24);
        out.push_str(&self.before);
        if self.number_first {
            write_number(number, out);
            out.push_str(&self.between);
            write_string(text, out);
        } else {
            write_string(text, out);
            out.push_str(&self.between);
            write_number(number, out);
        }
        out.push_str(&self.after);
    }
}

fn write_number(number: i64, out: &mut String) {
    // Writing into a string does not fail.
    let _ = write!(out, "{number}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const FRAME: &str = "event: response.output_text.delta\ndata: {\"content_index\":0,\"delta\":\"a\\\"\",\"item_id\":\"i\",\"sequence_number\":-7,\"type\":\"response.output_text.delta\"}\n\n";

    fn written(template: &Template, text: &str, number: i64) -> String {
        let mut out = String::new();
        template.write(text, number, &mut out);
        out
    }

    #[test]
    fn only_text_and_number_differ() {
        let template = Template::of(FRAME, "a\"", -7).expect("a template");
        assert_eq!(
            written(&template, "\u{e9}\n", i64::MAX),
            FRAME
                .replace("a\\\"", "\u{e9}\\n")
                .replace("-7", "9223372036854775807"),
        );
    }

    #[test]
    fn the_number_may_come_first() {
        let frame = "event: x\ndata: {\"sequence_number\":3,\"delta\":\"\"}\n\n";
        let template = Template::of(frame, "", 3).expect("a template");
        assert_eq!(
            written(&template, "b", 4),
            "event: x\ndata: {\"sequence_number\":4,\"delta\":\"b\"}\n\n",
        );
    }

    #[test]
    fn what_is_not_written_as_expected_teaches_nothing() {
        for (from, to) in [
            ("event: ", "id: 4\nevent: "),
            ("event: ", "Event: "),
            ("\n\n", "\n"),
            ("\n\n", "\r\n\r\n"),
            ("}\n\n", "},\n\n"),
            ("data: ", "data:"),
            ("-7", "-7.0"),
            ("-7", "7"),
            ("\"a\\\"\"", "\"a\\u0022\""),
            ("\"a\\\"\"", "\"redacted\""),
            ("\"delta\"", "\"\\u0064elta\""),
            ("\"delta\"", "\"other\""),
            ("\"item_id\":\"i\"", "\"delta\":\"a\\\"\""),
            (
                "\"item_id\":\"i\"",
                "\"item\":{\"sequence_number\":-7},\"sequence_number\":-7",
            ),
        ] {
            let frame = FRAME.replacen(from, to, 1);
            assert_ne!(frame, FRAME);
            let learnt = Template::of(&frame, "a\"", -7);
            // A key that is written with an escape is the same key, and kept as it is.
            assert_eq!(learnt.is_some(), to.contains("0064"), "{frame}");
        }
    }

    proptest! {
        #[test]
        fn the_next_frame_is_what_the_serializer_would_write(
            id: String, texts in [".*", "[\\x00-\\x22\\\\]*"], numbers: [i64; 2],
        ) {
            let frame = |text: &str, number: i64| {
                let event = json!({"item_id": id, "delta": text, "n": {"delta": "x"}, "sequence_number": number});
                format!("event: x\ndata: {event}\n\n")
            };
            let template = Template::of(&frame(&texts[0], numbers[0]), &texts[0], numbers[0]);
            let template = template.expect("a template");
            prop_assert_eq!(
                written(&template, &texts[1], numbers[1]),
                frame(&texts[1], numbers[1])
            );
        }
    }
}
