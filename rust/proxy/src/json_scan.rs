//! Finds a string in the text of a JSON object while it passes.
//!
//! It has to find what Python's `json` finds, with which the servers read and write. That takes more
//! than JSON (`NaN`, `Infinity`, a byte order mark), and of a key that comes twice the last. What
//! `json` refuses, the server refuses, wherever it is sent: nothing is validated here.

/// Longer strings are no key and no id that is remembered, even if each character is an escape.
const LONGEST: usize = 6 * 256;

/// Reads an object piece by piece, for the string that a path of keys leads to.
pub(crate) struct Scanner {
    path: &'static [&'static str],
    place: Place,
    /// How many objects and lists are open.
    depth: usize,
    /// How many keys of the path led to where it is; beside them it is in no other object or list
    /// while `depth` is one more.
    followed: usize,
    next: Next,
    /// The string that is being read, from its quote on, where it matters.
    string: Option<Vec<u8>>,
    found: Option<String>,
}

/// Where in the text the next byte is.
enum Place {
    /// Before the first brace.
    Start,
    /// Between strings.
    Between,
    String,
    /// In a string, after a backslash.
    Escape,
    /// The text is no object.
    NoObject,
}

/// What comes next in the object that the path led to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Key,
    /// The value of the next key of the path.
    OnPath,
    /// Another value.
    Value,
}

