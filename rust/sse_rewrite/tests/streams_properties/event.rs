//! An event of a stream, and what can be read from its JSON alone.

use serde_json::{Value, json};

/// The types of calls that a client answers, and so must know by `call_id` and `name` (C12).
pub(crate) const CLIENT_CALLS: [&str; 2] = ["function_call", "custom_tool_call"];

/// One frame of a stream: an event, or something else that passes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// The event, or the frame's text as a string where it is none.
    pub(crate) body: Value,
    /// Which item the event is of, in truth: only the generator knows.
    pub(crate) owner: Option<usize>,
    /// Which item each entry of a terminal event's output is, in truth.
    pub(crate) listed: Vec<usize>,
}

/// The frames of a stream.
pub(crate) type Stream = Vec<Event>;

/// Which text of an item an event adds to or sums up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Lane {
    /// The parts of `content`.
    Content,
    /// The parts of `summary`.
    Summary,
    /// `arguments`, `input` or `code`.
    Main,
    /// The commands of a shell call.
    Command,
    /// The diff of a patch.
    Diff,
}

impl Event {
    pub(crate) fn new(body: Value) -> Self {
        Self {
            body,
            owner: None,
            listed: Vec::new(),
        }
    }

    /// A frame that is no event.
    pub(crate) fn raw(text: &str) -> Self {
        Self::new(json!(text))
    }

    pub(crate) fn is_raw(&self) -> bool {
        self.body.is_string()
    }

    pub(crate) fn kind(&self) -> &str {
        field(&self.body, "type").unwrap_or_default()
    }

    /// The type without `response.`, empty where it has no such prefix.
    pub(crate) fn name(&self) -> &str {
        self.kind().strip_prefix("response.").unwrap_or_default()
    }

    /// The last part of the type.
    pub(crate) fn verb(&self) -> &str {
        self.kind().rsplit('.').next().unwrap_or_default()
    }

    pub(crate) fn is_added(&self) -> bool {
        self.name() == "output_item.added"
    }

    pub(crate) fn is_done(&self) -> bool {
        self.name() == "output_item.done"
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.name(), "completed" | "incomplete" | "failed")
    }

    pub(crate) fn is_failure(&self) -> bool {
        self.kind() == "error" || self.name() == "failed"
    }

    /// Whether it is an event of one item, other than its announcement and its close.
    pub(crate) fn is_scoped(&self) -> bool {
        family(self.name()).is_some()
    }

    pub(crate) fn is_delta(&self) -> bool {
        self.is_scoped() && self.verb() == "delta"
    }

    /// Whether it opens a part of content or summary.
    pub(crate) fn opens_part(&self) -> bool {
        self.is_scoped() && self.name().ends_with("_part.added")
    }

    /// The item of an announcement or a close, where it has one.
    pub(crate) fn item(&self) -> Option<&Value> {
        let has_item = self.is_added() || self.is_done();
        self.body
            .get("item")
            .filter(|item| has_item && item.is_object())
    }

    pub(crate) fn item_mut(&mut self) -> Option<&mut Value> {
        self.item()?;
        self.body.get_mut("item")
    }

    pub(crate) fn index(&self) -> Option<u64> {
        self.body.get("output_index")?.as_u64()
    }

    pub(crate) fn number(&self) -> Option<u64> {
        self.body.get("sequence_number")?.as_u64()
    }

    /// The id it names its item by.
    pub(crate) fn id(&self) -> Option<&str> {
        match self.item() {
            Some(item) => field(item, "id"),
            None => field(&self.body, "item_id"),
        }
    }

    /// Where its id stands, if it has a place for one.
    pub(crate) fn id_place(&mut self) -> Option<(&mut Value, &'static str)> {
        if self.item().is_some() {
            return self.item_mut().map(|item| (item, "id"));
        }
        let has_id = self.body.get("item_id").is_some();
        has_id.then_some((&mut self.body, "item_id"))
    }

    /// The type of the item it is of.
    pub(crate) fn item_type(&self) -> Option<&str> {
        if let Some(item) = self.item() {
            return field(item, "type");
        }
        if matches!(self.name(), "content_part.added" | "content_part.done") {
            let of_reasoning = self.body["part"]["type"] == "reasoning_text";
            return Some(if of_reasoning { "reasoning" } else { "message" });
        }
        family(self.name())
    }

    /// The entries of a terminal event's output.
    pub(crate) fn output(&self) -> &[Value] {
        let output = self.body.get("response").and_then(|it| it.get("output"));
        output.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn output_mut(&mut self) -> Option<&mut Vec<Value>> {
        self.body
            .get_mut("response")?
            .get_mut("output")?
            .as_array_mut()
    }

    /// Which text it is about, and which part of it.
    pub(crate) fn place(&self) -> Option<(Lane, u64)> {
        let at = |key: &str| self.body.get(key).and_then(Value::as_u64).unwrap_or(0);
        let name = self.name();
        let subject = name.split('.').next().unwrap_or_default();
        Some(match subject {
            "output_text" | "refusal" | "reasoning_text" | "content_part" | "reasoning_part" => {
                (Lane::Content, at("content_index"))
            }
            "reasoning_summary_text" | "reasoning_summary_part" => {
                (Lane::Summary, at("summary_index"))
            }
            "shell_call_command" => (Lane::Command, at("command_index")),
            "apply_patch_call_operation_diff" => (Lane::Diff, 0),
            "function_call_arguments"
            | "mcp_call_arguments"
            | "custom_tool_call_input"
            | "code_interpreter_call_code" => (Lane::Main, 0),
            _ => return None,
        })
    }

    /// The text it adds.
    pub(crate) fn delta(&self) -> Option<&str> {
        self.place().filter(|_| self.is_delta())?;
        self.body.get("delta")?.as_str()
    }

    /// The whole text it sums up, of an event such as `output_text.done`.
    pub(crate) fn whole(&self) -> Option<&str> {
        self.place().filter(|_| self.verb() == "done")?;
        let part = self.body.get("part").unwrap_or(&self.body);
        let keys = [
            "text",
            "refusal",
            "arguments",
            "input",
            "code",
            "command",
            "diff",
        ];
        keys.iter().find_map(|key| part.get(*key)?.as_str())
    }

    pub(crate) fn remove(&mut self, key: &str) {
        if let Some(body) = self.body.as_object_mut() {
            body.remove(key);
        }
    }
}

