//! The events of one item without fault: all the types that `items` leaves.

use serde_json::{Value, json};

use crate::items::{ItemSpec, Lifecycle, Making, own, streamed, with};

/// Events that say nothing but how far an item is.
fn statuses(kind: &str, verbs: &[&str]) -> Vec<Value> {
    let event = |verb: &&str| own(&format!("{kind}.{verb}"), json!({}));
    verbs.iter().map(event).collect()
}

/// An item that is announced as `added`, and closed with the members of `more`.
fn grows(added: Value, own: Vec<Value>, more: Value) -> Lifecycle {
    let closed = with(added.clone(), more);
    Lifecycle {
        added,
        own,
        rebuilt: closed.clone(),
        closed,
    }
}

/// An item that changes by its status only.
fn plain(item: Value, own: Vec<Value>) -> Lifecycle {
    let added = with(item, json!({"status": "in_progress"}));
    grows(added, own, json!({"status": "completed"}))
}

/// What is common to the items of all types.
struct Common {
    chunks: Vec<String>,
    text: String,
    /// The type and the id.
    item: Value,
    call_id: Value,
}

impl Common {
    fn new(spec: &ItemSpec, owner: usize, making: &Making) -> Self {
        let chunks = spec.chunks(owner, making);
        let id = format!("{}_{owner}", spec.kind.get(..4).unwrap_or(spec.kind));
        Self {
            text: chunks.concat(),
            chunks,
            item: json!({"type": spec.kind, "id": id}),
            call_id: json!({"call_id": format!("call_{owner}")}),
        }
    }

    fn item(&self, more: Value) -> Value {
        with(self.item.clone(), more)
    }

    /// An item that has a `call_id`.
    fn called(&self, more: Value) -> Value {
        with(self.item(self.call_id.clone()), more)
    }

    fn streamed(&self, kind: &str, key: &str, more: &Value) -> Vec<Value> {
        streamed(kind, key, &self.chunks, more)
    }
}

fn done(more: Value) -> Value {
    with(json!({"status": "completed"}), more)
}

pub(crate) fn lifecycle(spec: &ItemSpec, owner: usize, making: &mut Making) -> Lifecycle {
    let common = Common::new(spec, owner, making);
    match spec.kind {
        "compaction" => {
            let mut item = || common.item(json!({"encrypted_content": making.cipher()}));
            Lifecycle {
                added: item(),
                own: statuses("compaction", &["compacting"]),
                closed: item(),
                rebuilt: item(),
            }
        }
        "program" => {
            let code = &common.text;
            let mut item = || common.called(json!({"code": code, "fingerprint": making.cipher()}));
            Lifecycle {
                added: item(),
                own: Vec::new(),
                closed: item(),
                rebuilt: item(),
            }
        }
        "web_search_call"
        | "file_search_call"
        | "image_generation_call"
        | "code_interpreter_call" => hosted_tool(spec, &common),
        kind if kind.starts_with("mcp_") => mcp(spec, &common),
        _ => run_elsewhere(spec, &common),
    }
}

/// A tool that the server runs.
fn hosted_tool(spec: &ItemSpec, common: &Common) -> Lifecycle {
    let kind = spec.kind;
    let text = &common.text;
    let mut events = Vec::new();
    match kind {
        "code_interpreter_call" => {
            events.extend(statuses(kind, &["in_progress"]));
            events.extend(common.streamed("code_interpreter_call_code", "code", &json!({})));
            events.extend(statuses(kind, &["interpreting", "completed"]));
            let added = common.item(
                json!({"code": "", "container_id": "cntr_1", "outputs": null,
                "status": "in_progress"}),
            );
            let outputs = json!([{"type": "logs", "logs": "4"}]);
            let outputs = if spec.has(0) { outputs } else { json!([]) };
            grows(
                added,
                events,
                done(json!({"code": text, "outputs": outputs})),
            )
        }
        "image_generation_call" => {
            events.extend(statuses(kind, &["in_progress", "generating"]));
            events.push(own(
                "image_generation_call.partial_image",
                json!({"partial_image_index": 0, "partial_image_b64": "iVBORw0KGgo="}),
            ));
            events.extend(statuses(kind, &["completed"]));
            let added = common.item(json!({"status": "in_progress", "result": null}));
            grows(
                added,
                events,
                done(json!({"result": format!("iVBOR{text}")})),
            )
        }
        "web_search_call" => {
            let verbs = ["in_progress", "searching", "completed"];
            let added = common.item(json!({"status": "in_progress"}));
            let action = json!({"action": {"type": "search", "query": text}});
            grows(added, statuses(kind, &verbs), done(action))
        }
        _ => {
            let verbs = ["in_progress", "searching", "completed"];
            let added = json!({"status": "in_progress", "queries": [], "results": null});
            let more = done(json!({"queries": [text]}));
            grows(common.item(added), statuses(kind, &verbs), more)
        }
    }
}

