//! Answers that break off.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// How long after what came before it a failure is told.
const LATER: Duration = Duration::from_millis(50);

/// A body whose failure comes after what came before it.
///
/// hyper drops what it has not sent yet, even the head of the answer, when it is told that the
/// body fails. It sends all it has when nothing more comes for a moment.
pub(crate) struct BreaksOff<B: Body> {
    body: B,
    failure: Option<(B::Error, Pin<Box<Sleep>>)>,
}

impl<B: Body> BreaksOff<B> {
    pub(crate) fn new(body: B) -> Self {
        Self {
            body,
            failure: None,
        }
    }
}

impl<B> Body for BreaksOff<B>
where
    B: Body + Unpin,
    B::Error: Unpin,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = &mut *self;
        if this.failure.is_none() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Err(error)) => this.failure = Some((error, Box::pin(sleep(LATER)))),
                frame => return Poll::Ready(frame),
            }
        }
        if let Some((_, wait)) = &mut this.failure {
            ready!(wait.as_mut().poll(cx));
        }
        Poll::Ready(this.failure.take().map(|(error, _)| Err(error)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
