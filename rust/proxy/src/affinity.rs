//! Which upstream made a response, so that it is asked of the one that has it.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use serde::Deserialize;

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

    fn learn(&self, id: &str, upstream: &Arc<Upstream>) {
        if id.len() <= MAX_ID_BYTES {
            let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            made.put(id.into(), Arc::clone(upstream));
        }
    }
}

/// Looks for the id in an answer while it passes.
pub(crate) struct Learner {
    affinity: Arc<Affinity>,
    upstream: Arc<Upstream>,
    /// The start of an answer that is no stream.
    start: Vec<u8>,
    events: usize,
    done: bool,
}

impl Learner {
    pub(crate) fn new(affinity: Arc<Affinity>, upstream: Arc<Upstream>) -> Self {
        Self {
            affinity,
            upstream,
            start: Vec::new(),
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
            if let Ok(event) = serde_json::from_slice::<Event>(data) {
                self.affinity.learn(&event.response.id, &self.upstream);
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
        let room = LOOKED_AT - self.start.len();
        self.start
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if let Some(id) = first_id(&self.start) {
            self.affinity.learn(&id, &self.upstream);
            self.done = true;
        }
        self.done |= self.start.len() >= LOOKED_AT;
        if self.done {
            self.start = Vec::new();
        }
    }
}

#[derive(Deserialize)]
struct Event {
    response: Named,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// The id of an object that begins with its id, as responses do.
fn first_id(object: &[u8]) -> Option<String> {
    let rest = object.trim_ascii_start().strip_prefix(b"{")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"id\"")?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    serde_json::Deserializer::from_slice(rest)
        .into_iter::<String>()
        .next()?
        .ok()
}

/// The response that the body of a request goes on from.
pub(crate) fn previous_response_id(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        previous_response_id: Option<String>,
    }
    serde_json::from_slice::<Body>(body)
        .ok()?
        .previous_response_id
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
        let body = br#" { "id" : "resp_1", "object": "response" }"#;
        for cut in 0..body.len() {
            let mut learner = learner();
            learner.object(&body[..cut]);
            learner.object(&body[cut..]);
            assert!(learner.affinity.find("resp_1").is_some(), "cut at {cut}");
        }
    }

    #[test]
    fn what_names_nothing_is_soon_given_up() {
        let mut learner = learner();
        for _ in 0..100 {
            learner.object(&[b'x'; 1000]);
        }
        assert!(learner.done && learner.start.is_empty());
    }

    #[test]
    fn a_stream_names_its_response_in_the_first_event_that_has_one() {
        let mut learner = learner();
        learner.frames(b": hello\n\n");
        learner.frames(b"event: response.created\r\ndata: {\"response\":{\"status\":\"queued\",\"id\":\"resp_2\"}}\r\n\r\n");
        assert!(learner.affinity.find("resp_2").is_some());
    }

    #[test]
    fn the_response_gone_on_from_is_read() {
        let id = previous_response_id(br#"{"input":[{"a":1}],"previous_response_id":"resp_3"}"#);
        assert_eq!(id.as_deref(), Some("resp_3"));
        assert_eq!(
            previous_response_id(br#"{"previous_response_id":null}"#),
            None
        );
        assert_eq!(previous_response_id(b"{"), None);
    }
}
