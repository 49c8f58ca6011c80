//! Events that the API has under another name than vLLM before 0.32 (contract, event vocabulary).

use sse_rewrite::{Policy, SseRewriter};

/// What becomes of a stream; with `OpenAI`'s names if they are asked for.
fn sent(stream: &str, openai_vocabulary: bool) -> String {
    let mut rewriter = SseRewriter::new(Policy {
        openai_vocabulary,
        ..Policy::default()
    });
    let mut out = rewriter.feed(stream.as_bytes());
    out.extend(rewriter.finish());
    String::from_utf8(out).expect("text stays text")
}

const ADDED: &str = "event: response.output_item.added\ndata: {\"item\":{\"id\":\"rs_1\",\"type\":\"reasoning\"},\"output_index\":0,\"type\":\"response.output_item.added\"}\n\n";

/// A part of reasoning that opens and closes, as `family` names it.
fn part(family: &str) -> String {
    let event = |verb: &str, text: &str| {
        format!(
            "event: response.{family}.{verb}\ndata: {{\"content_index\":0,\"item_id\":\"rs_1\",\"output_index\":0,\"part\":{{\"text\":\"{text}\",\"type\":\"reasoning_text\"}},\"type\":\"response.{family}.{verb}\"}}\n\n"
        )
    };
    format!("{ADDED}{}{}", event("added", ""), event("done", "Hm."))
}

#[test]
fn a_part_of_reasoning_gets_the_names_of_the_api_and_nothing_else_changes() {
    let (own, openais) = (part("reasoning_part"), part("content_part"));
    assert_eq!(sent(&own, true), openais);
    assert_eq!(sent(&own, false), own);
    assert_eq!(sent(&openais, true), openais);
}

#[test]
fn a_renamed_event_is_counted() {
    let mut rewriter = SseRewriter::new(Policy {
        openai_vocabulary: true,
        ..Policy::default()
    });
    let _ = rewriter.feed(part("reasoning_part").as_bytes());
    let counts = rewriter.report().counts();
    let changed: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    assert_eq!(changed, [("event_renamed", 2)]);
    assert_eq!(rewriter.frames().rewritten, 2);
}

#[test]
fn however_the_frame_is_written_only_the_name_changes() {
    let part = |name: &str, event: &str| {
        format!(
            "{ADDED}: first\r\ndata: {{\"type\":\"{name}\", \"item_id\":\"rs_1\",\r\n{event}id: 7\r\ndata:\"output_index\":0}}\r\n\r\n"
        )
    };
    let (own, openais) = (
        "response.reasoning_part.added",
        "response.content_part.added",
    );
    for line in [
        "event: NAME\r\n",
        "event:NAME\r\n",
        "event: other\r\nevent: NAME\r\n",
        "",
    ] {
        let stream = part(own, &line.replace("NAME", own));
        let wanted = part(openais, &line.replace("NAME", openais));
        assert_eq!(sent(&stream, true), wanted);
    }
    // Only the line names it: no member is added.
    let bare = |name: &str| {
        format!("{ADDED}event: {name}\ndata: {{\"item_id\":\"rs_1\",\"output_index\":0}}\n\n")
    };
    assert_eq!(sent(&bare(own), true), bare(openais));
}

#[test]
fn a_part_that_is_also_put_right_is_renamed_once() {
    let own = part("reasoning_part").replace("\"item_id\":\"rs_1\"", "\"item_id\":\"msg_9\"");
    assert_eq!(sent(&own, true), part("content_part"));
}
