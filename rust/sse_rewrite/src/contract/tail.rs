//! How a text ends: enough to see that a message is the markup of a call that was cut.

/// How much of the end is looked at, in bytes.
const KEPT: usize = 32;

/// The last bytes of a text, without the white space after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tail {
    bytes: [u8; KEPT],
    length: usize,
}

impl Tail {
    /// The tail of `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let text = text.trim_end().as_bytes();
        let kept = text
            .get(text.len().saturating_sub(KEPT)..)
            .unwrap_or_default();
        let mut tail = Self {
            length: kept.len(),
            ..Self::default()
        };
        for (place, byte) in tail.bytes.iter_mut().zip(kept) {
            *place = *byte;
        }
        tail
    }

    /// Whether a text with this tail is, as far as can be seen, what the `other` text ends with.
    ///
    /// A blank text ends nothing.
    #[must_use]
    pub fn ends(&self, other: &Self) -> bool {
        self.length > 0 && other.kept().ends_with(self.kept())
    }

    fn kept(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_that_was_cut_ends_with_the_arguments_streamed() {
        let markup = Tail::of("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Pa\n");
        assert!(Tail::of("{\"city\": \"Pa").ends(&markup));
        assert!(!Tail::of("{\"city\": \"Ro").ends(&markup));
        assert!(!Tail::of(" ").ends(&markup));
    }

    #[test]
    fn a_text_after_the_call_shows() {
        let spoken = Tail::of("<tool_call>{\"city\": }</tool_call>The answer is 42.");
        assert!(!Tail::of("{\"city\": }").ends(&spoken));
    }

    #[test]
    fn a_long_text_is_compared_by_its_last_bytes() {
        let long = "é".repeat(100);
        assert!(Tail::of(&long).ends(&Tail::of(&format!("before {long}"))));
        assert!(!Tail::of(&long).ends(&Tail::of("é")));
    }
}
