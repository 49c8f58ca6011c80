//! The rewriter of event streams: bytes in, bytes out.

use std::collections::BTreeMap;

use crate::check::Watch;
use crate::frame::{Frame, FrameScanner};
use crate::ledger::Repaired;
use crate::policy::{GaveUp, Policy};
use crate::report::Report;
use crate::sink::Sink;
use crate::translate::{Translated, Translator};

/// UTF-8's byte order mark, which may start a stream and is none of its first line.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// How much room for frames that come in pieces is kept between two of them.
const KEPT_ROOM: usize = 64 << 10;

/// How many frames of a stream were sent as they came, and how many were changed or dropped.
///
/// What passes after a limit is not read, and not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frames {
    /// Sent byte for byte as they came.
    pub passed: u64,
    /// Sent otherwise, with others before them, or not at all.
    pub rewritten: u64,
}

impl Frames {
    fn count(&mut self, same: bool) {
        self.passed += u64::from(same);
        self.rewritten += u64::from(!same);
    }
}

/// Rewrites the bytes of one event stream so that it keeps the identity contract.
///
/// It does no I/O: give it the bytes as they arrive, cut anywhere, and send on what it
/// returns. A frame is returned when its last byte has come, and as the same bytes unless the
/// contract asks for a change. A stream that passes a limit of the [`Policy`] is returned
/// unchanged from there on (C10); see [`SseRewriter::gave_up`].
///
/// ```
/// use sse_rewrite::{Policy, SseRewriter};
///
/// let mut rewriter = SseRewriter::new(Policy::default());
/// let mut sent = rewriter.feed(b"event: response.created\ndata: {\"type\":\"respo");
/// sent.extend(rewriter.feed(b"nse.created\",\"response\":{\"id\":\"resp_1\"}}\n\n"));
/// sent.extend(rewriter.finish());
/// assert!(sent.ends_with(b"{\"id\":\"resp_1\"}}\n\n"));
/// assert!(rewriter.report().is_untouched());
/// ```
#[derive(Debug)]
pub struct SseRewriter {
    policy: Policy,
    scanner: FrameScanner,
    /// The start of a frame whose end has not come yet.
    pending: Vec<u8>,
    translator: Translator,
    started: bool,
    /// Whether the last frame was sent, for the LF that may yet belong to its end.
    last_sent: bool,
    gave_up: Option<GaveUp>,
    frames: Frames,
}

