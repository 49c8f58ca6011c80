//! An event stream on its way to the client, rewritten as it passes.
//!
//! hyper hands over one chunk at a time. What has come already is sent together, since each piece
//! that is sent costs a call of the system.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use sse_rewrite::SseRewriter;

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
    then: Then,
    end: End,
    first: First,
}

/// More than this is not sent together: it is no cheaper, and the allocator gives larger pieces back
/// to the system each time.
const SENT_TOGETHER: usize = 16 << 10;

/// What comes after what was sent last.
enum Then {
    More,
    Trailers(HeaderMap),
    Fail(hyper::Error),
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
        rewriter: SseRewriter,
        learner: Option<Learner>,
        metrics: Arc<Metrics>,
        before: Duration,
    ) -> Self {
        metrics.streams_open.inc();
        Self {
            answer,
            rewriter,
            learner,
            metrics,
            out: Vec::new(),
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
                break;
            };
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
                    this.then = Then::Fail(error);
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
            Then::Fail(error) => Poll::Ready(Some(Err(error.into()))),
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
