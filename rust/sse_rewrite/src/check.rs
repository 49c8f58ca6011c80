//! Judges a stream by the decisions of the rewriter.
//!
//! There is one set of rules: the checker is a rewriter whose output nobody wants. Where the
//! engine decides that something must be replaced, inserted or dropped, it tells its
//! [`Observer`](crate::contract::observer::Observer). That of the checker is a recorder, which
//! puts a name to what was wrong. What a rewriter must leave (another `response.id`, a missing
//! end, frames that nobody can read) the recorder notices by itself.

pub mod breach;
mod findings;
pub mod items;
mod naming;
mod observe;
pub mod origin;
mod recorder;
mod table;
mod text;
pub mod verdict;

use crate::contract::policy::Policy;
use crate::wire::rewriter::SseRewriter;
use recorder::Recorder;
use verdict::Verdict;

/// How much room for the rewriter's output is kept between two pieces.
const KEPT_ROOM: usize = 1 << 20;

/// Judges the bytes of one event stream.
///
/// It does no I/O: give it the bytes as they are, cut anywhere. It holds what a rewriter holds
/// under the same [`Policy`], and as much again for its report.
///
/// ```
/// use sse_rewrite::{Checker, Outcome, Policy};
///
/// let mut checker = Checker::new(Policy::default());
/// checker.feed(b"data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n");
/// checker.feed(b"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\"}}\n\n");
/// assert_eq!(checker.finish().outcome, Outcome::Kept);
/// ```
#[derive(Debug)]
pub struct Checker {
    rewriter: SseRewriter<Recorder>,
    out: Vec<u8>,
}

impl Checker {
    /// A checker for one stream.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            rewriter: SseRewriter::observed(policy, Recorder::default()),
            out: Vec::new(),
        }
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.rewriter.feed_into(bytes, &mut self.out);
        self.out.clear();
        self.out.shrink_to(KEPT_ROOM);
    }

    /// The stream has ended: what was found in it.
    #[must_use]
    pub fn finish(mut self) -> Verdict {
        self.rewriter.observer().last_frame();
        self.rewriter.finish_into(&mut self.out);
        let limit = self.rewriter.gave_up();
        std::mem::take(self.rewriter.observer()).verdict(limit)
    }
}
