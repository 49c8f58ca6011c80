//! Guesses which server made a stream, and on which of vLLM's two paths.

use std::ops::Range;

use serde::Serialize;

use crate::contract::identity::Identity;
use crate::json::scan;
use crate::wire::fields::member;

/// Members that vLLM adds to the response of the API.
const OF_VLLM: [&str; 3] = ["kv_transfer_params", "input_messages", "output_messages"];

/// Members of every response that a server sends whole.
const OF_WHOLE: [&str; 2] = ["tool_choice", "parallel_tool_calls"];

/// Where vLLM counts tokens by turn: with Harmony there are turns, on the simple path none.
const TURNS: [&str; 3] = ["usage", "output_tokens_details", "output_tokens_per_turn"];

/// How vLLM begins the `call_id` of a call on the simple path.
const SIMPLE_CALL: &str = "chatcmpl-tool-";

/// Who probably sent a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The server.
    pub server: Server,
    /// Which of vLLM's generators, if that shows.
    pub path: Option<Path>,
    /// What shows it.
    pub because: Option<&'static str>,
}

/// A server of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Server {
    /// vLLM.
    Vllm,
    /// Another one.
    Other,
    /// Nothing shows.
    Unknown,
}

/// One of vLLM's generators of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// The one that most models take.
    Simple,
    /// The one of gpt-oss.
    Harmony,
}

/// What was seen so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signs {
    is_vllm: bool,
    is_other: bool,
    turns: Option<Path>,
    names: Option<(Path, &'static str)>,
}

impl Signs {
    /// Looks at the response that an event carries.
    pub(crate) fn response(&mut self, json: &[u8], response: &Range<usize>) {
        let has = |name: &&str| member(json, response, name).is_some();
        if OF_VLLM.iter().any(has) {
            self.is_vllm = true;
        } else if OF_WHOLE.iter().all(has) {
            self.is_other = true;
        }
        let mut place = response.clone();
        for name in TURNS {
            match member(json, &place, name) {
                Some(found) => place = found,
                None => return,
            }
        }
        let mut is_empty = true;
        if scan::array(json, place.start, |_| is_empty = false).is_some() {
            self.turns = Some(if is_empty {
                Path::Simple
            } else {
                Path::Harmony
            });
        }
    }

    /// Looks at an item as it was announced.
    pub(crate) fn item(&mut self, item: &Identity) {
        let id = item.id.as_deref().unwrap_or_default();
        let call_id = item.call_id.as_deref().unwrap_or_default();
        let found = match item.kind.as_str() {
            "reasoning" if id.strip_prefix("msg_").is_some_and(is_vllm_hex) => (
                Path::Harmony,
                "reasoning is announced as msg_…, as vLLM did for gpt-oss",
            ),
            "code_interpreter_call" if id.strip_prefix("tool_").is_some_and(is_vllm_hex) => (
                Path::Harmony,
                "a built-in tool is called tool_…, as vLLM does for gpt-oss",
            ),
            _ if is_vllm_hex(id) => (
                Path::Simple,
                "ids are bare hexadecimal numbers, as vLLM's were",
            ),
            _ if call_id.starts_with(SIMPLE_CALL) => (
                Path::Simple,
                "calls are named chatcmpl-tool-…, as vLLM does",
            ),
            _ => return,
        };
        self.names.get_or_insert(found);
    }

    /// The guess.
    pub(crate) fn guess(self) -> Origin {
        let vllm = |path, because| Origin {
            server: Server::Vllm,
            path,
            because: Some(because),
        };
        match (self.turns, self.names) {
            (Some(path), _) => vllm(
                Some(path),
                match path {
                    Path::Simple => "usage has vLLM's counts by turn, and they are empty",
                    Path::Harmony => "usage has vLLM's counts by turn",
                },
            ),
            (None, Some((path, because))) => vllm(Some(path), because),
            _ if self.is_vllm => vllm(None, "the response has fields that vLLM adds"),
            _ if self.is_other => Origin {
                server: Server::Other,
                path: None,
                because: Some("the response has none of the fields that vLLM adds"),
            },
            _ => Origin {
                server: Server::Unknown,
                path: None,
                because: None,
            },
        }
    }
}

/// Whether it is as vLLM makes random ids.
fn is_vllm_hex(id: &str) -> bool {
    id.len() == 16
        && id
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
