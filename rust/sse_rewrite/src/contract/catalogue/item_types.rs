//! The item types of the API.

/// What an item of a type is to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It has parts of content: a message, or reasoning.
    Content,
    /// The client runs it by its `name` and answers its `call_id`: it is of no use without both.
    ClientCall,
    /// The client answers it by its `call_id`; what to do is in its payload.
    AnsweredCall,
    /// The server runs it.
    HostedCall,
    /// Anything else, such as the output of a call.
    Other,
}

/// One item type: what its items consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemType {
    /// The `type` of its items.
    pub name: &'static str,
    /// What the ids of its items begin with, where there is a convention.
    pub id_prefix: Option<&'static str>,
    /// What it is to a client.
    pub role: Role,
    /// The member that holds the text of its deltas, for a type without parts.
    pub text: Option<&'static str>,
    /// The members that say something; empty where all do that are neither identity nor status.
    pub payload: &'static [&'static str],
    /// The `status` of an item that its server left unfinished.
    pub unfinished: &'static str,
}

const CONTENT: ItemType = ItemType {
    name: "",
    id_prefix: None,
    role: Role::Content,
    text: None,
    payload: &[],
    unfinished: "incomplete",
};

const HOSTED: ItemType = ItemType {
    role: Role::HostedCall,
    ..CONTENT
};

const ANSWERED: ItemType = ItemType {
    role: Role::AnsweredCall,
    ..CONTENT
};

const OTHER: ItemType = ItemType {
    role: Role::Other,
    ..CONTENT
};

/// Every item type that the crate knows by name.
pub const ITEM_TYPES: [ItemType; 28] = [
    ItemType {
        name: "message",
        id_prefix: Some("msg_"),
        ..CONTENT
    },
    ItemType {
        name: "reasoning",
        id_prefix: Some("rs_"),
        ..CONTENT
    },
    ItemType {
        name: "function_call",
        id_prefix: Some("fc_"),
        role: Role::ClientCall,
        text: Some("arguments"),
        payload: &["arguments"],
        ..CONTENT
    },
    ItemType {
        name: "custom_tool_call",
        id_prefix: Some("ctc_"),
        role: Role::ClientCall,
        text: Some("input"),
        payload: &["input"],
        // The AI SDK takes no other.
        unfinished: "completed",
    },
    ItemType {
        name: "mcp_call",
        id_prefix: Some("mcp_"),
        text: Some("arguments"),
        payload: &["arguments", "output", "error"],
        ..HOSTED
    },
    ItemType {
        name: "code_interpreter_call",
        id_prefix: Some("ci_"),
        text: Some("code"),
        payload: &["code", "outputs"],
        ..HOSTED
    },
    ItemType {
        name: "web_search_call",
        id_prefix: Some("ws_"),
        // The API had no "incomplete" for it at first.
        unfinished: "failed",
        ..HOSTED
    },
    ItemType {
        name: "file_search_call",
        ..HOSTED
    },
    ItemType {
        name: "image_generation_call",
        unfinished: "failed",
        ..HOSTED
    },
    ItemType {
        name: "computer_call",
        ..ANSWERED
    },
    ItemType {
        name: "local_shell_call",
        ..ANSWERED
    },
    ItemType {
        name: "shell_call",
        ..ANSWERED
    },
    ItemType {
        name: "apply_patch_call",
        unfinished: "completed",
        ..ANSWERED
    },
    ItemType {
        name: "tool_search_call",
        ..ANSWERED
    },
    ItemType {
        name: "mcp_list_tools",
        ..OTHER
    },
    ItemType {
        name: "mcp_approval_request",
        ..OTHER
    },
    ItemType {
        name: "shell_call_output",
        ..OTHER
    },
    ItemType {
        name: "compaction",
        ..OTHER
    },
    ItemType {
        name: "program",
        ..OTHER
    },
    ItemType {
        name: "function_call_output",
        ..OTHER
    },
    ItemType {
        name: "custom_tool_call_output",
        ..OTHER
    },
    ItemType {
        name: "computer_call_output",
        ..OTHER
    },
    ItemType {
        name: "local_shell_call_output",
        ..OTHER
    },
    ItemType {
        name: "apply_patch_call_output",
        // The API has no "incomplete" for it.
        unfinished: "failed",
        ..OTHER
    },
    ItemType {
        name: "program_output",
        ..OTHER
    },
    ItemType {
        name: "tool_search_output",
        ..OTHER
    },
    ItemType {
        name: "mcp_approval_response",
        ..OTHER
    },
    ItemType {
        name: "additional_tools",
        ..OTHER
    },
];

/// The row of the type `name`; one without a row is a call if its name says so.
#[must_use]
pub fn item_type(name: &str) -> ItemType {
    let row = ITEM_TYPES.iter().find(|row| row.name == name);
    row.copied().unwrap_or(if name.ends_with("_call") {
        ANSWERED
    } else {
        OTHER
    })
}

/// Whether items of this type call something, as against an output or a message.
#[must_use]
pub fn is_call(name: &str) -> bool {
    matches!(
        item_type(name).role,
        Role::ClientCall | Role::AnsweredCall | Role::HostedCall
    )
}

/// The conventional id prefix of an item type, where it has one.
#[must_use]
pub fn id_prefix(name: &str) -> Option<&'static str> {
    item_type(name).id_prefix
}

/// The item type as a metric label: one of those with a conventional prefix, or `other`.
#[must_use]
pub fn label(name: &str) -> &'static str {
    let row = item_type(name);
    row.id_prefix.map_or("other", |_| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_row_of_its_own() {
        for (index, row) in ITEM_TYPES.iter().enumerate() {
            assert_eq!(item_type(row.name), *row);
            let earlier = ITEM_TYPES.iter().take(index);
            assert!(earlier.clone().all(|other| other.name != row.name));
        }
    }

    #[test]
    fn the_text_of_a_type_is_part_of_its_payload() {
        for row in ITEM_TYPES {
            assert!(row.text.is_none_or(|text| row.payload.contains(&text)));
        }
    }

    #[test]
    fn a_type_without_a_row_is_a_call_by_its_name() {
        assert!(is_call("made_up_call"));
        assert!(!is_call("made_up"));
        assert_eq!(item_type("made_up_call").role, Role::AnsweredCall);
    }

    #[test]
    fn a_label_is_a_type_with_a_convention_or_other() {
        assert_eq!(label("mcp_call"), "mcp_call");
        assert_eq!(label("compaction"), "other");
        assert_eq!(label("made_up"), "other");
    }
}
