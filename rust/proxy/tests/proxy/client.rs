//! A client that sees every byte.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bed::soon;
use crate::fake::{find, header};

/// The body did not come to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut(pub(crate) Vec<u8>);

/// A connection to the proxy.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
}

/// An answer that came whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> &str {
        self.head.split(' ').nth(1).expect("a status")
    }
}

/// A request for a new response.
pub(crate) fn create(headers: &str) -> String {
    format!("POST /v1/responses HTTP/1.1\r\nhost: proxy\r\n{headers}content-length: 2\r\n\r\n{{}}")
}

/// Sends one request and reads the answer.
pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    let mut client = Client::new(address).await;
    client.send(request).await;
    client.answer().await.expect("a whole answer")
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Answer {
    ask(
        address,
        format!("GET {path} HTTP/1.1\r\nhost: proxy\r\n\r\n"),
    )
    .await
}

impl Client {
    pub(crate) async fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("it listens");
        stream.set_nodelay(true).expect("no delay");
        Self {
            stream,
            read: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref()))
            .await
            .expect("sent");
    }

    /// Reads a little more; whether there was more.
    async fn more(&mut self) -> bool {
        self.read.reserve(64 << 10);
        matches!(soon(self.stream.read_buf(&mut self.read)).await, Ok(1..))
    }

    pub(crate) async fn head(&mut self) -> String {
        let end = loop {
            if let Some(at) = find(&self.read, b"\r\n\r\n") {
                break at + 4;
            }
            assert!(
                self.more().await,
                "cut off: {:?}",
                String::from_utf8_lossy(&self.read)
            );
        };
        String::from_utf8(self.read.drain(..end).collect()).expect("text")
    }

    /// The next chunk of a chunked body; the last one is empty.
    pub(crate) async fn chunk(&mut self) -> Result<Vec<u8>, Cut> {
        let (at, length) = loop {
            if let Some(at) = find(&self.read, b"\r\n") {
                let size = std::str::from_utf8(&self.read[..at]).expect("text");
                let length = usize::from_str_radix(size, 16).expect("a size");
                if length == 0 {
                    return Ok(Vec::new());
                }
                if self.read.len() >= at + length + 4 {
                    break (at + 2, length);
                }
            }
            if !self.more().await {
                return Err(Cut(std::mem::take(&mut self.read)));
            }
        };
        let chunk = self.read[at..at + length].to_vec();
        self.read.drain(..at + length + 2);
        Ok(chunk)
    }

    /// The rest of a chunked body.
    pub(crate) async fn chunks(&mut self) -> Result<Vec<u8>, Cut> {
        let mut body = Vec::new();
        loop {
            match self.chunk().await {
                Ok(chunk) if chunk.is_empty() => {
                    return Ok(body);
                }
                Ok(chunk) => body.extend(chunk),
                Err(Cut(_)) => return Err(Cut(body)),
            }
        }
    }

    /// What stands behind the last chunk.
    pub(crate) async fn trailers(&mut self) -> String {
        self.head().await
    }

    pub(crate) async fn answer(&mut self) -> Result<Answer, Cut> {
        let head = self.head().await;
        let body = if header(&head, "transfer-encoding").is_some() {
            let body = self.chunks().await?;
            self.trailers().await;
            body
        } else {
            let length =
                header(&head, "content-length").map_or(0, |text| text.parse().expect("a length"));
            while self.read.len() < length {
                if !self.more().await {
                    return Err(Cut(self.read.clone()));
                }
            }
            self.read.drain(..length).collect()
        };
        Ok(Answer { head, body })
    }

    /// Everything until the connection ends, cleanly or not.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.read)
    }
}