impl SseRewriter {
    /// A rewriter for one stream.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::with(Watch::default(), policy)
    }

    /// A rewriter whose decisions are recorded.
    pub(crate) fn watched(policy: Policy) -> Self {
        Self::with(Watch::recording(), policy)
    }

    fn with(watch: Watch, policy: Policy) -> Self {
        Self {
            policy,
            scanner: FrameScanner::default(),
            pending: Vec::new(),
            translator: Translator::new(policy, watch),
            started: false,
            last_sent: true,
            gave_up: None,
            frames: Frames::default(),
        }
    }

    /// Takes the next bytes of the stream; returns what can be sent on.
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.pending.len() + bytes.len());
        self.feed_into(bytes, &mut out);
        out
    }

    /// Takes the next bytes of the stream; appends what can be sent on to `out`.
    pub fn feed_into(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = self.take_owed_lf(bytes, out);
        if !self.pending.is_empty() && self.gave_up.is_none() {
            let Some(end) = self.scanner.end(rest) else {
                self.wait(rest, out);
                return;
            };
            let (head, tail) = rest.split_at_checked(end).unwrap_or((rest, b""));
            self.pending.extend_from_slice(head);
            rest = tail;
            let mut frame = std::mem::take(&mut self.pending);
            let mut sink = Sink::new(&frame, out);
            match self.translator.follow(&frame, &mut sink) {
                Some((_, same)) => self.frames.count(same),
                None => self.send(&mut sink, &frame),
            }
            drop(sink);
            if frame.capacity() <= KEPT_ROOM {
                frame.clear();
                self.pending = frame;
            }
        }
        let mut sink = Sink::new(rest, out);
        while self.gave_up.is_none() && !rest.is_empty() {
            if let Some((end, same)) = self.translator.follow(rest, &mut sink) {
                self.frames.count(same);
                rest = rest.get(end..).unwrap_or_default();
                continue;
            }
            let Some(end) = self.scanner.end(rest) else {
                break;
            };
            let (frame, tail) = rest.split_at_checked(end).unwrap_or((rest, b""));
            self.send(&mut sink, frame);
            rest = tail;
        }
        if self.gave_up.is_some() {
            sink.pass(rest.len());
            rest = b"";
        }
        drop(sink);
        if !rest.is_empty() {
            self.wait(rest, out);
        }
    }

    /// The stream has ended; returns what was still held of it.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.finish_into(&mut out);
        out
    }

    /// The stream has ended; appends what was still held of it to `out`.
    ///
    /// A last frame without its blank line is treated as a frame: some clients read it.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) {
        let frame = std::mem::take(&mut self.pending);
        if !frame.is_empty() {
            self.send(&mut Sink::new(&frame, out), &frame);
        }
        self.scanner = FrameScanner::default();
    }

    /// What was changed so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.translator.report()
    }

    /// Which fields of whole items were corrected so far.
    #[must_use]
    pub fn repaired(&self) -> &Repaired {
        self.translator.repaired()
    }

    /// How many events were inserted so far, by type.
    #[must_use]
    pub fn inserted(&self) -> &BTreeMap<&'static str, u64> {
        self.translator.inserted()
    }

    /// Who is told what is decided.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        &mut self.translator.watch
    }

    /// How many frames were sent so far, and how.
    #[must_use]
    pub fn frames(&self) -> Frames {
        self.frames
    }

    /// Why the stream passes unchanged, if it does.
    #[must_use]
    pub fn gave_up(&self) -> Option<GaveUp> {
        self.gave_up
    }

    /// Sends or drops an LF that still belongs to the CR that ended the last frame.
    fn take_owed_lf<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let ends_frame = self.pending.is_empty() && self.scanner.owes_lf() && !bytes.is_empty();
        if !ends_frame {
            return bytes;
        }
        self.scanner.settle_lf();
        let Some(rest) = bytes.strip_prefix(b"\n") else {
            return bytes;
        };
        if self.last_sent {
            out.push(b'\n');
        }
        rest
    }

    /// Keeps the start of a frame, unless it is too long already.
    fn wait(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > self.policy.max_frame_bytes {
            self.gave_up = Some(GaveUp::FrameTooLong);
            out.append(&mut self.pending);
            self.pending = Vec::new();
        }
    }

    /// Sends one frame, rewritten where it must be.
    fn send(&mut self, sink: &mut Sink, frame: &[u8]) {
        let whole = frame.len();
        let mut frame = frame;
        if !self.started {
            self.started = true;
            if let Some(text) = frame.strip_prefix(BOM) {
                sink.pass(BOM.len());
                frame = text;
            }
        }
        self.last_sent = true;
        if whole > self.policy.max_frame_bytes {
            self.gave_up = Some(GaveUp::FrameTooLong);
        }
        if self.gave_up.is_some() {
            return sink.pass(frame.len());
        }
        let Some(read) = Frame::read(frame) else {
            self.frames.count(true);
            return sink.pass(frame.len());
        };
        let translated = self.translator.translate(&read);
        if let Ok(translated) = &translated {
            self.frames.count(matches!(translated, Translated::Same));
        }
        match translated {
            Ok(Translated::Same) => sink.pass(frame.len()),
            Ok(Translated::Dropped) => {
                read.write_other_lines(sink.replace(frame.len()));
                self.last_sent = read.has_other_lines();
            }
            Ok(Translated::Changed {
                before,
                edits,
                name,
            }) => {
                let out = sink.replace(frame.len());
                for (event, number) in before {
                    read.style
                        .write(event.event_type, &event.to_json(number), out);
                }
                read.write_with(edits, name, out);
            }
            Err(reason) => {
                self.gave_up = Some(reason);
                sink.pass(frame.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, members: &str) -> String {
        format!("event: {kind}\ndata: {{{members},\"type\":\"{kind}\"}}\n\n")
    }

    fn delta(number: usize, index: usize) -> String {
        let members = format!(
            "\"delta\":\"x\",\"item_id\":\"msg_1\",\"output_index\":{index},\"sequence_number\":{number}"
        );
        event("response.output_text.delta", &members)
    }

    #[test]
    fn frames_are_counted_once_however_they_come() {
        let created = "\"response\":{\"id\":\"resp_1\"},\"sequence_number\":0";
        let added = "\"item\":{\"id\":\"msg_1\",\"type\":\"message\"},\"output_index\":0,\"sequence_number\":1";
        let mut stream = event("response.created", created);
        stream += &event("response.output_item.added", added);
        stream += ": a comment\n\n";
        (2..12).for_each(|number| stream += &delta(number, 0));
        // These are at a wrong index, which is put right.
        (12..17).for_each(|number| stream += &delta(number, 3));
        stream += "data: [DONE]";
        let want = Frames {
            passed: 14,
            rewritten: 5,
        };
        for size in [1, 7, 300, stream.len()] {
            let mut rewriter = SseRewriter::new(Policy::default());
            let mut out = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                rewriter.feed_into(piece, &mut out);
            }
            rewriter.finish_into(&mut out);
            assert_eq!(rewriter.frames(), want, "pieces of {size}");
        }
    }
}
