//! Finds where the frames of an event stream end, and reads the fields of one.
//!
//! The format is that of the HTML standard, "Server-sent events": lines end with LF, CR or
//! CRLF, a blank line ends a frame, a byte order mark may come first. All of it is ASCII, so
//! text is never decoded.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr_iter, memchr2};

use crate::json::edit::Edits;

/// Looks for the ends of frames in bytes that come in pieces, each byte once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameScanner {
    line_is_blank: bool,
    after_cr: bool,
}

impl Default for FrameScanner {
    fn default() -> Self {
        Self {
            line_is_blank: true,
            after_cr: false,
        }
    }
}

impl FrameScanner {
    /// Where in `bytes`, which follow those of the last call, the current frame ends.
    ///
    /// A CR ends a line at once. If it ends the frame and the piece, an LF at the start of the
    /// next piece still belongs to it: see [`FrameScanner::owes_lf`].
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            at = usize::from(bytes.first() == Some(&b'\n'));
        }
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(length) = memchr2(b'\n', b'\r', rest) else {
                self.line_is_blank &= rest.is_empty();
                return None;
            };
            let blank = self.line_is_blank && length == 0;
            self.line_is_blank = true;
            at += length + 1;
            if rest.get(length) == Some(&b'\r') {
                match bytes.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if blank {
                return Some(at);
            }
        }
    }

    /// Whether an LF, should it come next, belongs to the line end seen last.
    pub(crate) fn owes_lf(self) -> bool {
        self.after_cr
    }

    /// The owed LF has come, or will not.
    pub(crate) fn settle_lf(&mut self) {
        self.after_cr = false;
    }
}

/// One frame: its fields, and how it is written.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    bytes: &'a [u8],
    /// The value of its `event` field.
    pub(crate) event: Option<&'a [u8]>,
    /// Where that lies in it.
    event_at: Range<usize>,
    /// Its data: one line as it stands, or several joined by LF.
    pub(crate) data: Cow<'a, [u8]>,
    /// Where its data starts, if it is one line.
    data_at: Option<usize>,
    /// How it is written, for further frames like it.
    pub(crate) style: Style,
    /// Whether it has lines other than `event` and `data`, such as comments.
    has_other_lines: bool,
}

/// How a stream writes its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Whether frames have an `event` line.
    pub(crate) event_line: bool,
    /// Whether a space follows the colon.
    pub(crate) spaced: bool,
    /// What ends a line.
    pub(crate) line_end: &'static str,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            event_line: true,
            spaced: true,
            line_end: "\n",
        }
    }
}

impl Style {
    /// Writes a frame of the event `kind` with the JSON text `data`.
    pub(crate) fn write(self, kind: &str, data: &str, out: &mut Vec<u8>) {
        let space = if self.spaced { " " } else { "" };
        if self.event_line {
            for piece in ["event:", space, kind, self.line_end] {
                out.extend_from_slice(piece.as_bytes());
            }
        }
        for piece in ["data:", space] {
            out.extend_from_slice(piece.as_bytes());
        }
        self.write_data(data.as_bytes(), out);
        for _ in 0..2 {
            out.extend_from_slice(self.line_end.as_bytes());
        }
    }

    /// What `frame`, which has no blank line, lacks to its end.
    pub(crate) fn missing_end(self, frame: &[u8]) -> &'static str {
        let ends_with = |end: &str| frame.ends_with(end.as_bytes());
        match self.line_end {
            "\r\n" if ends_with("\r\n") => "\r\n",
            "\r\n" if ends_with("\r") => "\n\r\n",
            "\r\n" if !ends_with("\n") => "\r\n\r\n",
            _ if ends_with("\n") => "\n",
            _ if ends_with("\r") => "\r",
            "\r" => "\r\r",
            _ => "\n\n",
        }
    }

    /// Writes JSON text inside a `data` line: where it breaks, so does the line.
    pub(crate) fn write_data(self, data: &[u8], out: &mut Vec<u8>) {
        let mut from = 0;
        for end in memchr_iter(b'\n', data) {
            out.extend_from_slice(data.get(from..end).unwrap_or_default());
            out.extend_from_slice(self.line_end.as_bytes());
            out.extend_from_slice(b"data: ");
            from = end + 1;
        }
        out.extend_from_slice(data.get(from..).unwrap_or_default());
    }
}

