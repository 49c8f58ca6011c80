//! Every item type of `OpenAI`'s API with its events, as they are streamed without fault.
//!
//! Types and required fields are those of the public `OpenAPI` description, as the `openai`
//! package 3.57 has them.

use serde_json::{Value, json};

/// An item at its announcement, what is sent of it, and the item at its close.
pub(crate) struct Streamed {
    pub(crate) announced: Value,
    pub(crate) events: Vec<Value>,
    pub(crate) closed: Value,
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
pub(crate) fn event(kind: &str, more: &Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}")});
    event
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    event
}

fn statuses(kinds: &[&str]) -> Vec<Value> {
    kinds.iter().map(|kind| event(kind, &json!({}))).collect()
}

fn delta_and_done(kind: &str, key: &str, text: &str) -> Vec<Value> {
    vec![
        event(
            &format!("{kind}.delta"),
            &json!({"delta": text, "obfuscation": "qZ0x"}),
        ),
        event(&format!("{kind}.done"), &json!({key: text})),
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
            &json!({"content_index": 0, "part": empty}),
        ),
        event(
            "output_text.delta",
            &json!({"content_index": 0, "delta": "see ", "logprobs": []}),
        ),
        event(
            "output_text.delta",
            &json!({"content_index": 0, "delta": "[1]", "logprobs": [
            {"token": "[1]", "logprob": -0.5, "top_logprobs": []}]}),
        ),
        event(
            "output_text.annotation.added",
            &json!({"content_index": 0, "annotation_index": 0,
            "annotation": text["annotations"][0]}),
        ),
        event(
            "output_text.done",
            &json!({"content_index": 0, "text": "see [1]", "logprobs": []}),
        ),
        event(
            "content_part.done",
            &json!({"content_index": 0, "part": text}),
        ),
        event(
            "content_part.added",
            &json!({"content_index": 1,
            "part": {"type": "refusal", "refusal": ""}}),
        ),
        event("refusal.delta", &json!({"content_index": 1, "delta": "no"})),
        event(
            "refusal.done",
            &json!({"content_index": 1, "refusal": "no"}),
        ),
        event(
            "content_part.done",
            &json!({"content_index": 1, "part": refusal}),
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
            &json!({"summary_index": 0,
            "part": part("summary_text", "")}),
        ),
        event(
            "reasoning_summary_text.delta",
            &json!({"summary_index": 0, "delta": "why"}),
        ),
        event(
            "reasoning_summary_text.done",
            &json!({"summary_index": 0, "text": "why"}),
        ),
        event(
            "reasoning_summary_part.done",
            &json!({"summary_index": 0,
            "part": part("summary_text", "why")}),
        ),
        event(
            "content_part.added",
            &json!({"content_index": 0,
            "part": part("reasoning_text", "")}),
        ),
        event(
            "reasoning_text.delta",
            &json!({"content_index": 0, "delta": "because"}),
        ),
        event(
            "reasoning_text.done",
            &json!({"content_index": 0, "text": "because"}),
        ),
        event(
            "content_part.done",
            &json!({"content_index": 0,
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
pub(crate) fn items() -> Vec<Streamed> {
    let mut items = vec![message(), reasoning()];
    items.extend(calls());
    items.extend(server_tools());
    items.extend(shells_and_patches());
    items.extend(mcp());
    items.extend(others());
    items
}

const ARGUMENTS: &str = r#"{"a":1}"#;

/// Calls that a client answers, with their answers.
fn calls() -> Vec<Streamed> {
    vec![
        texted(
            json!({"type": "function_call", "call_id": "call_1", "name": "f"}),
            "arguments",
            ARGUMENTS,
            delta_and_done("function_call_arguments", "arguments", ARGUMENTS),
        ),
        plain(
            json!({"type": "function_call_output", "call_id": "call_1", "output": "4"}),
            vec![],
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
        plain(
            json!({"type": "computer_call", "call_id": "call_2", "pending_safety_checks": [],
                "action": {"type": "wait"}}),
            vec![],
        ),
        plain(
            json!({"type": "computer_call_output", "call_id": "call_2",
                "output": {"type": "computer_screenshot", "image_url": "data:"}}),
            vec![],
        ),
        whole(json!({"type": "program", "call_id": "call_3", "code": "f()", "fingerprint": "x"})),
        whole(
            json!({"type": "program_output", "call_id": "call_3", "result": "1",
            "status": "completed"}),
        ),
    ]
}

/// Tools that the server runs.
fn server_tools() -> Vec<Streamed> {
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
        &json!({"partial_image_index": 0, "partial_image_b64": "iVBORw0KGgo="}),
    ));
    image.extend(statuses(&["image_generation_call.completed"]));
    let search = |kind: &str| {
        let verbs = ["in_progress", "searching", "completed"];
        let kinds = verbs.map(|verb| format!("{kind}.{verb}"));
        statuses(&kinds.each_ref().map(String::as_str))
    };
    vec![
        plain(
            json!({"type": "file_search_call", "queries": ["q"], "results": null}),
            search("file_search_call"),
        ),
        plain(
            json!({"type": "web_search_call", "action": {"type": "search", "query": "q"}}),
            search("web_search_call"),
        ),
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
            json!({"type": "tool_search_call", "call_id": null, "arguments": {"q": 1},
                "execution": "server"}),
            vec![],
        ),
        plain(
            json!({"type": "tool_search_output", "call_id": null, "execution": "server",
                "tools": []}),
            vec![],
        ),
    ]
}

fn shells_and_patches() -> Vec<Streamed> {
    let command = |verb: &str, key: &str, text: &str| {
        event(
            &format!("shell_call_command.{verb}"),
            &json!({"command_index": 0, key: text}),
        )
    };
    let output = json!([{"outcome": {"type": "exit", "exit_code": 0}, "stdout": "a",
        "stderr": ""}]);
    let results = vec![
        event(
            "shell_call_output_content.delta",
            &json!({"command_index": 0, "delta": {"stdout": "a"}}),
        ),
        event(
            "shell_call_output_content.done",
            &json!({"command_index": 0, "output": output}),
        ),
    ];
    vec![
        plain(
            json!({"type": "local_shell_call", "call_id": "call_4",
                "action": {"type": "exec", "command": ["ls"], "env": {}}}),
            vec![],
        ),
        plain(
            json!({"type": "local_shell_call_output", "output": "a"}),
            vec![],
        ),
        plain(
            json!({"type": "shell_call", "call_id": "call_5", "action": {"commands": ["ls"]}}),
            vec![
                command("added", "command", ""),
                command("delta", "delta", "ls"),
                command("done", "command", "ls"),
            ],
        ),
        plain(
            json!({"type": "shell_call_output", "call_id": "call_5", "output": output}),
            results,
        ),
        plain(
            json!({"type": "apply_patch_call", "call_id": "call_6",
                "operation": {"type": "update_file", "path": "a", "diff": "@@"}}),
            delta_and_done("apply_patch_call_operation_diff", "diff", "@@"),
        ),
        plain(
            json!({"type": "apply_patch_call_output", "call_id": "call_6"}),
            vec![],
        ),
    ]
}

fn mcp() -> Vec<Streamed> {
    let mut items = Vec::new();
    for end in ["completed", "failed"] {
        items.push(Streamed {
            events: statuses(&[
                "mcp_list_tools.in_progress",
                &format!("mcp_list_tools.{end}"),
            ]),
            ..whole(json!({"type": "mcp_list_tools", "server_label": "wiki",
                "tools": [{"name": "ask", "input_schema": {}}]}))
        });
        let mut events = statuses(&["mcp_call.in_progress"]);
        events.extend(delta_and_done("mcp_call_arguments", "arguments", ARGUMENTS));
        events.extend(statuses(&[&format!("mcp_call.{end}")]));
        items.push(texted(
            json!({"type": "mcp_call", "name": "ask", "server_label": "wiki"}),
            "arguments",
            ARGUMENTS,
            events,
        ));
    }
    items.push(whole(
        json!({"type": "mcp_approval_request", "arguments": ARGUMENTS, "name": "ask",
            "server_label": "wiki"}),
    ));
    items.push(whole(
        json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1",
            "approve": true}),
    ));
    items
}

fn others() -> Vec<Streamed> {
    vec![
        whole(json!({"type": "additional_tools", "role": "developer", "tools": []})),
        Streamed {
            events: statuses(&["compaction.compacting"]),
            ..whole(json!({"type": "compaction", "encrypted_content": "gAAA"}))
        },
    ]
}
