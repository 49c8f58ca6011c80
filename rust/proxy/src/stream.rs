//! An event stream on its way to the client, rewritten as it passes.
//!
//! hyper hands over one chunk at a time, through another task. What has come already is sent
//! together, since each piece that is sent costs a call of the system. So with something to send
//! and nothing more to read, the stream lets other tasks run once, and then sends it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use sse_rewrite::{Policy, SseRewriter};

use crate::BoxError;
use crate::affinity::Learner;
use crate::body::Answer;
use crate::metrics::{End, Metrics};

/// A rewritten event stream.
pub(crate) struct Rewritten {
    answer: Answer,
    rewriter: SseRewriter,
    learner: Option<Learner>,
    metrics: Arc<Metrics>,
    /// What is to be sent.
    out: Vec<u8>,
    /// Whether other tasks were let run since the last bytes came.
    waited: bool,
    then: Then,
    end: End,
    first: First,
}

/// More than this is not sent together.
const SENT_TOGETHER: usize = 64 << 10;

/// What comes after what was sent last.
enum Then {
    More,
    Trailers(HeaderMap),
    /// The failure that ends the stream, once the client was `sent` what came before it.
    Fail {
        error: hyper::Error,
        sent: bool,
    },
    Nothing,
}

/// How far the stream is from its first event.
enum First {
    /// Nothing came; the request took this long to pass.
    Awaited(Duration),
    /// Its first bytes came at that time.
    Coming(Duration, Instant),
    Sent,
}

impl Rewritten {
    /// A stream whose request took `before` to pass.
    pub(crate) fn new(
        answer: Answer,
        learner: Option<Learner>,
        metrics: Arc<Metrics>,
        before: Duration,
    ) -> Self {
        metrics.streams_open.inc();
        Self {
            answer,
            rewriter: SseRewriter::new(Policy::default()),
            learner,
            metrics,
            out: Vec::new(),
            waited: false,
            then: Then::More,
            end: End::ClientLeft,
            first: First::Awaited(before),
        }
    }

    /// Takes in the next bytes; `None`: the end of the stream.
    fn rewrite(&mut self, data: Option<&[u8]>) {
        if let First::Awaited(before) = self.first {
            self.first = First::Coming(before, Instant::now());
        }
        let before = self.out.len();
        match data {
            Some(data) => self.rewriter.feed_into(data, &mut self.out),
            None => self.rewriter.finish_into(&mut self.out),
        }
        let new = self.out.get(before..).unwrap_or_default();
        if let (false, Some(learner)) = (new.is_empty(), &mut self.learner) {
            learner.frames(new);
        }
    }

    /// What is to be sent, if there is anything.
    fn take(&mut self) -> Option<Frame<Bytes>> {
        if self.out.is_empty() {
            return None;
        }
        if let First::Coming(before, at) = self.first {
            self.first = First::Sent;
            self.metrics.first_event(before + at.elapsed());
        }
        self.metrics.frames.inc_by(ends_of_frames(&self.out));
        Some(Frame::data(std::mem::take(&mut self.out).into()))
    }
}

impl Body for Rewritten {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        while let Then::More = this.then {
            if this.out.len() >= SENT_TOGETHER {
                break;
            }
            let Poll::Ready(next) = Pin::new(&mut this.answer).poll_frame(cx) else {
                if this.out.is_empty() {
                    return Poll::Pending;
                }
                if this.waited {
                    break;
                }
                this.waited = true;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            };
            this.waited = false;
            match next.map(|next| next.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => this.rewrite(Some(&data)),
                Some(Ok(Err(frame))) => {
                    this.end = End::Complete;
                    this.then = frame.into_trailers().map_or(Then::Nothing, Then::Trailers);
                    this.rewrite(None);
                }
                Some(Err(error)) => {
                    tracing::warn!("upstream failed in the middle of a stream");
                    this.end = End::UpstreamFailed;
                    this.then = Then::Fail { error, sent: false };
                    this.rewrite(None);
                }
                None => {
                    this.end = End::Complete;
                    this.then = Then::Nothing;
                    this.rewrite(None);
                }
            }
        }
        if let Some(frame) = this.take() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match std::mem::replace(&mut this.then, Then::Nothing) {
            Then::Trailers(trailers) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Then::Fail { error, sent: true } => Poll::Ready(Some(Err(error.into()))),
            Then::Fail { error, sent: false } => {
                // The server sends what it has when nothing more comes at once.
                this.then = Then::Fail { error, sent: true };
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Then::More | Then::Nothing => Poll::Ready(None),
        }
    }
}

impl Drop for Rewritten {
    fn drop(&mut self) {
        self.metrics.streams_open.dec();
        self.metrics.stream_ended(self.end, &self.rewriter);
        if let Some(reason) = self.rewriter.gave_up() {
            tracing::warn!(%reason, "a stream passed unchanged from some frame on");
        }
        tracing::info!(end = self.end.name(), "stream ended");
    }
}

/// How many blank lines there are, each of which ends a frame.
fn ends_of_frames(frames: &[u8]) -> u64 {
    let mut ends = 0;
    let mut before = None;
    for at in memchr::memchr_iter(b'\n', frames) {
        let line = before.and_then(|before| frames.get(before + 1..at));
        ends += u64::from(matches!(line, Some(b"" | b"\r")));
        before = Some(at);
    }
    ends
}
