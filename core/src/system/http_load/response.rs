//! `Response`: finds the end of an HTTP/1.1 response in bytes as they arrive (RFC 9112 §6). It never stores a body.

/// A response with a longer header is malformed.
const MOST_HEADER: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Header,
    /// Bytes that are still to come.
    Body(u64),
    /// Until the server closes.
    Rest,
    ChunkSize,
    Chunk(u64),
    Trailer,
    Done,
}

/// The response is not valid HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// One response, as far as it has arrived.
#[derive(Debug)]
pub struct Response {
    part: Part,
    /// The header, or the line of a chunked body that has begun.
    line: Vec<u8>,
    pub status: u16,
    pub body_bytes: u64,
    /// The server will close the connection.
    pub closes: bool,
}

impl Default for Response {
    fn default() -> Self {
        Response {
            part: Part::Header,
            line: Vec::new(),
            status: 0,
            body_bytes: 0,
            closes: false,
        }
    }
}

impl Response {
    pub fn is_done(&self) -> bool {
        self.part == Part::Done
    }

    /// Parses received bytes and returns how many of them belong to this response.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<usize, Malformed> {
        let all = bytes.len();
        while !bytes.is_empty() && !self.is_done() {
            let taken = match self.part {
                Part::Header => self.take_header(bytes)?,
                Part::Body(left) => self.take_body(bytes, left, Part::Body, Part::Done),
                // The CRLF behind a chunk is counted with it.
                Part::Chunk(left) => self.take_body(bytes, left, Part::Chunk, Part::ChunkSize),
                Part::Rest => {
                    self.body_bytes += bytes.len() as u64;
                    bytes.len()
                }
                Part::ChunkSize | Part::Trailer => self.take_line(bytes)?,
                Part::Done => 0,
            };
            bytes = &bytes[taken..];
        }
        Ok(all - bytes.len())
    }

    /// The server has closed the connection: an error if the response was not complete.
    pub fn end(&mut self) -> Result<(), Malformed> {
        match self.part {
            Part::Rest | Part::Done => {
                self.part = Part::Done;
                Ok(())
            }
            _ => Err(Malformed),
        }
    }

    fn take_body(&mut self, bytes: &[u8], left: u64, more: fn(u64) -> Part, then: Part) -> usize {
        let taken = left.min(bytes.len() as u64);
        self.body_bytes += taken;
        self.part = if left == taken {
            then
        } else {
            more(left - taken)
        };
        if self.part == Part::ChunkSize {
            self.line.clear();
        }
        taken as usize
    }

    fn take_header(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let before = self.line.len();
        self.line.extend_from_slice(bytes);
        let Some(end) =
            (before.saturating_sub(2)..self.line.len()).find_map(|at| ended(&self.line, at))
        else {
            return if self.line.len() > MOST_HEADER {
                Err(Malformed)
            } else {
                Ok(bytes.len())
            };
        };
        let header = std::mem::take(&mut self.line);
        self.read_header(&header[..end])?;
        Ok(end - before)
    }

    fn read_header(&mut self, header: &[u8]) -> Result<(), Malformed> {
        // A value may have any byte (RFC 9110 §5.5), and a line may end with LF alone (RFC 9112 §2.2).
        let text = String::from_utf8_lossy(header);
        let mut lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
        let mut first = lines.next().unwrap_or_default().split(' ');
        let version = first.next().unwrap_or_default();
        let status = first.next().and_then(|word| word.parse().ok());
        self.status = status
            .filter(|_| version.starts_with("HTTP/1."))
            .ok_or(Malformed)?;
        self.closes = version == "HTTP/1.0";
        let (mut length, mut coding) = (None, None);
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                for one in value.split(',') {
                    let bytes: u64 = one.trim().parse().map_err(|_| Malformed)?;
                    // The same number again is no contradiction (RFC 9112 §6.3).
                    if length.replace(bytes).is_some_and(|before| before != bytes) {
                        return Err(Malformed);
                    }
                }
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                coding = value.rsplit(',').next().map(str::trim);
            } else if name.eq_ignore_ascii_case("connection") {
                for word in value.split(',').map(str::trim) {
                    self.closes = word.eq_ignore_ascii_case("close")
                        || self.closes && !word.eq_ignore_ascii_case("keep-alive");
                }
            }
        }
        let chunked = coding.map(|last| last.eq_ignore_ascii_case("chunked"));
        // 1xx comes before the response itself (RFC 9110 §15.2).
        self.part = match (self.status, chunked, length) {
            (100..=199, ..) => Part::Header,
            (204 | 304, ..) | (_, None, Some(0)) => Part::Done,
            (_, Some(true), _) => Part::ChunkSize,
            (_, None, Some(bytes)) => Part::Body(bytes),
            _ => Part::Rest,
        };
        self.closes |= self.part == Part::Rest;
        Ok(())
    }

    /// A line of a chunked body: the size of a chunk (RFC 9112 §7.1), or one behind the last chunk.
    fn take_line(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let Some(at) = bytes.iter().position(|&byte| byte == b'\n') else {
            self.line.extend_from_slice(bytes);
            return if self.line.len() > MOST_HEADER {
                Err(Malformed)
            } else {
                Ok(bytes.len())
            };
        };
        self.line.extend_from_slice(&bytes[..at]);
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if self.part == Part::Trailer {
            if text.is_empty() {
                self.part = Part::Done;
            }
        } else if !text.is_empty() {
            let size = text.split(';').next().unwrap_or_default().trim();
            self.part = match u64::from_str_radix(size, 16).map_err(|_| Malformed)? {
                0 => Part::Trailer,
                bytes => Part::Chunk(bytes),
            };
        }
        Ok(at + 1)
    }
}