/// What is of a server of tools.
fn mcp(spec: &ItemSpec, common: &Common) -> Lifecycle {
    let kind = spec.kind;
    let text = &common.text;
    let of_server = |more: Value| common.item(with(json!({"server_label": "wiki"}), more));
    match kind {
        "mcp_call" => {
            let failed = spec.has(0);
            let mut events = statuses(kind, &["in_progress"]);
            events.extend(common.streamed("mcp_call_arguments", "arguments", &json!({})));
            events.extend(statuses(
                kind,
                &[if failed { "failed" } else { "completed" }],
            ));
            let added = of_server(json!({"name": "ask", "arguments": "", "output": null,
                "error": null, "status": "in_progress"}));
            let (output, error) = if failed {
                (json!(null), json!("down"))
            } else {
                (json!("pong"), json!(null))
            };
            let more = json!({"arguments": text, "output": output, "error": error});
            grows(added, events, done(more))
        }
        "mcp_list_tools" => {
            let tools = json!({"tools": [{"name": text, "input_schema": {}}]});
            let events = statuses(kind, &["in_progress", "completed"]);
            grows(of_server(json!({"tools": []})), events, tools)
        }
        _ => {
            let request = of_server(json!({"arguments": text, "name": "ask"}));
            grows(request, Vec::new(), json!({}))
        }
    }
}

/// What is run elsewhere, and the results of it.
fn run_elsewhere(spec: &ItemSpec, common: &Common) -> Lifecycle {
    let text = &common.text;
    match spec.kind {
        "local_shell_call" => {
            let action = json!({"type": "exec", "command": ["echo", text], "env": {}});
            plain(common.called(json!({"action": action})), Vec::new())
        }
        "shell_call" => {
            let at = json!({"command_index": 0});
            let start = with(at.clone(), json!({"command": ""}));
            let mut events = vec![own("shell_call_command.added", start)];
            events.extend(common.streamed("shell_call_command", "command", &at));
            let added = json!({"action": {"commands": []}, "status": "in_progress"});
            let more = done(json!({"action": {"commands": [text]}}));
            grows(common.called(added), events, more)
        }
        "shell_call_output" => {
            let output = json!([{"outcome": {"type": "exit", "exit_code": 0}, "stdout": text}]);
            let at = |more| with(json!({"command_index": 0}), more);
            let delta = at(json!({"delta": {"stdout": text}}));
            let whole = at(json!({"output": output}));
            let events = vec![
                own("shell_call_output_content.delta", delta),
                own("shell_call_output_content.done", whole),
            ];
            let added = common.called(json!({"output": [], "status": "in_progress"}));
            grows(added, events, done(json!({"output": output})))
        }
        "apply_patch_call" => {
            let kind = "apply_patch_call_operation_diff";
            let operation = |diff: &str| json!({"type": "update_file", "path": "a", "diff": diff});
            let added = json!({"operation": operation(""), "status": "in_progress"});
            let more = done(json!({"operation": operation(text)}));
            let events = common.streamed(kind, "diff", &json!({}));
            grows(common.called(added), events, more)
        }
        "computer_call" => {
            let action = json!({"type": "type", "text": text});
            let more = json!({"action": action, "pending_safety_checks": []});
            plain(common.called(more), Vec::new())
        }
        "tool_search_call" => {
            // One that the server runs has no `call_id`.
            let execution = if spec.has(0) { "server" } else { "client" };
            let more = json!({"arguments": {"q": text}, "execution": execution});
            let item = if spec.has(0) {
                common.item(more)
            } else {
                common.called(more)
            };
            plain(item, Vec::new())
        }
        _ => plain(
            common.item(json!({"beams": {"text": text, "count": 3}})),
            Vec::new(),
        ),
    }
}
