//! An upstream that takes requests as RFC 9112 has them, and nothing else.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fake::find;

/// What reached the upstream, in the order it came: `METHOD TARGET`, and the body if it has one.
///
/// Where it could be read in two ways, there is a line that begins with `!`.
pub(crate) struct Strict {
    pub(crate) address: SocketAddr,
    taken: Arc<Mutex<Vec<String>>>,
}

impl Strict {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let taken = Arc::<Mutex<Vec<String>>>::default();
        let all = Arc::clone(&taken);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                let all = Arc::clone(&all);
                tokio::spawn(async move {
                    let mut connection = Connection {
                        stream,
                        read: Vec::new(),
                    };
                    loop {
                        let request = match connection.request().await {
                            Ok(Some(request)) => request,
                            // It was cut off: nothing was done.
                            Ok(None) => return,
                            Err(why) => {
                                all.lock().expect("no panic").push(format!("! {why}"));
                                return;
                            }
                        };
                        // Health checks are answered, and forgotten.
                        if request != "GET /health" {
                            all.lock().expect("no panic").push(request);
                        }
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                        if connection.stream.write_all(answer).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, taken }
    }

    /// What came since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.taken.lock().expect("no panic"))
    }
}

struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    async fn request(&mut self) -> Result<Option<String>, String> {
        let Some(head) = self.until(b"\r\n\r\n").await else {
            return Ok(None);
        };
        let mut lines = lines(&head)?.into_iter();
        let target = request_line(&lines.next().unwrap_or_default())?;
        let fields = lines.map(|line| field(&line));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let all = |name: &str| -> Vec<&str> {
            let found = fields.iter().filter(|(found, _)| found == name);
            found.map(|(_, value)| value.as_str()).collect()
        };
        if all("host").len() != 1 {
            return Err(format!("one host is wanted: {head}"));
        }
        let body = match (&all("content-length")[..], &all("transfer-encoding")[..]) {
            ([], []) => Some(String::new()),
            ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.exactly(
                    length
                        .parse()
                        .map_err(|_| format!("not a length: {length}"))?,
                )
                .await
            }
            ([], ["chunked"]) => self.chunks().await?,
            _ => return Err(format!("one framing is wanted: {head}")),
        };
        Ok(body.map(|body| format!("{target} {body}").trim_end().to_owned()))
    }

    async fn chunks(&mut self) -> Result<Option<String>, String> {
        let mut body = String::new();
        loop {
            let Some(line) = self.until(b"\r\n").await else {
                return Ok(None);
            };
            let size = line.trim_end_matches("\r\n");
            let is_size = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_hexdigit());
            let Some(size) = usize::from_str_radix(size, 16).ok().filter(|_| is_size) else {
                return Err(format!("no chunk size: {line:?}"));
            };
            if size == 0 {
                break;
            }
            match self.exactly(size + 2).await {
                Some(chunk) if chunk.ends_with("\r\n") => body.push_str(&chunk[..size]),
                Some(chunk) => return Err(format!("a chunk that does not end: {chunk:?}")),
                None => return Ok(None),
            }
        }
        loop {
            let Some(line) = self.until(b"\r\n").await else {
                return Ok(None);
            };
            if line == "\r\n" {
                return Ok(Some(body));
            }
            let (name, _) = field(&lines(&line)?.concat())?;
            if ["content-length", "transfer-encoding", "host"].contains(&name.as_str()) {
                return Err(format!("a trailer that frames: {line}"));
            }
        }
    }

    /// Everything up to and with the next `end`.
    async fn until(&mut self, end: &[u8]) -> Option<String> {
        loop {
            if let Some(at) = find(&self.read, end) {
                return self.exactly(at + end.len()).await;
            }
            self.more().await?;
        }
    }

    /// That many bytes, each as one character.
    async fn exactly(&mut self, length: usize) -> Option<String> {
        while self.read.len() < length {
            self.more().await?;
        }
        Some(self.read.drain(..length).map(char::from).collect())
    }

    async fn more(&mut self) -> Option<()> {
        let length = self.stream.read_buf(&mut self.read).await.ok()?;
        (length > 0).then_some(())
    }
}

/// The lines of a head, without a CR or LF that does not end one.
fn lines(head: &str) -> Result<Vec<String>, String> {
    let lines = head.trim_end_matches("\r\n").split("\r\n");
    let lines: Vec<_> = lines.map(str::to_owned).collect();
    match lines.iter().find(|line| line.contains(['\r', '\n', '\0'])) {
        Some(line) => Err(format!("a stray CR, LF or NUL: {line:?}")),
        None => Ok(lines),
    }
}

fn request_line(line: &str) -> Result<String, String> {
    let is_target = |target: &str| {
        target.starts_with('/')
            && target
                .chars()
                .all(|char| char > ' ' && !"#\x7f".contains(char))
    };
    match line.split(' ').collect::<Vec<_>>()[..] {
        [method, target, "HTTP/1.1"] if is_token(method) && is_target(target) => {
            Ok(format!("{method} {target}"))
        }
        _ => Err(format!("no request line: {line:?}")),
    }
}

/// The name of a header in lower case, and its value.
fn field(line: &str) -> Result<(String, String), String> {
    let is_text = |char: char| char == '\t' || (char >= ' ' && char != '\x7f');
    match line.split_once(':') {
        Some((name, value)) if is_token(name) && value.chars().all(is_text) => Ok((
            name.to_lowercase(),
            value.trim_matches([' ', '\t']).to_owned(),
        )),
        _ => Err(format!("no header: {line:?}")),
    }
}

fn is_token(text: &str) -> bool {
    let is = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is)
}
