//! The body of an answer on its way to the client.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::affinity::Learner;
use crate::upstream::Open;

/// What an upstream answers, as it comes. Dropped before its end, it closes its connection.
pub(crate) struct Answer {
    incoming: Incoming,
    learner: Option<Learner>,
    _open: Open,
}

impl Answer {
    pub(crate) fn new(incoming: Incoming, open: Open) -> Self {
        Self {
            incoming,
            learner: None,
            _open: open,
        }
    }

    /// Lets `learner` see the body, one JSON object.
    pub(crate) fn shown_to(mut self, learner: Option<Learner>) -> Self {
        self.learner = learner;
        self
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.incoming).poll_frame(cx);
        if let (Some(learner), Poll::Ready(Some(Ok(frame)))) = (&mut self.learner, &polled) {
            learner.object(frame.data_ref().map_or(b"", |data| data));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