/// A string member, `None` where it is absent, null or empty.
pub(crate) fn field<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The item type whose events have types that start as `name` does, which has no `response.`.
fn family(name: &str) -> Option<&'static str> {
    let subject = name.split_once('.')?.0;
    Some(match subject {
        "output_text" | "refusal" | "content_part" => "message",
        "reasoning_text"
        | "reasoning_part"
        | "reasoning_summary_text"
        | "reasoning_summary_part" => "reasoning",
        "function_call_arguments" => "function_call",
        "custom_tool_call_input" => "custom_tool_call",
        "mcp_call" | "mcp_call_arguments" => "mcp_call",
        "mcp_list_tools" => "mcp_list_tools",
        "code_interpreter_call" | "code_interpreter_call_code" => "code_interpreter_call",
        "web_search_call" => "web_search_call",
        "file_search_call" => "file_search_call",
        "image_generation_call" => "image_generation_call",
        "shell_call_command" => "shell_call",
        "shell_call_output_content" => "shell_call_output",
        "apply_patch_call_operation_diff" => "apply_patch_call",
        "compaction" => "compaction",
        _ => return None,
    })
}

/// One line for an item: type, id, `call_id`, name, and what it says.
pub(crate) fn show_item(item: &Value) -> String {
    let named = |key: &str| match item.get(key) {
        Some(Value::String(text)) => format!("{text:?}").trim_matches('"').to_owned(),
        Some(Value::Null) => "null".to_owned(),
        _ => "-".to_owned(),
    };
    let said = crate::client::texts_of(item);
    format!(
        "{}={}/{} {} {said}",
        named("type"),
        named("id"),
        named("call_id"),
        named("name"),
    )
}

/// One line for an event.
pub(crate) fn show(event: &Event) -> String {
    if let Value::String(text) = &event.body {
        return format!("     raw {text:?}");
    }
    let number = event.number().map_or("-".to_owned(), |it| it.to_string());
    let owner = event
        .owner
        .map_or(String::new(), |owner| format!("   (item {owner})"));
    let index = event.index().map_or("-".to_owned(), |it| it.to_string());
    let name = event.kind().trim_start_matches("response.");
    if event.is_terminal() {
        let items: Vec<String> = event.output().iter().map(show_item).collect();
        return format!("{number:>4} {name} [{}]", items.join(" | "));
    }
    if event.is_added() || event.is_done() {
        let item = event.item().map_or("null".to_owned(), show_item);
        return format!("{number:>4} {name} {index} {item}{owner}");
    }
    if !event.is_scoped() {
        return format!("{number:>4} {name}");
    }
    let id = event
        .body
        .get("item_id")
        .and_then(Value::as_str)
        .unwrap_or("-");
    let part = event
        .place()
        .map_or(String::new(), |(lane, part)| match lane {
            Lane::Content | Lane::Summary => format!(" part {part}"),
            _ => String::new(),
        });
    let text = event.delta().or(event.whole());
    let text = text.map_or(String::new(), |text| format!(" {text:?}"));
    let names = ["call_id", "name"].map(|key| field(&event.body, key).unwrap_or_default());
    let names = names.join(" ");
    format!("{number:>4} {name} {index} {id:?}{part}{text} {names}{owner}")
}

/// A line for each event.
pub(crate) fn show_all(events: &[Event]) -> String {
    events.iter().map(|event| show(event) + "\n").collect()
}
