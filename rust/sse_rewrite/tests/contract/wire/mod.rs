//! The rewriter of bytes: what the ledger decides must come out of it, and nothing else.

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
mod parts;
mod resumed;
mod rounds;
pub(crate) mod same_as_ledger;
mod splicing;
mod vocabulary;
