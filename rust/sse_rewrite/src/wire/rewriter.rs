//! The rewriter of event streams: bytes in, bytes out.

use std::collections::BTreeMap;

use crate::contract::catalogue::EventKind;
use crate::contract::engine::Engine;
use crate::contract::event::{Changes, Fate, Step, Ticket};
use crate::contract::observer::NoObserver;
use crate::contract::policy::{GaveUp, Policy};
use crate::contract::report::{Repaired, Report};
use crate::wire::apply;
use crate::wire::decode::Reading;
use crate::wire::delta_run::DeltaRun;
use crate::wire::frame::{Frame, FrameScanner, Style};
use crate::wire::observer::{FrameObserver, RawEvent};
use crate::wire::sink::Sink;

/// UTF-8's byte order mark, which may start a stream and is none of its first line.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// How much room for frames that come in pieces is kept between two of them.
const KEPT_ROOM: usize = 64 << 10;

/// How much room for the texts of deltas is kept between two runs.
const SAID_ROOM: usize = 4 << 10;

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
pub struct SseRewriter<O = NoObserver> {
    policy: Policy,
    scanner: FrameScanner,
    /// The start of a frame whose end has not come yet.
    pending: Vec<u8>,
    engine: Engine<O>,
    run: Option<DeltaRun>,
    /// What the deltas of the run have said that the engine was not told yet.
    said: Vec<u8>,
    /// Frames that wait.
    waiting: BTreeMap<Ticket, Vec<u8>>,
    /// How the last frame was written, for frames that are inserted.
    style: Style,
    started: bool,
    /// Where the last frame went, for the LF that may yet belong to its end.
    last: Last,
    gave_up: Option<GaveUp>,
    frames: Frames,
}

/// Where a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Sent,
    Dropped,
    Waits(Ticket),
}

impl SseRewriter {
    /// A rewriter for one stream.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::observed(policy, NoObserver)
    }
}

