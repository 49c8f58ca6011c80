//! Shortens texts of a stream, so that no report is as long as what a server sends.

use std::borrow::Cow;

/// How long a value in a report may be, in bytes.
const VALUE: usize = 512;

/// How long a value in a sentence may be, in bytes.
const IN_SENTENCE: usize = 60;

/// `text`, shortened in the middle to what a report holds.
pub(crate) fn short(text: &str) -> Cow<'_, str> {
    shortened(text, VALUE)
}

/// `text`, shortened in the middle to what a sentence holds.
pub(crate) fn shorter(text: &str) -> Cow<'_, str> {
    shortened(text, IN_SENTENCE)
}

fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let mut head = limit * 2 / 3;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - limit / 4;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let (head, tail) = (text.get(..head), text.get(tail..));
    Cow::Owned(format!(
        "{}…{}",
        head.unwrap_or_default(),
        tail.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_text_stay() {
        assert_eq!(short("call_1"), "call_1");
        let long = "é".repeat(400) + "end";
        for text in [short(&long), shorter(&long)] {
            assert!(text.len() <= VALUE);
            assert!(text.starts_with("éé") && text.ends_with("éend"));
            assert!(text.contains('…'));
        }
    }
}
