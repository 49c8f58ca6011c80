//! Which upstream made a response, so that it is asked of the one that has it.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use crate::json_scan::Scanner;
use crate::upstream::Upstream;

/// How many responses are remembered; the one not asked for the longest is forgotten first.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(65_536).unwrap();

/// Longer ids are not remembered.
const MAX_ID_BYTES: usize = 256;

/// How much of an answer is looked at for its id.
const LOOKED_AT: usize = 4 << 10;

/// How many events are looked at; the first one names the response.
const EVENTS_LOOKED_AT: usize = 4;

/// Response ids with the upstreams that made them.
pub(crate) struct Affinity(Mutex<LruCache<Box<str>, Arc<Upstream>>>);

impl Affinity {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(CAPACITY)))
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Upstream>> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.get(id).cloned()
    }

    /// Notes where a response was made. The first place stays: clients may choose ids, and one who
    /// chooses that of somebody else's response must not lead its owner away from it.
    fn learn(&self, id: &str, upstream: &Arc<Upstream>) {
        if id.len() <= MAX_ID_BYTES {
            let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if made.get(id).is_none() {
                made.put(id.into(), Arc::clone(upstream));
            }
        }
    }
}

/// Looks for the id in an answer while it passes.
pub(crate) struct Learner {
    affinity: Arc<Affinity>,
    upstream: Arc<Upstream>,
    /// Reads the start of an answer that is no stream.
    scanner: Scanner,
    read: usize,
    events: usize,
    done: bool,
}

impl Learner {
    pub(crate) fn new(affinity: Arc<Affinity>, upstream: Arc<Upstream>) -> Self {
        Self {
            affinity,
            upstream,
            scanner: Scanner::new(&["id"]),
            read: 0,
            events: 0,
            done: false,
        }
    }

    /// Looks at the next whole frames of an event stream.
    pub(crate) fn frames(&mut self, frames: &[u8]) {
        if self.done {
            return;
        }
        for line in frames.split(|byte| matches!(byte, b'\n' | b'\r')) {
            let Some(data) = line.strip_prefix(b"data:") else {
                continue;
            };
            self.events += 1;
            let mut scanner = Scanner::new(&["response", "id"]);
            scanner.feed(data);
            if let Some(id) = scanner.found() {
                self.affinity.learn(id, &self.upstream);
                self.done = true;
            }
            self.done |= self.events == EVENTS_LOOKED_AT;
            if self.done {
                return;
            }
        }
    }

    /// Looks at the next bytes of an answer in one JSON object.
    pub(crate) fn object(&mut self, bytes: &[u8]) {
        if self.done {
            return;
        }
        let bytes = bytes.get(..LOOKED_AT - self.read).unwrap_or(bytes);
        self.read += bytes.len();
        self.scanner.feed(bytes);
        if let Some(id) = self.scanner.found() {
            self.affinity.learn(id, &self.upstream);
            self.done = true;
        }
        self.done |= self.read == LOOKED_AT;
    }
}

/// How much of a request is scanned before others have a turn.
const SCANNED_AT_ONCE: usize = 256 << 10;

/// The response that a request with this body goes on from.
pub(crate) async fn previous_response_id(body: &[u8]) -> Option<String> {
    let mut scanner = Scanner::new(&["previous_response_id"]);
    let mut pieces = body.chunks(SCANNED_AT_ONCE);
    while let Some(piece) = pieces.next() {
        scanner.feed(piece);
        if pieces.len() > 0 {
            tokio::task::yield_now().await;
        }
    }
    scanner.found().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learner() -> Learner {
        let upstream = Upstream::new(0, "http://a".parse().expect("an address"));
        Learner::new(Arc::new(Affinity::new()), Arc::new(upstream))
    }

    #[test]
    fn an_object_names_itself_however_it_is_cut() {
        for body in [
            r#" { "id" : "resp_1", "object": "response" }"#,
            r#"{"top_p":NaN,"output":[{"id":"msg_1"}],"id":"resp_1"}"#,
        ] {
            for cut in 0..body.len() {
                let mut learner = learner();
                learner.object(&body.as_bytes()[..cut]);
                learner.object(&body.as_bytes()[cut..]);
                assert!(learner.affinity.find("resp_1").is_some(), "cut at {cut}");
                assert!(learner.affinity.find("msg_1").is_none(), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_names_nothing_is_soon_given_up() {
        let mut learner = learner();
        for _ in 0..100 {
            learner.object(&[b'x'; 1000]);
        }
        assert!(learner.done && learner.read == LOOKED_AT);
    }

    #[test]
    fn a_stream_names_its_response_in_the_first_event_that_has_one() {
        let mut learner = learner();
        learner.frames(b": hello\n\n");
        learner.frames(b"event: response.created\r\ndata: {\"response\":{\"top_p\":NaN,\"status\":\"queued\",\"id\":\"resp_2\"}}\r\n\r\n");
        assert!(learner.affinity.find("resp_2").is_some());
    }

    #[test]
    fn the_first_place_of_a_response_stays() {
        let mut learner = learner();
        learner.object(br#"{"id":"resp_1"}"#);
        let other = Upstream::new(1, "http://b".parse().expect("an address"));
        Learner::new(Arc::clone(&learner.affinity), Arc::new(other)).object(br#"{"id":"resp_1"}"#);
        let home = learner.affinity.find("resp_1").expect("a place");
        assert_eq!(home.index, 0);
    }
}
