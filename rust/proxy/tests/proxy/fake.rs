//! An upstream that answers as the test says, byte by byte.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::bed::soon;

/// A request as it came: the head with its blank line, and the bytes of the body.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn is_for(&self, method_and_path: &str) -> bool {
        self.head.starts_with(&format!("{method_and_path} "))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

/// The value of a header, its name in lower case.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

/// The proxy's connection to the upstream.
pub(crate) struct Wire {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
}

impl Wire {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // Whoever has left gets nothing; the test sees that elsewhere.
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    pub(crate) async fn answer(&mut self, status: &str, headers: &str, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        self.send(format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        ))
        .await;
        self.send(body).await;
    }

    /// Begins a chunked event stream.
    pub(crate) async fn begin(&mut self) {
        self.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
    }

    pub(crate) async fn chunk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        self.send(chunk).await;
    }

    pub(crate) async fn end(&mut self) {
        self.send("0\r\n\r\n").await;
    }

    /// Waits until the proxy has closed its side.
    pub(crate) async fn closed(&mut self) {
        let mut bytes = [0; 1024];
        while matches!(self.stream.read(&mut bytes).await, Ok(1..)) {}
    }

    async fn more(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.read).await, Ok(1..))
    }

    async fn request(&mut self) -> Option<Request> {
        let end = loop {
            if let Some(at) = find(&self.read, b"\r\n\r\n") {
                break at + 4;
            }
            if !self.more().await {
                return None;
            }
        };
        let head = String::from_utf8(self.read.drain(..end).collect()).expect("text");
        let length = header(&head, "content-length").map(|text| text.parse().expect("a length"));
        let chunked = header(&head, "transfer-encoding").is_some();
        assert!(length.is_none() || !chunked, "two lengths: {head}");
        let length = loop {
            let whole = match length {
                _ if chunked => end_of_chunks(&self.read),
                length => length
                    .or(Some(0))
                    .filter(|&length| self.read.len() >= length),
            };
            match whole {
                Some(length) => break length,
                None if self.more().await => {}
                None => return None,
            }
        };
        let body = self.read.drain(..length).collect();
        Some(Request { head, body })
    }
}

/// An upstream.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Fake {
    /// Calls `answer` for every request but health checks; what it returns goes on to be used,
    /// what it drops is closed.
    pub(crate) async fn new<F, R>(answer: F) -> Self
    where
        F: Fn(Request, Wire) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Option<Wire>> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self::at(listener, answer)
    }

    /// The same at an address of the test's own.
    pub(crate) fn at<F, R>(listener: TcpListener, answer: F) -> Self
    where
        F: Fn(Request, Wire) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Option<Wire>> + Send,
    {
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                stream.set_nodelay(true).expect("no delay");
                let (answer, all) = (answer.clone(), Arc::clone(&all));
                tokio::spawn(async move {
                    let mut wire = Wire {
                        stream,
                        read: Vec::new(),
                    };
                    while let Some(request) = wire.request().await {
                        if request.is_for("GET /health") {
                            wire.answer("200 OK", "", "").await;
                            continue;
                        }
                        all.lock().expect("no panic").push(request.clone());
                        match answer(request, wire).await {
                            Some(kept) => wire = kept,
                            None => return,
                        }
                    }
                });
            }
        });
        Self { address, requests }
    }

    /// An upstream whose every stream is these bytes, in one chunk.
    pub(crate) async fn streaming(bytes: Vec<u8>) -> Self {
        Self::new(move |_, mut wire| {
            let bytes = bytes.clone();
            async move {
                wire.begin().await;
                wire.chunk(&bytes).await;
                wire.end().await;
                Some(wire)
            }
        })
        .await
    }

    /// The requests that came so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic").clone()
    }

    /// The only request that comes.
    pub(crate) async fn request(&self) -> Request {
        soon(async {
            loop {
                if let [request] = self.requests().as_slice() {
                    return request.clone();
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await
    }
}

/// Where a chunked body ends, behind its trailers.
fn end_of_chunks(body: &[u8]) -> Option<usize> {
    let last = if body.starts_with(b"0\r\n") {
        0
    } else {
        find(body, b"\r\n0\r\n")? + 2
    };
    find(&body[last..], b"\r\n\r\n").map(|end| last + end + 4)
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