/// Where a header ends, if the end of its last line is at `at`.
fn ended(header: &[u8], at: usize) -> Option<usize> {
    let rest = &header[at..];
    let empty = [&b"\n\r\n"[..], b"\n\n"];
    let found = empty.into_iter().find(|end| rest.starts_with(end))?;
    Some(at + found.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fed(bytes: &[u8], cuts: &[usize]) -> Result<(Response, usize), Malformed> {
        let mut response = Response::default();
        let (mut at, mut used) = (0, 0);
        for cut in cuts.iter().chain([&usize::MAX]) {
            let end = bytes.len().min(at.max(*cut));
            used += response.take(&bytes[at..end])?;
            at = end;
        }
        Ok((response, used))
    }

    proptest! {
        #[test]
        fn the_end_is_found_however_the_bytes_are_cut(
            body in 0usize..5000, mut cuts in prop::collection::vec(0usize..5200, 0..8), chunk in 1usize..700,
        ) {
            cuts.sort_unstable();
            let plain = [format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n").into_bytes(), vec![b'x'; body]].concat();
            let mut chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
            for part in vec![b'y'; body].chunks(chunk) {
                chunked.extend(format!("{:x};a=b\r\n", part.len()).into_bytes());
                chunked.extend_from_slice(part);
                chunked.extend_from_slice(b"\r\n");
            }
            chunked.extend_from_slice(b"0\r\nX: y\r\n\r\n");
            for whole in [plain, chunked] {
                let next = [whole.clone(), b"HTTP/1.1 404".to_vec()].concat();
                let (response, used) = fed(&next, &cuts).unwrap();
                prop_assert!(response.is_done());
                prop_assert_eq!((response.status, response.body_bytes, used), (200, body as u64, whole.len()));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), cut in 0usize..600) {
            let _ = fed(&bytes, &[cut]);
            let _ = fed(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), bytes].concat(), &[cut]);
        }
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let (mut response, _) = fed(b"HTTP/1.1 200 OK\r\n\r\nabc", &[20]).unwrap();
        assert!(!response.is_done() && response.closes);
        response.end().unwrap();
        assert!(response.is_done() && response.body_bytes == 3);
        let (mut cut, _) = fed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", &[]).unwrap();
        assert_eq!(cut.end(), Err(Malformed));
    }

    /// They were malformed, or waited for until the server closed.
    #[test]
    fn odd_answers_that_are_legal_are_read() {
        for (header, body) in [
            (
                &b"Content-Disposition: attachment; filename=r\xe9sum\xe9.txt\r\nContent-Length: 2"
                    [..],
                "ab",
            ),
            (b"Content-Length: 2, 2", "ab"),
            (b"Content-Length: 2\r\nContent-Length: 2", "ab"),
            (b"Transfer-Encoding: gzip, chunked", "2\r\nab\r\n0\r\n\r\n"),
        ] {
            for line_end in ["\r\n", "\n"] {
                let text = [b"HTTP/1.1 200 OK\r\n", header, b"\r\n\r\n", body.as_bytes()].concat();
                let text = match line_end {
                    "\n" => text.into_iter().filter(|&byte| byte != b'\r').collect(),
                    _ => text,
                };
                for cut in 0..text.len() {
                    let (response, used) = fed(&text, &[cut]).unwrap();
                    assert!(response.is_done() && used == text.len());
                    assert!(response.body_bytes == 2 && !response.closes);
                }
            }
        }
        let two = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(fed(two, &[]).unwrap_err(), Malformed);
    }

    #[test]
    fn an_interim_answer_is_passed_over() {
        let (response, _) = fed(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            &[3],
        )
        .unwrap();
        assert!(response.is_done() && response.status == 204);
    }
}
