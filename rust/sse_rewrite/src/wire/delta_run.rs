//! Runs of deltas: frames like the last one but for their text and number.
//!
//! By far most of a stream are deltas of one item, written by one serializer: the same bytes
//! around another text and the next number. What was decided on the first of them holds for
//! all, since a delta changes nothing that the ledger knows. So the first leaves its layout,
//! and a frame that has it needs no reading, only comparing.

use std::ops::Range;

use crate::contract::event::Run;
use crate::contract::report::Report;
use crate::json::edit::Edits;
use crate::json::scan;
use crate::wire::frame::Frame;

/// How many pieces a layout may have; events of the API have half as many.
const MAX_PIECES: usize = 8;

/// Members that a decision depends on, or that are always the same in a run.
const FIXED: [&[u8]; 10] = [
    b"type",
    b"sequence_number",
    b"output_index",
    b"content_index",
    b"summary_index",
    b"item_id",
    b"item",
    b"name",
    b"call_id",
    b"response",
];

/// The layout of the frames of a run, and what is made of each.
#[derive(Debug, Clone)]
pub(crate) struct DeltaRun {
    pieces: Vec<Piece>,
    /// After which piece the text of the delta comes.
    delta: usize,
    /// Where that text goes.
    pub(crate) target: Run,
    /// What is counted for each frame.
    pub(crate) counts: Option<Report>,
    changes: bool,
}

/// Bytes that are the same in every frame of a run, with what comes after them.
#[derive(Debug, Clone)]
struct Piece {
    from: Vec<u8>,
    to: Vec<u8>,
    then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The text of a string, up to its quote.
    Text,
    /// The digits of the sequence number.
    Number,
    /// The end of the frame.
    End,
}

/// A frame that belongs to a run.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its length.
    pub(crate) length: usize,
    /// Its sequence number, where the run has numbers.
    pub(crate) number: Option<u64>,
    /// What stands behind each piece.
    between: [Range<usize>; MAX_PIECES],
}

impl DeltaRun {
    /// The run that `frame` may begin: its event starts at `start`, `edits` are made in it.
    pub(crate) fn begin(
        frame: &Frame,
        start: usize,
        edits: Edits,
        counts: &Report,
        target: Run,
    ) -> Option<Self> {
        let (bytes, at) = frame.in_one_line()?;
        let json = &*frame.data;
        let mut between: Vec<(Range<usize>, Then)> = Vec::new();
        let mut delta = None;
        scan::object(json, start, |member| {
            let value = at + member.value.start..at + member.value.end;
            let key = scan::key(json, &member);
            if *key == *b"sequence_number" {
                between.push((value, Then::Number));
            } else if !FIXED.contains(&&*key) && bytes.get(value.start) == Some(&b'"') {
                if *key == *b"delta" {
                    delta = Some(between.len());
                }
                between.push((value.start + 1..value.end - 1, Then::Text));
            }
        })?;
        let numbers = between.iter().filter(|(_, then)| *then == Then::Number);
        if between.len() >= MAX_PIECES || numbers.count() > 1 {
            return None;
        }
        between.push((bytes.len()..bytes.len(), Then::End));
        let mut edits = edits.sorted().into_iter().peekable();
        let mut pieces = Vec::with_capacity(between.len());
        let mut from = 0;
        let mut changes = false;
        for (span, then) in between {
            let piece = bytes.get(from..span.start)?;
            let mut inside = Edits::default();
            while let Some((edit, text)) = edits.next_if(|(edit, _)| at + edit.start < span.start) {
                let start = (at + edit.start).checked_sub(from)?;
                inside.replace(start..start + edit.len(), text);
                changes = true;
            }
            pieces.push(Piece {
                from: piece.to_vec(),
                to: inside.apply(piece),
                then,
            });
            from = span.end;
        }
        Some(Self {
            pieces,
            delta: delta?,
            target,
            counts: (!counts.is_untouched()).then_some(*counts),
            changes,
        })
    }

    /// The frame at the start of `bytes`, if it is whole and belongs to the run.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<Found> {
        let mut found = Found {
            length: 0,
            number: None,
            between: [const { 0..0 }; MAX_PIECES],
        };
        let mut at = 0;
        for (piece, between) in self.pieces.iter().zip(&mut found.between) {
            let start = at + piece.from.len();
            if bytes.get(at..start)? != piece.from {
                return None;
            }
            at = match piece.then {
                Then::Text => text_end(bytes, start)?,
                Then::Number => {
                    let (number, end) = digits(bytes, start)?;
                    found.number = Some(number);
                    end
                }
                Then::End => start,
            };
            *between = start..at;
        }
        found.length = at;
        Some(found)
    }

    /// The text of the delta of a frame of the run, between its quotes.
    pub(crate) fn text<'a>(&self, bytes: &'a [u8], found: &Found) -> &'a [u8] {
        let span = found.between.get(self.delta).cloned();
        span.and_then(|span| bytes.get(span)).unwrap_or_default()
    }

    /// Whether a frame of the run is sent as it came, but for its number.
    pub(crate) fn is_plain(&self) -> bool {
        !self.changes
    }

    /// Writes a frame of the run as it is sent.
    pub(crate) fn write(
        &self,
        bytes: &[u8],
        found: &Found,
        number: Option<u64>,
        out: &mut Vec<u8>,
    ) {
        for (piece, between) in self.pieces.iter().zip(&found.between) {
            out.extend_from_slice(&piece.to);
            match (piece.then, number) {
                (Then::Number, Some(number)) => {
                    out.extend_from_slice(number.to_string().as_bytes());
                }
                _ => out.extend_from_slice(bytes.get(between.clone()).unwrap_or_default()),
            }
        }
    }
}