impl Scanner {
    pub(crate) fn new(path: &'static [&'static str]) -> Self {
        Self {
            path,
            place: Place::Start,
            depth: 0,
            followed: 0,
            next: Next::Key,
            string: None,
            found: None,
        }
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            bytes = rest;
            match self.place {
                Place::Start => match byte {
                    b'{' => {
                        self.place = Place::Between;
                        self.depth = 1;
                    }
                    b' ' | b'\t' | b'\n' | b'\r' | 0xEF | 0xBB | 0xBF => {}
                    _ => self.place = Place::NoObject,
                },
                Place::Between => self.between(byte),
                Place::String => {
                    self.take(byte);
                    match byte {
                        b'"' => {
                            self.place = Place::Between;
                            self.end_string();
                        }
                        b'\\' => self.place = Place::Escape,
                        _ if self.string.is_none() => {
                            let is_plain = |&byte: &u8| byte != b'"' && byte != b'\\';
                            let plain = rest.iter().position(|byte| !is_plain(byte));
                            bytes = plain.and_then(|at| rest.get(at..)).unwrap_or_default();
                        }
                        _ => {}
                    }
                }
                Place::Escape => {
                    self.take(byte);
                    self.place = Place::String;
                }
                Place::NoObject => return,
            }
        }
    }

    /// Whether it is in the object that the path led to, and in nothing in there.
    fn is_on_path(&self) -> bool {
        self.depth == self.followed + 1
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.place = Place::String;
                let matters = self.is_on_path() && self.next != Next::Value;
                self.string = matters.then(|| vec![byte]);
            }
            b'{' | b'[' => {
                let is_last = self.followed + 1 == self.path.len();
                if byte == b'{' && self.is_on_path() && self.next == Next::OnPath && !is_last {
                    self.followed += 1;
                    self.next = Next::Key;
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == self.followed {
                    self.followed = self.followed.saturating_sub(1);
                    self.next = Next::Value;
                }
            }
            b',' if self.is_on_path() => self.next = Next::Key,
            _ => {}
        }
    }

    fn take(&mut self, byte: u8) {
        if let Some(string) = &mut self.string {
            if string.len() < LONGEST {
                string.push(byte);
            } else {
                self.string = None;
            }
        }
    }

    fn end_string(&mut self) {
        if !self.is_on_path() {
            return;
        }
        let string = self.string.take();
        let string = string.and_then(|text| serde_json::from_slice::<String>(&text).ok());
        match self.next {
            Next::Key if string.as_deref() == self.path.get(self.followed).copied() => {
                // Whatever comes now counts, and nothing that came before.
                self.found = None;
                self.next = Next::OnPath;
            }
            Next::OnPath if self.followed + 1 == self.path.len() => {
                self.found = string;
                self.next = Next::Value;
            }
            Next::Key | Next::OnPath | Next::Value => self.next = Next::Value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan_for(path: &'static [&'static str], pieces: &[&[u8]]) -> Option<String> {
        let mut scanner = Scanner::new(path);
        for piece in pieces {
            scanner.feed(piece);
        }
        scanner.found().map(str::to_owned)
    }

    fn scan(pieces: &[&[u8]]) -> Option<String> {
        scan_for(&["previous_response_id"], pieces)
    }

    #[test]
    fn the_id_is_found_where_python_finds_it() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        let deep = format!(r#"{{"input":{deep},"previous_response_id":"resp_1"}}"#);
        for body in [
            r#"{"previous_response_id":"resp_1"}"#,
            " \r\n\t{ \"previous_response_id\" \n:\t\"resp_1\" } ",
            "\u{feff}{\"previous_response_id\":\"resp_1\"}",
            r#"{"a":NaN,"b":[Infinity,-Infinity],"previous_response_id":"resp_1"}"#,
            r#"{"previous_response_id":"resp_1","temperature":NaN}"#,
            r#"{"previous_response_id":"resp_0","previous_response_id":"resp_1"}"#,
            r#"{"previous_response_id":null,"previous_response_id":"resp_1"}"#,
            r#"{"previous_response_id":7,"x":1e999,"previous_response_id":"resp_1"}"#,
            r#"{"previous\u005fresponse_id":"resp\u005F1"}"#,
            r#"{"\u0070\u0072\u0065\u0076\u0069\u006f\u0075\u0073_response_id":"resp_1"}"#,
            r#"{"previous_response_id":"resp_1","a":{"previous_response_id":"resp_2"}}"#,
            r#"{"a":{"previous_response_id":"resp_2"},"previous_response_id":"resp_1"}"#,
            r#"{"a":[{"previous_response_id":"resp_2"}],"previous_response_id":"resp_1"}"#,
            r#"{"a":"\"previous_response_id\":\"resp_2\"","previous_response_id":"resp_1"}"#,
            r#"{"a":"\\","previous_response_id":"resp_1","b":"previous_response_id","c":"x"}"#,
            r#"{"a":"previous_response_id","b":"resp_2","previous_response_id":"resp_1"}"#,
            r#"{"a":"\ud800","previous_response_id":"resp_1"}"#,
            "{\"a\":\"\u{e9}\u{1f600}\",\"previous_response_id\":\"resp_1\"}",
            &deep,
        ] {
            let bytes = body.as_bytes();
            assert_eq!(scan(&[bytes]).as_deref(), Some("resp_1"), "{body}");
            for cut in 0..bytes.len() {
                let (a, b) = bytes.split_at(cut);
                assert_eq!(
                    scan(&[a, b]).as_deref(),
                    Some("resp_1"),
                    "{body} cut at {cut}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_id_of_the_request_is_none() {
        let long = format!(r#"{{"previous_response_id":"{}"}}"#, "x".repeat(LONGEST));
        for body in [
            "",
            "{",
            "{}",
            "null",
            r#""previous_response_id":"resp_1""#,
            r#"[{"previous_response_id":"resp_1"}]"#,
            r#"{"previous_response_id":null}"#,
            r#"{"previous_response_id":"resp_1","previous_response_id":null}"#,
            r#"{"previous_response_id":"resp_1","previous_response_id":["resp_2"]}"#,
            r#"{"previous_response_id":{"previous_response_id":"resp_1"}}"#,
            r#"{"previous_response_id":["resp_1"],"x":"resp_2"}"#,
            r#"{"previous_response_idx":"resp_1"}"#,
            r#"{"x":"previous_response_id","y":"resp_1"}"#,
            r#"{"input":[{"previous_response_id":"resp_1"}]}"#,
            &long,
        ] {
            assert_eq!(scan(&[body.as_bytes()]), None, "{body}");
        }
    }

    #[test]
    fn a_path_of_two_keys_is_followed() {
        for (text, want) in [
            (r#"{"response":{"id":"a"}}"#, Some("a")),
            (
                r#"{"id":"b","response":{"x":{"id":"b"},"id":"a"},"y":{"id":"b"}}"#,
                Some("a"),
            ),
            (
                r#"{"x":{"response":{"id":"b"}},"response":{"id":"a","response":{"id":"b"}}}"#,
                Some("a"),
            ),
            (
                r#"{"response":{"top_p":NaN,"output":[{"id":"b"}],"id":"a"},"id":"b"}"#,
                Some("a"),
            ),
            (
                r#"{"response":{"id":"b"},"response":{"id":"a"}}"#,
                Some("a"),
            ),
            (r#"{"response":"id","x":{"id":"b"}}"#, None),
            (r#"{"response":[{"id":"b"}]}"#, None),
            (r#"{"response":[],"x":{"id":"b"}}"#, None),
            (r#"{"response":null,"x":{"id":"b"}}"#, None),
            (r#"{"response":{"id":"b"},"response":{}}"#, None),
            (r#"{"response":{"id":{"id":"b"}}}"#, None),
            (r#"{"response":{},"id":"b"}"#, None),
            (r#"{"response":{"x":1}},{"id":"b"}"#, None),
        ] {
            let path = &["response", "id"];
            for cut in 0..text.len() {
                let (a, b) = text.as_bytes().split_at(cut);
                assert_eq!(
                    scan_for(path, &[a, b]).as_deref(),
                    want,
                    "{text} cut at {cut}"
                );
            }
        }
    }
}
