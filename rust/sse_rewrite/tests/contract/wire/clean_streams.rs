//! Streams as `OpenAI` sends them: every event type and item type of its API, without a fault.
//!
//! Types and required fields are those of the public `OpenAPI` description, as the `openai`
//! package 3.57 has them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::field;
use crate::wire::{LAYOUTS, rewritten_in};

/// An item at its announcement, what is sent of it, and the item at its close.
struct Streamed {
    announced: Value,
    events: Vec<Value>,
    closed: Value,
}

/// An item that changes by its status only.
fn plain(mut item: Value, events: Vec<Value>) -> Streamed {
    let mut announced = item.clone();
    announced["status"] = json!("in_progress");
    item["status"] = json!("completed");
    Streamed {
        announced,
        events,
        closed: item,
    }
}

/// An item without a status, announced in full.
fn whole(item: Value) -> Streamed {
    Streamed {
        announced: item.clone(),
        events: Vec::new(),
        closed: item,
    }
}

/// An event of an item, which gets its place later; `kind` comes without `response.`.
fn event(kind: &str, more: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}")});
    event
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    event
}

fn statuses(kinds: &[&str]) -> Vec<Value> {
    kinds.iter().map(|kind| event(kind, json!({}))).collect()
}

fn delta_and_done(kind: &str, key: &str, text: &str) -> Vec<Value> {
    vec![
        event(
            &format!("{kind}.delta"),
            json!({"delta": text, "obfuscation": "qZ0x"}),
        ),
        event(&format!("{kind}.done"), json!({key: text})),
    ]
}

fn message() -> Streamed {
    let text = json!({"type": "output_text", "text": "see [1]", "annotations": [{
        "type": "url_citation", "url": "https://example.org", "title": "t", "start_index": 4,
        "end_index": 7}], "logprobs": []});
    let refusal = json!({"type": "refusal", "refusal": "no"});
    let empty = json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
    let events = vec![
        event(
            "content_part.added",
            json!({"content_index": 0, "part": empty}),
        ),
        event(
            "output_text.delta",
            json!({"content_index": 0, "delta": "see ", "logprobs": []}),
        ),
        event(
            "output_text.delta",
            json!({"content_index": 0, "delta": "[1]", "logprobs": [
            {"token": "[1]", "logprob": -0.5, "top_logprobs": []}]}),
        ),
        event(
            "output_text.annotation.added",
            json!({"content_index": 0, "annotation_index": 0,
            "annotation": text["annotations"][0]}),
        ),
        event(
            "output_text.done",
            json!({"content_index": 0, "text": "see [1]", "logprobs": []}),
        ),
        event(
            "content_part.done",
            json!({"content_index": 0, "part": text}),
        ),
        event(
            "content_part.added",
            json!({"content_index": 1,
            "part": {"type": "refusal", "refusal": ""}}),
        ),
        event("refusal.delta", json!({"content_index": 1, "delta": "no"})),
        event("refusal.done", json!({"content_index": 1, "refusal": "no"})),
        event(
            "content_part.done",
            json!({"content_index": 1, "part": refusal}),
        ),
    ];
    let item = |content: Value| {
        json!({"type": "message", "role": "assistant", "content": content,
            "phase": "final_answer"})
    };
    Streamed {
        announced: plain(item(json!([])), Vec::new()).announced,
        ..plain(item(json!([text, refusal])), events)
    }
}

