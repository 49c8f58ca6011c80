//! The body of a request on its way to an upstream.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// A body of which a part may have been looked at already.
///
/// Clones are the same body: where a connection cannot be made, nothing of it was taken, and a
/// clone goes to another upstream.
#[derive(Clone)]
pub(crate) struct Upload(Arc<Mutex<Parts>>);

/// A client does not send its body as it should.
#[derive(Debug)]
pub(crate) struct Unread(hyper::Error);

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of the request cannot be read")
    }
}

impl Error for Unread {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

struct Parts {
    seen: VecDeque<Frame<Bytes>>,
    rest: Incoming,
    /// Whether `rest` was read to its end.
    ended: bool,
}

impl Upload {
    pub(crate) fn new(body: Incoming) -> Self {
        Self(Arc::new(Mutex::new(Parts {
            seen: VecDeque::new(),
            rest: body,
            ended: false,
        })))
    }

    /// Reads `body` ahead, to its end unless that is further than `limit` bytes. Returns it, with
    /// its text if it is whole.
    ///
    /// # Errors
    ///
    /// The client failed to send it.
    pub(crate) async fn read_ahead(
        mut body: Incoming,
        limit: u64,
    ) -> Result<(Self, Option<Vec<u8>>), Unread> {
        let mut text = Vec::new();
        let mut seen = VecDeque::new();
        let mut whole = body.size_hint().lower() <= limit;
        while whole {
            let Some(frame) = body.frame().await.transpose().map_err(Unread)? else {
                break;
            };
            if let Some(data) = frame.data_ref() {
                text.extend_from_slice(data);
                whole = text.len() as u64 <= limit;
            }
            seen.push_back(frame);
        }
        let upload = Self(Arc::new(Mutex::new(Parts {
            seen,
            rest: body,
            ended: false,
        })));
        Ok((upload, whole.then_some(text)))
    }

    /// Whether all of it was taken.
    pub(crate) fn has_ended(&self) -> bool {
        self.parts().ended || self.is_end_stream()
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Unread;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Unread>>> {
        let mut parts = self.parts();
        if let Some(frame) = parts.seen.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        let polled = Pin::new(&mut parts.rest).poll_frame(cx);
        parts.ended |= matches!(polled, Poll::Ready(None));
        polled.map_err(Unread)
    }

    fn is_end_stream(&self) -> bool {
        let parts = self.parts();
        parts.seen.is_empty() && parts.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let parts = self.parts();
        let frames = parts.seen.iter().filter_map(Frame::data_ref);
        let seen: u64 = frames.map(|data| data.len() as u64).sum();
        let rest = parts.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(seen + rest.lower());
        if let Some(upper) = rest.upper() {
            hint.set_upper(seen.saturating_add(upper));
        }
        hint
    }
}
