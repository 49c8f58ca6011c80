//! The item types and the event types of the Responses API: two tables.
//!
//! Nothing else in the crate knows a type by name. To support a new item type, add a row to
//! [`ITEM_TYPES`]; if it has events whose names do not begin with the item's type, add a row for
//! each of them to `SUBJECTS`. A type without a row still works: it is an item with an
//! identity, and all of its members are its payload.

mod events;
mod item_types;

pub use events::{Effect, EventKind, Family, PartKind, Scope, classify, final_status, openai_name};
pub use item_types::{ITEM_TYPES, ItemType, Role, id_prefix, is_call, item_type, label};
