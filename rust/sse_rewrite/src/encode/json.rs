//! JSON text as `serde_json` writes it, which is what pydantic writes with.

/// How many bytes are looked at together.
const CHUNK: usize = 16;

const HEX: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];

/// Writes `text` as a JSON string, quotes included.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    // All that is escaped is ASCII, so each cut is between characters.
    while let Some((plain, byte, after)) = split(rest) {
        out.push_str(plain);
        escape(byte, out);
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

/// The text before the first byte that must be escaped, that byte, and the text after it.
fn split(text: &str) -> Option<(&str, u8, &str)> {
    let bytes = text.as_bytes();
    let mut chunks = bytes.chunks_exact(CHUNK);
    let plain = chunks
        .by_ref()
        .take_while(|chunk| !chunk.iter().fold(false, |any, byte| any | special(*byte)))
        .count();
    let from = plain * CHUNK;
    let at = from + bytes.get(from..)?.iter().position(|byte| special(*byte))?;
    Some((text.get(..at)?, *bytes.get(at)?, text.get(at + 1..)?))
}

const fn special(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'\\')
}

fn escape(byte: u8, out: &mut String) {
    out.push('\\');
    match byte {
        b'"' | b'\\' => out.push(char::from(byte)),
        b'\x08' => out.push('b'),
        b'\t' => out.push('t'),
        b'\n' => out.push('n'),
        b'\x0c' => out.push('f'),
        b'\r' => out.push('r'),
        _ => {
            out.push_str("u00");
            out.extend(
                [byte >> 4, byte & 0xf]
                    .map(|digit| HEX.get(usize::from(digit)).copied().unwrap_or('0')),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        write_string(text, &mut out);
        out
    }

    #[test]
    fn every_ascii_character_at_every_place_is_written_as_serde_json_does() {
        for byte in 0..128u8 {
            for before in 0..=2 * CHUNK {
                let text = format!("{}{}\u{e9}", "x".repeat(before), char::from(byte));
                assert_eq!(written(&text), serde_json::to_string(&text).expect("text"));
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_does(text: String) {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).expect("text"));
        }

        #[test]
        fn text_full_of_escapes_is_written_as_serde_json_does(
            text in "[\\x00-\\x22\\\\a\u{7f}\u{2028}\u{1f600}]{0,80}",
        ) {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).expect("text"));
        }
    }
}
