//! Rewrites an event stream from standard input to standard output.

use std::io::{self, Read, Write};

use sse_rewrite::{Policy, SseRewriter};

fn main() -> io::Result<()> {
    let mut rewriter = SseRewriter::new(Policy::default());
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut piece = vec![0; 64 << 10];
    loop {
        let length = input.read(&mut piece)?;
        if length == 0 {
            break;
        }
        output.write_all(&rewriter.feed(piece.get(..length).unwrap_or_default()))?;
        output.flush()?;
    }
    output.write_all(&rewriter.finish())
}
