//! Plays a stream of the model through the rewriter, and keeps what comes out.

use serde_json::{Value, json};
use sse_rewrite::{Policy, Report, SseRewriter};

use crate::encoding::{PLAIN, as_json, modelled_stream};
use crate::model::{Event, Numbered, show};

/// What became of a stream.
pub(crate) struct Played {
    pub(crate) sent: Vec<Numbered>,
    pub(crate) report: Report,
}

impl Played {
    /// The outgoing events, one line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.sent.iter().map(|(_, event)| show(event)).collect()
    }

    /// The outgoing terminal output.
    pub(crate) fn output(&self) -> &[Value] {
        match self.sent.last() {
            Some((_, Event::Terminal { output, .. })) => output,
            other => panic!("the stream ends with {other:?}"),
        }
    }
}

/// Plays `stream` under the default policy.
pub(crate) fn play(stream: &[Numbered]) -> Played {
    play_under(Policy::default(), stream)
}

pub(crate) fn play_under(policy: Policy, stream: &[Numbered]) -> Played {
    let mut json: Vec<Value> = stream.iter().map(as_json).collect();
    // A stream that does not begin with it is one that was joined later.
    json.insert(0, json!({"type": "response.created", "response": {}}));
    let mut rewriter = SseRewriter::new(policy);
    let mut sent = rewriter.feed(&PLAIN.stream(&json));
    sent.extend(rewriter.finish());
    assert_eq!(rewriter.gave_up(), None);
    Played {
        sent: modelled_stream(&sent).split_off(1),
        report: *rewriter.report(),
    }
}