/// Where the string ends whose text starts at `at`; `None` where a line ends before.
fn text_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let found = special(u64::from_le_bytes(*word));
            if found != 0 {
                at += (found.trailing_zeros() / 8) as usize;
                break;
            }
            at += word.len();
        }
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at = escape_end(bytes, at + 1)?,
            ..b' ' => return None,
            _ => at += 1,
        }
    }
}

/// Where the escape ends whose character after the backslash is at `at`.
fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

/// A high bit at the first byte of `word` that is a quote, a backslash or a control character.
///
/// Bytes after the first may have one too: subtraction borrows from right to left only.
const fn special(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const fn zeros(word: u64) -> u64 {
        word.wrapping_sub(ONES) & !word
    }
    let quotes = zeros(word ^ (ONES * b'"' as u64));
    let backslashes = zeros(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * b' ' as u64) & !word;
    (quotes | backslashes | controls) & (ONES * 0x80)
}

/// The number that starts at `at`, and where it ends.
fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut number = 0u64;
    let mut end = at;
    while let Some(digit) = bytes.get(end).filter(|byte| byte.is_ascii_digit()) {
        number = number
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
        end += 1;
    }
    let is_number = end == at + 1 || (end > at && bytes.get(at) != Some(&b'0'));
    is_number.then_some((number, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &[u8] = b"event: x\ndata: {\"delta\":\"a\\\"b\",\"item_id\":\"i\",\"sequence_number\":7,\"z\":\"\"}\n\n";

    fn run(set: &[(&str, &str)]) -> DeltaRun {
        let frame = Frame::read(FRAME).expect("data");
        let mut edits = Edits::default();
        edits.set(&frame.data, 0, set);
        let target = Run {
            item: 0,
            spot: None,
        };
        DeltaRun::begin(&frame, 0, edits, &Report::default(), target).expect("a run")
    }

    fn with(text: &str, number: &str) -> Vec<u8> {
        format!("event: x\ndata: {{\"delta\":\"{text}\",\"item_id\":\"i\",\"sequence_number\":{number},\"z\":\"\"}}\n\n").into_bytes()
    }

    #[test]
    fn only_text_and_number_may_differ() {
        let run = run(&[]);
        for text in [
            "",
            "x",
            "eight ch",
            "\\\\",
            "\u{e9}\u{1f600} and more",
            "a\\\"b\\u0041",
        ] {
            let next = with(text, "18446744073709551615");
            let found = run.find(&[&next[..], b"more"].concat()).expect(text);
            assert_eq!((found.length, found.number), (next.len(), Some(u64::MAX)));
            for cut in 0..next.len() {
                assert!(run.find(&next[..cut]).is_none(), "{text} cut at {cut}");
            }
        }
        for other in [
            with("a\nb", "8"),
            with("12345678\t", "8"),
            with("a", "1.5"),
            with("a", ""),
            with("a", "08"),
            with("\\x", "8"),
            with("\\u00g0", "8"),
        ] {
            assert!(run.find(&other).is_none());
        }
        assert!(run.is_plain());
    }

    #[test]
    fn every_byte_of_a_word_is_looked_at() {
        for byte in 0..=255u8 {
            for at in 0..8 {
                let mut word = [0xe9; 8];
                word[at] = byte;
                let found = special(u64::from_le_bytes(word));
                let wanted = byte < b' ' || byte == b'"' || byte == b'\\';
                assert_eq!(found != 0, wanted, "{byte:#x}");
                if wanted {
                    assert_eq!(found.trailing_zeros() as usize / 8, at);
                }
            }
        }
    }

    #[test]
    fn what_was_edited_in_the_first_is_edited_in_all() {
        let run = run(&[("output_index", "3"), ("item_id", "\"other\"")]);
        let next = with("hi", "8");
        let found = run.find(&next).expect("a frame of the run");
        let mut out = Vec::new();
        run.write(&next, &found, Some(11), &mut out);
        let want = b"event: x\ndata: {\"output_index\":3,\"delta\":\"hi\",\"item_id\":\"other\",\"sequence_number\":11,\"z\":\"\"}\n\n";
        assert_eq!(out, want);
    }
}