impl<O: FrameObserver> SseRewriter<O> {
    /// A rewriter that tells `observer` what it finds.
    pub(crate) fn observed(policy: Policy, observer: O) -> Self {
        Self {
            policy,
            scanner: FrameScanner::default(),
            pending: Vec::new(),
            engine: Engine::observed(policy, observer),
            run: None,
            said: Vec::new(),
            waiting: BTreeMap::new(),
            style: Style::default(),
            started: false,
            last: Last::Sent,
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
            match self.follow(&frame, &mut sink) {
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
            if let Some((end, same)) = self.follow(rest, &mut sink) {
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
    /// A last event without its blank line is treated as an event: some clients read it. It gets
    /// its blank line only if anything is sent after it. What is left of an event that is cut
    /// goes out after all that waits.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) {
        let mut frame = std::mem::take(&mut self.pending);
        self.scanner = FrameScanner::default();
        let missing = match Frame::read(frame.strip_prefix(BOM).unwrap_or(&frame)) {
            Some(read) if Reading::of(&read).is_some() => self.style.missing_end(&frame),
            _ => "",
        };
        if missing.is_empty() {
            self.settle(out);
            if !frame.is_empty() {
                self.send(&mut Sink::new(&frame, out), &frame);
            }
            return;
        }
        frame.extend_from_slice(missing.as_bytes());
        let mut last = Vec::new();
        self.send(&mut Sink::new(&frame, &mut last), &frame);
        let length = last.len();
        self.settle(&mut last);
        let is_last = length == last.len() && self.last == Last::Sent;
        if is_last && last.ends_with(missing.as_bytes()) {
            last.truncate(length - missing.len());
        }
        out.append(&mut last);
    }

    /// Nothing more comes: sends what waits.
    fn settle(&mut self, out: &mut Vec<u8>) {
        self.tell_said();
        if self.gave_up.is_some() {
            return;
        }
        match self.engine.finish() {
            Ok(action) => {
                for step in action.steps {
                    self.step(step, None, out);
                }
            }
            Err(reason) => self.give_up(reason, out),
        }
    }

    /// What was changed so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.engine.report()
    }

    /// Which fields of whole items were corrected so far.
    #[must_use]
    pub fn repaired(&self) -> &Repaired {
        self.engine.repaired()
    }

    /// How many events were inserted so far, by type.
    #[must_use]
    pub fn inserted(&self) -> &BTreeMap<&'static str, u64> {
        self.engine.inserted()
    }

    /// Who is told what is found.
    pub(crate) fn observer(&mut self) -> &mut O {
        &mut self.engine.observer
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
        match self.last {
            Last::Sent => out.push(b'\n'),
            Last::Dropped => {}
            Last::Waits(ticket) => match self.waiting.get_mut(&ticket) {
                Some(frame) => frame.push(b'\n'),
                None => out.push(b'\n'),
            },
        }
        rest
    }

    /// Keeps the start of a frame, unless it is too long already.
    fn wait(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > self.policy.max_frame_bytes {
            self.give_up(GaveUp::FrameTooLong, out);
            out.append(&mut self.pending);
            self.pending = Vec::new();
        }
    }

    /// The stream passes unchanged from here on, what waits first (C10).
    fn give_up(&mut self, reason: GaveUp, out: &mut Vec<u8>) {
        self.gave_up = Some(reason);
        self.run = None;
        for frame in std::mem::take(&mut self.waiting).into_values() {
            out.extend_from_slice(&frame);
        }
    }

    /// Sends the frame at the start of `bytes` if it continues a run of deltas; returns its
    /// length, and whether it is as it came.
    fn follow(&mut self, bytes: &[u8], sink: &mut Sink) -> Option<(usize, bool)> {
        let run = self.run.as_ref()?;
        let found = run.find(bytes)?;
        if found.length > self.policy.max_frame_bytes {
            return None;
        }
        self.engine.observer.again(found.number);
        self.said.extend_from_slice(run.text(bytes, &found));
        let sent = found.number.map(|number| self.engine.number_of_run(number));
        if let Some(counts) = &run.counts {
            self.engine.count_again(counts);
        }
        let same = run.is_plain() && sent == found.number;
        if same {
            sink.pass(found.length);
        } else {
            run.write(bytes, &found, sent, sink.replace(found.length));
        }
        if self.said.len() > KEPT_ROOM {
            self.tell_said();
        }
        Some((found.length, same))
    }

    /// Tells the engine what the deltas of the run have said.
    fn tell_said(&mut self) {
        if let Some(run) = self.run.as_ref().filter(|_| !self.said.is_empty()) {
            self.engine.say(run.target, &self.said);
        }
        self.said.clear();
        self.said.shrink_to(SAID_ROOM);
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
        self.last = Last::Sent;
        self.tell_said();
        self.run = None;
        if whole > self.policy.max_frame_bytes && self.gave_up.is_none() {
            self.give_up(GaveUp::FrameTooLong, sink.replace(0));
        }
        if self.gave_up.is_some() {
            return sink.pass(frame.len());
        }
        let Some(read) = Frame::read(frame) else {
            self.frames.count(true);
            return sink.pass(frame.len());
        };
        self.style = read.style;
        let Some(reading) = Reading::of(&read) else {
            self.engine.observer.unreadable(&read.data);
            self.frames.count(true);
            return sink.pass(frame.len());
        };
        self.observe(&reading);
        let before = *self.engine.report();
        let action = match self.engine.take(&reading.event(), reading.number) {
            Ok(action) => action,
            Err(reason) => {
                self.give_up(reason, sink.replace(0));
                return sink.pass(frame.len());
            }
        };
        if let Fate::Wait(ticket) = action.this {
            self.waiting.insert(ticket, frame.to_vec());
            self.last = Last::Waits(ticket);
        }
        let is_alone = action.steps.is_empty();
        if !is_alone {
            let out = sink.replace(0);
            for step in action.steps {
                self.step(step, Some((&read, &reading)), out);
            }
        }
        match action.this {
            Fate::Wait(_) => {
                sink.replace(frame.len());
            }
            Fate::Drop => {
                self.frames.count(false);
                read.write_other_lines(sink.replace(frame.len()));
                self.last = if read.has_other_lines() {
                    Last::Sent
                } else {
                    Last::Dropped
                };
            }
            Fate::Send(changes) => {
                if let Some(target) = action.run {
                    let counts = self.engine.report().since(&before);
                    let unnumbered = without_number(&changes);
                    let (edits, _) = apply::edits_of(&reading, &unnumbered);
                    self.run = DeltaRun::begin(&read, reading.fields.start, edits, &counts, target);
                }
                let (edits, name) = apply::edits_of(&reading, &changes);
                let is_same = edits.is_empty() && name.is_none();
                self.frames.count(is_same && is_alone);
                if is_same {
                    sink.pass(frame.len());
                } else {
                    read.write_with(edits, name, sink.replace(frame.len()));
                }
            }
        }
    }

    /// Sends what comes before a frame.
    fn step(&mut self, step: Step, this: Option<(&Frame, &Reading)>, out: &mut Vec<u8>) {
        match step {
            Step::Insert(event, number) => {
                self.style
                    .write(event.event_type, &event.to_json(number), out);
            }
            Step::Release(ticket, changes) => {
                let Some(bytes) = self.waiting.remove(&ticket) else {
                    return;
                };
                self.frames.count(false);
                if let (Last::Waits(last), Some((frame, reading))) = (self.last, this)
                    && last == ticket
                {
                    apply::write(frame, reading, &changes, out);
                    return;
                }
                let Some(frame) = Frame::read(&bytes) else {
                    return;
                };
                match Reading::of(&frame) {
                    Some(reading) => {
                        apply::write(&frame, &reading, &changes, out);
                    }
                    None => out.extend_from_slice(&bytes),
                }
            }
            Step::Discard(ticket) => {
                self.frames.count(false);
                let bytes = self.waiting.remove(&ticket).unwrap_or_default();
                if let Some(frame) = Frame::read(&bytes) {
                    frame.write_other_lines(out);
                    if self.last == Last::Waits(ticket) && !frame.has_other_lines() {
                        self.last = Last::Dropped;
                    }
                }
            }
        }
    }

    fn observe(&mut self, reading: &Reading) {
        if !O::LISTENS {
            return;
        }
        let kind = reading.kind();
        let observer = &mut self.engine.observer;
        observer.event(&RawEvent {
            json: reading.json,
            fields: &reading.fields,
            event_type: &reading.event_type,
            kind,
            number: reading.number,
        });
        if let EventKind::Terminal { failed } = kind {
            match &reading.output {
                None => observer.no_response(),
                Some(output) if output.has_others && !failed => observer.not_an_item(),
                Some(_) => {}
            }
        }
    }
}

/// The changes that every delta of a run has: all but the number.
fn without_number(changes: &Changes) -> Changes {
    let mut changes = changes.clone();
    changes
        .members
        .retain(|change| change.key != "sequence_number");
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, members: &str) -> String {
        format!("event: {kind}\ndata: {{{members},\"type\":\"{kind}\"}}\n\n")
    }

    fn delta(number: usize, index: usize) -> String {
        let members = format!(
            "\"content_index\":0,\"delta\":\"x\",\"item_id\":\"msg_1\",\"output_index\":{index},\"sequence_number\":{number}"
        );
        event("response.output_text.delta", &members)
    }

    #[test]
    fn frames_are_counted_once_however_they_come() {
        let created = "\"response\":{\"id\":\"resp_1\"},\"sequence_number\":0";
        let added = "\"item\":{\"id\":\"msg_1\",\"type\":\"message\"},\"output_index\":0,\"sequence_number\":1";
        let mut stream = event("response.created", created);
        stream += &event("response.output_item.added", added);
        let opened = "\"content_index\":0,\"item_id\":\"msg_1\",\"output_index\":0,\"part\":{\"text\":\"\",\"type\":\"output_text\"},\"sequence_number\":2";
        stream += &event("response.content_part.added", opened);
        stream += ": a comment\n\n";
        (3..13).for_each(|number| stream += &delta(number, 0));
        // These are at a wrong index, which is put right.
        (13..18).for_each(|number| stream += &delta(number, 3));
        stream += "data: [DONE]";
        let want = Frames {
            passed: 15,
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
