//! Beyond a limit the stream passes unchanged, and says why once.

use sse_rewrite::{GaveUp, Policy, SseRewriter};

use crate::model::{Event, added, lifecycle, message, numbered, terminal};
use crate::wire::encoding::{PLAIN, as_json};

/// A response whose items all lie one index too high, so that a change shows on each.
fn stream(items: u64) -> Vec<u8> {
    let mut events = vec![Event::Created];
    for slot in 0..items {
        events.extend(lifecycle(slot + 1, &message(&format!("m{slot}"), "text")));
    }
    events.push(terminal([]));
    let json: Vec<_> = numbered(events).iter().map(as_json).collect();
    PLAIN.stream(&json)
}

/// Rewrites under `policy`; wants what was not rewritten to be the same bytes.
fn gives_up(policy: Policy, stream: &[u8]) -> GaveUp {
    let mut all = Vec::new();
    for chunk in [1, 100, usize::MAX] {
        let mut rewriter = SseRewriter::new(policy);
        let mut sent = Vec::new();
        for piece in stream.chunks(chunk) {
            sent.extend(rewriter.feed(piece));
        }
        sent.extend(rewriter.finish());
        let kept = sent.iter().rev().zip(stream.iter().rev());
        assert!(kept.take_while(|(left, right)| left == right).count() > 100);
        all.push((sent, rewriter.gave_up()));
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    all[0].1.expect("a reason")
}

#[test]
fn each_limit_has_its_reason() {
    let policy = Policy::default();
    let cases = [
        (
            Policy {
                max_items: 2,
                ..policy
            },
            GaveUp::TooManyItems,
        ),
        (
            Policy {
                max_identity_bytes: 6,
                ..policy
            },
            GaveUp::IdentityTooLong,
        ),
        (
            Policy {
                max_frame_bytes: 150,
                ..policy
            },
            GaveUp::FrameTooLong,
        ),
        (
            Policy {
                max_held_bytes: 300,
                ..policy
            },
            GaveUp::TooMuchHeld,
        ),
    ];
    for (policy, reason) in cases {
        assert_eq!(gives_up(policy, &stream(5)), reason);
    }
    let mut rewriter = SseRewriter::new(policy);
    let sent = rewriter.feed(&stream(5));
    assert_ne!(sent, stream(5));
    assert_eq!(rewriter.gave_up(), None);
}

#[test]
fn repeated_announcements_are_not_kept_without_end() {
    let item = crate::model::call("fc", "call", "f", "{}");
    let events: Vec<Event> = (0..100).map(|index| added(index, item.clone())).collect();
    let json: Vec<_> = numbered(events).iter().map(as_json).collect();
    let policy = Policy {
        max_items: 10,
        ..Policy::default()
    };
    assert_eq!(gives_up(policy, &PLAIN.stream(&json)), GaveUp::TooManyItems);
}

#[test]
fn an_index_far_out_in_a_joined_stream_makes_no_room() {
    let far = u64::MAX;
    let frame = format!(
        "data: {{\"type\":\"response.output_text.delta\",\"sequence_number\":3,\"output_index\":{far},\"delta\":\"a text that is long enough to be compared with what came in, byte for byte\"}}\n\n"
    );
    assert_eq!(
        gives_up(Policy::default(), frame.as_bytes()),
        GaveUp::TooManyItems
    );
}
