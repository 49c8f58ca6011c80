//! JSON text, read and changed by its structure, without decoding more than is asked for.

pub(crate) mod edit;
pub(crate) mod scan;
