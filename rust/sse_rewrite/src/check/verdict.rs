//! What a checker says in the end.

use serde::Serialize;

use crate::check::breach::{Breach, Rule};
use crate::check::items::ItemTold;
use crate::check::origin::Origin;

/// Whether a stream keeps the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It does.
    Kept,
    /// It does not.
    Broken,
    /// It stops before its end, and was right so far.
    Cut,
    /// It passes a limit of the [`Policy`](crate::Policy), and was right so far.
    Limit,
    /// It has no event of the Responses API.
    NoStream,
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By `response.completed`.
    Completed,
    /// By `response.incomplete`.
    Incomplete,
    /// By `response.failed`.
    Failed,
    /// By an error, without a terminal event.
    Error,
    /// Not.
    None,
}

/// Something worth knowing that breaks no rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Its name.
    pub note: &'static str,
    /// The number of the first event that shows it, counted from 1.
    pub event: u64,
    /// How many times it was seen.
    pub times: u64,
    /// What it is.
    pub sentence: String,
}

/// How often a rule was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// How often.
    pub count: u64,
    /// What it asks for.
    pub title: &'static str,
}

/// What a checker found in a stream. Its JSON is described in `docs/check.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether the contract is kept.
    pub outcome: Outcome,
    /// How many events there were.
    pub events: u64,
    /// How many responses they told of.
    pub responses: u64,
    /// How the last one ended.
    pub end: End,
    /// Whether the stream was joined after its start.
    pub joined: bool,
    /// Whether it stops before its end.
    pub cut: bool,
    /// Beyond which limit the rest was not looked at.
    pub limit: Option<String>,
    /// Who probably sent it.
    pub origin: Origin,
    /// What it told of each item.
    pub items: Vec<ItemTold>,
    /// How many more items there were.
    pub more_items: u64,
    /// What is wrong, in order.
    pub breaches: Vec<Breach>,
    /// How many more breaches there were.
    pub more_breaches: u64,
    /// The rules that were broken.
    pub rules: Vec<Broken>,
    /// What else there is to know.
    pub notes: Vec<Note>,
}

impl Verdict {
    /// The verdict as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
