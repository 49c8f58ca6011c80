//! The rewriter of bytes: what the engine decides must come out of it, and nothing else.

mod api;
mod bounds;
mod bytes;
mod checker;
mod checker_faults;
mod chunks;
mod clean_streams;
pub(crate) mod encoding;
mod framing;
mod kept_streams;
pub(crate) mod layouts;
mod open_items;
mod parts;
mod resumed;
mod rounds;
mod splicing;
mod vocabulary;
