//! Beyond a limit the stream passes unchanged, and says why once.

use sse_rewrite::{GaveUp, Policy, SseRewriter};

use crate::model::{
    Event, added, blank, call, done, lifecycle, message, numbered, scoped, terminal, unnumbered,
    with, without,
};
use crate::wire::encoding::{PLAIN, as_json, events, rewritten};

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
    let item = call("fc", "call", "f", "{}");
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

fn bytes(events: Vec<Event>) -> Vec<u8> {
    let json: Vec<_> = unnumbered(events).iter().map(as_json).collect();
    PLAIN.stream(&json)
}

fn count(rewriter: &SseRewriter, change: &str) -> u64 {
    let mut counts = rewriter.report().counts();
    counts.find(|(name, _)| *name == change).unwrap().1
}

#[test]
fn an_item_that_says_more_than_may_be_held_stays_open_and_the_stream_goes_on() {
    let long = [message("long", "x"), call("long", "call_1", "f", "x")];
    let later = message("later", "so");
    for item in long {
        let policy = Policy {
            max_held_bytes: 2000,
            ..Policy::default()
        };
        let mut said = lifecycle(0, &item);
        said.pop();
        let delta = said.pop().unwrap();
        // Some are like the last one, which need no reading, and some are not.
        for _ in 0..300 {
            said.extend(vec![delta.clone(); 9]);
            said.push(with_id(delta.clone(), "other"));
        }
        let events_in = [vec![Event::Created], said, lifecycle(1, &later)].concat();
        let end = terminal([later.clone()]);
        let stream = bytes([events_in, vec![end]].concat());
        let mut rewriter = SseRewriter::new(policy);
        let sent = rewriter.feed(&stream);
        assert_eq!(rewriter.gave_up(), None);
        assert_eq!(count(&rewriter, "left_open"), 1);
        let sent = events(&sent);
        let closes: Vec<_> = sent
            .iter()
            .filter(|event| event["type"] == "response.output_item.done")
            .map(|event| &event["output_index"])
            .collect();
        assert_eq!(closes, [1]);
        let output = &sent.last().unwrap()["response"]["output"];
        // What it was announced as is all that is known of it.
        assert_eq!(output[0], blank(&item));
        assert_eq!(output[1], later);
    }
}

fn with_id(event: Event, id: &str) -> Event {
    let Event::Scoped {
        event_type,
        index,
        part,
        part_type,
        text,
        ..
    } = event
    else {
        panic!("an event of an item");
    };
    Event::Scoped {
        event_type,
        index,
        item_id: Some(id.to_owned()),
        part,
        part_type,
        text,
    }
}

#[test]
fn what_an_item_has_said_is_not_held_once_it_is_closed() {
    let policy = Policy {
        max_held_bytes: 3000,
        ..Policy::default()
    };
    let text = "x".repeat(1000);
    let mut rewriter = SseRewriter::new(policy);
    let mut stream = vec![Event::Created];
    // Each is closed with little, so that what it said counts only while it is open.
    for index in 0..8 {
        let mut events = lifecycle(index, &message(&format!("m{index}"), &text));
        events.pop();
        events.push(done(index, message(&format!("m{index}"), "")));
        stream.extend(events);
    }
    stream.push(terminal([]));
    let _ = rewriter.feed(&bytes(stream));
    assert_eq!(rewriter.gave_up(), None);
    assert_eq!(count(&rewriter, "left_open"), 0);
}

#[test]
fn frames_that_wait_are_sent_as_they_came_once_there_are_too_many() {
    let bare = without(call("fc_1", "call_1", "f", ""), "name");
    let delta = scoped("function_call_arguments.delta", 0, "fc_1", "x");
    let mut stream = vec![Event::Created, added(0, bare.clone())];
    stream.extend(vec![delta.clone(); 4095]);
    let mut rewriter = SseRewriter::new(Policy::default());
    let created = bytes(vec![Event::Created]);
    let waits = bytes(stream.clone());
    assert_eq!(rewriter.feed(&waits), created);
    // The last one that is too many is sent with them.
    let one_more = bytes(vec![delta]);
    let sent = rewriter.feed(&one_more);
    assert!(sent == [&waits[created.len()..], &one_more].concat());
    // From here on the call is open, as far as it is known.
    let next = bytes(vec![
        scoped("function_call_arguments.delta", 0, "fc_1", "y"),
        done(0, with(bare, "arguments", "x")),
    ]);
    assert!(rewriter.feed(&next) == next);
    assert_eq!(rewriter.gave_up(), None);
}

#[test]
fn so_are_frames_that_are_together_too_long() {
    let policy = Policy {
        max_held_bytes: 10_000,
        ..Policy::default()
    };
    let text = "x".repeat(3000);
    let delta = scoped("function_call_arguments.delta", 0, "fc_1", &text);
    let mut rewriter = SseRewriter::new(policy);
    let _ = rewriter.feed(&bytes(vec![Event::Created]));
    let frame = bytes(vec![delta]);
    for _ in 0..3 {
        assert!(rewriter.feed(&frame).is_empty());
    }
    let sent = events(&rewriter.feed(&frame));
    assert_eq!(sent.len(), 5);
    assert_eq!(sent[0]["type"], "response.output_item.added");
    assert_eq!(rewriter.gave_up(), None);
}

#[test]
fn the_greatest_number_is_a_number_like_others() {
    let events = [Event::Created]
        .into_iter()
        .chain(lifecycle(0, &message("m", "x")))
        .chain([scoped("output_text.delta", 0, "m", "more"), terminal([])]);
    let numbers = [0, 1, u64::MAX - 1, u64::MAX, u64::MAX, 5, u64::MAX];
    let json: Vec<_> = numbers
        .into_iter()
        .zip(events)
        .map(|(number, event)| as_json(&(Some(number), event)))
        .collect();
    let sent = rewritten(&PLAIN.stream(&json));
    let numbers: Vec<u64> = crate::wire::encoding::events(&sent)
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap())
        .collect();
    // There is none above it: what follows has it, too.
    assert_eq!(numbers[..4], [0, 1, u64::MAX - 1, u64::MAX]);
    assert!(numbers[4..].iter().all(|number| *number == u64::MAX));
    assert!(rewritten(&sent) == sent);
}
