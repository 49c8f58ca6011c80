//! The body of an answer on its way to the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::affinity::Learner;
use crate::driven::Connection;
use crate::idle::Idle;
use crate::upstream::Open;

/// What an upstream answers, as it comes. Dropped before its end, it closes its connection.
pub(crate) struct Answer {
    incoming: Incoming,
    /// There is none where a task of its own drives it.
    connection: Option<Connection>,
    idle: Arc<Idle>,
    upstream: usize,
    ended: bool,
    learner: Option<Learner>,
    _open: Open,
}

impl Answer {
    pub(crate) fn new(
        incoming: Incoming,
        connection: Option<Connection>,
        idle: Arc<Idle>,
        upstream: usize,
        open: Open,
    ) -> Self {
        Self {
            incoming,
            connection,
            idle,
            upstream,
            ended: false,
            learner: None,
            _open: open,
        }
    }

    /// Lets `learner` see the body, one JSON object.
    pub(crate) fn shown_to(mut self, learner: Option<Learner>) -> Self {
        self.learner = learner;
        self
    }

    /// Takes the connection of an answer that has no body.
    pub(crate) fn take_connection(&mut self) -> Option<Connection> {
        self.connection.take()
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let polled = match &mut this.connection {
            Some(connection) => connection.poll_body(&mut this.incoming, cx),
            None => Pin::new(&mut this.incoming).poll_frame(cx),
        };
        match &polled {
            Poll::Ready(None) => this.ended = true,
            Poll::Ready(Some(Ok(frame))) => {
                this.ended = frame.is_trailers();
                if let Some(learner) = &mut this.learner {
                    learner.object(frame.data_ref().map_or(b"", |data| data));
                }
            }
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
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

impl Drop for Answer {
    fn drop(&mut self) {
        // One of a stated length is not read beyond it.
        if (self.ended || self.incoming.is_end_stream())
            && let Some(connection) = self.connection.take()
        {
            self.idle.keep(self.upstream, connection);
        }
    }
}