fn reasoning() -> Streamed {
    let part = |kind: &str, text: &str| json!({"type": kind, "text": text});
    let events = vec![
        event(
            "reasoning_summary_part.added",
            json!({"summary_index": 0,
            "part": part("summary_text", "")}),
        ),
        event(
            "reasoning_summary_text.delta",
            json!({"summary_index": 0, "delta": "why"}),
        ),
        event(
            "reasoning_summary_text.done",
            json!({"summary_index": 0, "text": "why"}),
        ),
        event(
            "reasoning_summary_part.done",
            json!({"summary_index": 0,
            "part": part("summary_text", "why")}),
        ),
        event(
            "content_part.added",
            json!({"content_index": 0,
            "part": part("reasoning_text", "")}),
        ),
        event(
            "reasoning_text.delta",
            json!({"content_index": 0, "delta": "because"}),
        ),
        event(
            "reasoning_text.done",
            json!({"content_index": 0, "text": "because"}),
        ),
        event(
            "content_part.done",
            json!({"content_index": 0,
            "part": part("reasoning_text", "because")}),
        ),
    ];
    Streamed {
        announced: json!({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
        events,
        closed: json!({"type": "reasoning", "summary": [part("summary_text", "why")],
            "content": [part("reasoning_text", "because")], "encrypted_content": "gAAAAAB+/=="}),
    }
}

/// A call whose text is under `key`, empty at the announcement.
fn texted(mut item: Value, key: &str, text: &str, events: Vec<Value>) -> Streamed {
    item[key] = json!("");
    let announced = plain(item.clone(), Vec::new()).announced;
    item[key] = json!(text);
    Streamed {
        announced,
        ..plain(item, events)
    }
}

/// Every item type, with all events it can have.
fn items() -> Vec<Streamed> {
    let arguments = r#"{"a":1}"#;
    let mcp = |failed: bool| {
        let mut events = statuses(&["mcp_call.in_progress"]);
        events.extend(delta_and_done("mcp_call_arguments", "arguments", arguments));
        events.extend(statuses(&[if failed {
            "mcp_call.failed"
        } else {
            "mcp_call.completed"
        }]));
        texted(
            json!({"type": "mcp_call", "name": "ask", "server_label": "wiki"}),
            "arguments",
            arguments,
            events,
        )
    };
    let mcp_tools = |end: &str| Streamed {
        events: statuses(&["mcp_list_tools.in_progress", end]),
        ..whole(
            json!({"type": "mcp_list_tools", "server_label": "wiki", "tools": [
                {"name": "ask", "input_schema": {}}]}),
        )
    };
    let shell = vec![
        event(
            "shell_call_command.added",
            json!({"command_index": 0, "command": ""}),
        ),
        event(
            "shell_call_command.delta",
            json!({"command_index": 0, "delta": "ls",
            "obfuscation": "x"}),
        ),
        event(
            "shell_call_command.done",
            json!({"command_index": 0, "command": "ls"}),
        ),
    ];
    let shell_output = json!([{"outcome": {"type": "exit", "exit_code": 0}, "stdout": "a",
        "stderr": ""}]);
    let shell_results = vec![
        event(
            "shell_call_output_content.delta",
            json!({"command_index": 0,
            "delta": {"stdout": "a"}}),
        ),
        event(
            "shell_call_output_content.done",
            json!({"command_index": 0,
            "output": shell_output}),
        ),
    ];
    let mut code = statuses(&["code_interpreter_call.in_progress"]);
    code.extend(delta_and_done("code_interpreter_call_code", "code", "1+1"));
    code.extend(statuses(&[
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
    ]));
    let mut image = statuses(&[
        "image_generation_call.in_progress",
        "image_generation_call.generating",
    ]);
    image.push(event(
        "image_generation_call.partial_image",
        json!({"partial_image_index": 0,
        "partial_image_b64": "iVBORw0KGgo="}),
    ));
    image.extend(statuses(&["image_generation_call.completed"]));
    let patch = json!({"type": "update_file", "path": "a", "diff": "@@"});
    vec![
        message(),
        plain(
            json!({"type": "file_search_call", "queries": ["q"], "results": null}),
            statuses(&[
                "file_search_call.in_progress",
                "file_search_call.searching",
                "file_search_call.completed",
            ]),
        ),
        texted(
            json!({"type": "function_call", "call_id": "call_1", "name": "f"}),
            "arguments",
            arguments,
            delta_and_done("function_call_arguments", "arguments", arguments),
        ),
        plain(
            json!({"type": "function_call_output", "call_id": "call_1", "output": "4"}),
            vec![],
        ),
        plain(
            json!({"type": "web_search_call", "action": {"type": "search", "query": "q"}}),
            statuses(&[
                "web_search_call.in_progress",
                "web_search_call.searching",
                "web_search_call.completed",
            ]),
        ),
        plain(
            json!({"type": "computer_call", "call_id": "call_2", "pending_safety_checks": [],
            "action": {"type": "wait"}}),
            vec![],
        ),
        plain(
            json!({"type": "computer_call_output", "call_id": "call_2", "output": {
            "type": "computer_screenshot", "image_url": "data:"}}),
            vec![],
        ),
        reasoning(),
        whole(json!({"type": "program", "call_id": "call_3", "code": "f()", "fingerprint": "x"})),
        whole(
            json!({"type": "program_output", "call_id": "call_3", "result": "1",
            "status": "completed"}),
        ),
        plain(
            json!({"type": "tool_search_call", "call_id": null, "arguments": {"q": 1},
            "execution": "server"}),
            vec![],
        ),
        plain(
            json!({"type": "tool_search_output", "call_id": null, "execution": "server",
            "tools": []}),
            vec![],
        ),
        whole(json!({"type": "additional_tools", "role": "developer", "tools": []})),
        Streamed {
            events: statuses(&["compaction.compacting"]),
            ..whole(json!({"type": "compaction", "encrypted_content": "gAAA"}))
        },
        plain(
            json!({"type": "image_generation_call", "result": "iVBORw0KGgo="}),
            image,
        ),
        texted(
            json!({"type": "code_interpreter_call", "container_id": "cntr_1", "outputs": null}),
            "code",
            "1+1",
            code,
        ),
        plain(
            json!({"type": "local_shell_call", "call_id": "call_4", "action": {"type": "exec",
            "command": ["ls"], "env": {}}}),
            vec![],
        ),
        plain(
            json!({"type": "local_shell_call_output", "output": "a"}),
            vec![],
        ),
        plain(
            json!({"type": "shell_call", "call_id": "call_5", "action": {"commands": ["ls"]}}),
            shell,
        ),
        plain(
            json!({"type": "shell_call_output", "call_id": "call_5", "output": shell_output}),
            shell_results,
        ),
        plain(
            json!({"type": "apply_patch_call", "call_id": "call_6", "operation": patch}),
            delta_and_done("apply_patch_call_operation_diff", "diff", "@@"),
        ),
        plain(
            json!({"type": "apply_patch_call_output", "call_id": "call_6"}),
            vec![],
        ),
        mcp(false),
        mcp(true),
        mcp_tools("mcp_list_tools.completed"),
        mcp_tools("mcp_list_tools.failed"),
        whole(
            json!({"type": "mcp_approval_request", "arguments": arguments, "name": "ask",
            "server_label": "wiki"}),
        ),
        whole(
            json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1",
            "approve": true}),
        ),
        texted(
            json!({"type": "custom_tool_call", "call_id": "call_7", "name": "sh"}),
            "input",
            "ls\n",
            delta_and_done("custom_tool_call_input", "input", "ls\n"),
        ),
        plain(
            json!({"type": "custom_tool_call_output", "call_id": "call_7", "output": "a"}),
            vec![],
        ),
    ]
}