impl<'a> Frame<'a> {
    /// Reads a frame; `None` where it has no data.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut event_at = None;
        let mut data: Option<Cow<'a, [u8]>> = None;
        let mut has_other_lines = false;
        let mut style = None;
        let mut data_at = None;
        for line in Lines::of(bytes) {
            match line.field(bytes) {
                (b"data", span) => {
                    data_at = data.is_none().then_some(span.start);
                    let value = bytes.get(span).unwrap_or_default();
                    if let Some(joined) = &mut data {
                        let joined = joined.to_mut();
                        joined.push(b'\n');
                        joined.extend_from_slice(value);
                    } else {
                        data = Some(Cow::Borrowed(value));
                        style = Some(line.style(bytes));
                    }
                }
                (b"event", value) => event_at = Some(value),
                _ => has_other_lines |= !line.text.is_empty(),
            }
        }
        let event = event_at.clone().and_then(|span| bytes.get(span));
        Some(Self {
            bytes,
            event,
            event_at: event_at.unwrap_or_default(),
            data: data?,
            data_at,
            style: Style {
                event_line: event.is_some(),
                ..style?
            },
            has_other_lines,
        })
    }

    /// Writes the frame with some stretches of its data replaced, in order, and its `event` field
    /// if it is given a name for that; all else stays.
    pub(crate) fn write_with(&self, edits: Edits, name: Option<&str>, out: &mut Vec<u8>) {
        let mut copy = Copier {
            frame: self,
            name: name.filter(|_| self.event.is_some()),
            lines: Lines::of(self.bytes),
            line: 0..0,
            offset: 0,
            written: 0,
        };
        copy.next_line();
        for (range, text) in edits.sorted() {
            copy.up_to(range.start, out);
            self.style.write_data(&text, out);
            copy.skip_to(range.end);
        }
        copy.up_to(self.data.len(), out);
        copy.copy(self.bytes.len(), out);
    }

    /// The frame and where its data lies in it, if it has one line of data and is whole.
    ///
    /// A frame that ends with a CR may still get an LF: it is not whole.
    pub(crate) fn in_one_line(&self) -> Option<(&'a [u8], usize)> {
        let is_whole = self.bytes.ends_with(b"\n");
        Some((self.bytes, self.data_at.filter(|_| is_whole)?))
    }

    /// Whether anything is left of it when its event is not sent on.
    pub(crate) fn has_other_lines(&self) -> bool {
        self.has_other_lines
    }

    /// Writes what is left of a frame whose event is not sent on: comments, `id`, `retry`.
    pub(crate) fn write_other_lines(&self, out: &mut Vec<u8>) {
        if !self.has_other_lines {
            return;
        }
        for line in Lines::of(self.bytes) {
            if !matches!(line.field(self.bytes).0, b"data" | b"event") {
                out.extend_from_slice(self.bytes.get(line.text.start..line.next).unwrap_or(b""));
            }
        }
    }
}

/// Copies the data of a frame together with what stands between its lines.
struct Copier<'a> {
    frame: &'a Frame<'a>,
    /// What its `event` field is to say instead.
    name: Option<&'a str>,
    lines: Lines<'a>,
    /// Where the current data line's value lies in the frame.
    line: Range<usize>,
    /// Where it lies in the data.
    offset: usize,
    /// Up to where the frame was written or skipped.
    written: usize,
}

impl Copier<'_> {
    /// Goes on to the next data line.
    fn next_line(&mut self) -> bool {
        for line in self.lines.by_ref() {
            if let (b"data", value) = line.field(self.frame.bytes) {
                self.line = value;
                return true;
            }
        }
        false
    }

    /// The frame's position for a position in the data.
    fn position(&mut self, at: usize) -> usize {
        loop {
            let length = self.line.len();
            let end = self.offset + length;
            if at <= end {
                return self.line.start + (at - self.offset);
            }
            if !self.next_line() {
                return self.line.end;
            }
            self.offset = end + 1;
        }
    }

    fn up_to(&mut self, at: usize, out: &mut Vec<u8>) {
        let to = self.position(at);
        self.copy(to, out);
    }

    /// Copies the frame from where it was written to, up to `to`.
    fn copy(&mut self, to: usize, out: &mut Vec<u8>) {
        let event = &self.frame.event_at;
        if let Some(name) = self.name
            && self.written <= event.start
            && event.end <= to
        {
            let before = self.frame.bytes.get(self.written..event.start);
            out.extend_from_slice(before.unwrap_or_default());
            out.extend_from_slice(name.as_bytes());
            self.written = event.end;
        }
        let piece = self.frame.bytes.get(self.written..to).unwrap_or_default();
        out.extend_from_slice(piece);
        self.written = to;
    }

    fn skip_to(&mut self, at: usize) {
        self.written = self.position(at);
    }
}

/// A line of a frame.
#[derive(Debug, Clone)]
struct Line {
    text: Range<usize>,
    next: usize,
}

impl Line {
    /// The field's name, and where its value lies.
    fn field<'a>(&self, bytes: &'a [u8]) -> (&'a [u8], Range<usize>) {
        let text = bytes.get(self.text.clone()).unwrap_or_default();
        let Some(colon) = text.iter().position(|&byte| byte == b':') else {
            return (text, self.text.end..self.text.end);
        };
        let space = usize::from(text.get(colon + 1) == Some(&b' '));
        let start = self.text.start + colon + 1 + space;
        (
            text.get(..colon).unwrap_or_default(),
            start..self.text.end.max(start),
        )
    }

    fn style(&self, bytes: &[u8]) -> Style {
        let colon = self.text.start + b"data".len();
        Style {
            event_line: false,
            spaced: bytes.get(colon + 1) == Some(&b' '),
            line_end: match bytes.get(self.text.end..self.next) {
                Some(b"\r\n") => "\r\n",
                Some(b"\r") => "\r",
                _ => "\n",
            },
        }
    }
}

/// The lines of a frame.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let end = self.at + length;
        let next = match self.bytes.get(end..) {
            Some([b'\r', b'\n', ..]) => end + 2,
            Some([_, ..]) => end + 1,
            _ => end,
        };
        let text = self.at..end;
        self.at = next;
        Some(Line { text, next })
    }
}