/// The stream of a response that has `items` and ends with the event `end`.
fn stream(items: Vec<Streamed>, end: &str) -> Vec<Value> {
    let response = |status: &str, output: &[Value]| {
        json!({"id": "resp_1", "object": "response", "created_at": 1_768_000_000.0,
            "status": status, "output": output, "temperature": 1.0})
    };
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        json!({"type": "response.queued", "response": response("queued", &[])}),
        json!({"type": "response.in_progress", "response": response("in_progress", &[])}),
    ];
    let mut output = Vec::new();
    for (index, streamed) in items.into_iter().enumerate() {
        let Streamed {
            mut announced,
            events: own,
            mut closed,
        } = streamed;
        let id = format!("item_{index}");
        announced["id"] = json!(id);
        closed["id"] = json!(id);
        events.push(
            json!({"type": "response.output_item.added", "item": announced,
            "output_index": index}),
        );
        for mut event in own {
            event["output_index"] = json!(index);
            if !field(&event, "type")
                .unwrap()
                .contains("shell_call_command")
            {
                event["item_id"] = json!(id);
            }
            events.push(event);
        }
        events.push(json!({"type": "response.output_item.done", "item": closed,
            "output_index": index}));
        output.push(closed);
    }
    for kind in [
        "audio.delta",
        "audio.done",
        "audio.transcript.delta",
        "audio.transcript.done",
    ] {
        events.push(event(kind, json!({"delta": "UklGRg=="})));
    }
    events.push(json!({"type": "error", "code": null, "message": "m", "param": null}));
    events.push(json!({"type": format!("response.{end}"), "response": response(end, &output)}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn passes(events: &[Value], what: &str) {
    for layout in LAYOUTS {
        let bytes = layout.stream(events);
        for chunk in [usize::MAX, 1400, 3] {
            let (sent, rewriter) = rewritten_in(chunk, &bytes);
            assert_eq!(
                String::from_utf8_lossy(&sent),
                String::from_utf8_lossy(&bytes),
                "{what}"
            );
            assert!(rewriter.report().is_untouched(), "{what}");
        }
    }
}

#[test]
fn a_response_of_any_one_item_passes() {
    for (index, item) in items().into_iter().enumerate() {
        let kind = field(&item.closed, "type").unwrap().to_owned();
        let end = ["completed", "incomplete", "failed"][index % 3];
        passes(&stream(vec![item], end), &kind);
    }
}

#[test]
fn a_response_of_all_items_passes() {
    for end in ["completed", "incomplete", "failed"] {
        passes(&stream(items(), end), end);
    }
}

#[test]
fn all_types_of_the_api_are_among_them() {
    let events: Vec<Value> = ["completed", "incomplete", "failed"]
        .iter()
        .flat_map(|end| stream(items(), end))
        .collect();
    let types = |events: &mut dyn Iterator<Item = &Value>| -> BTreeSet<String> {
        events
            .map(|event| field(event, "type").unwrap().to_owned())
            .collect()
    };
    // The package lists 59 and lacks the two of `apply_patch_call_operation_diff`.
    assert_eq!(types(&mut events.iter()).len(), 59 + 2);
    assert_eq!(
        types(&mut items().iter().map(|item| &item.closed)).len(),
        28
    );
}
