//! `Row`: one transaction, as it crosses to Python (mirrored in keisoku/subjects/stream/transaction/rows.py).

/// What became of a transaction; the number crosses to Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Failure {
    None = 0,
    /// No answer within the time that is allowed.
    NoAnswer = 1,
    /// No connection within that time.
    NoConnection = 2,
    /// The far host refused the connection or the datagram.
    Refused = 3,
    /// The connection ended before the answer.
    Broken = 4,
    /// Something else came instead of the answer.
    Wrong = 5,
    /// This host could not send: no port, no buffer, no file was free.
    Local = 6,
    /// Open loop: it was due, but no connection became free in time.
    NotBegun = 7,
}

/// Stands for a time that is not known.
pub const UNKNOWN: i64 = i64::MIN;

/// Times are ns since the beginning of the trial, on this host's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub connection: u32,
    pub failure: Failure,
    /// When it should begin; in a closed loop when it began.
    pub due: i64,
    /// When the connection was asked for, or the request sent where there is one already.
    pub begun: i64,
    /// How long the connection took, if one was made for it.
    pub setup: i64,
    /// Just before the call that sends the request.
    pub sent: i64,
    /// When the kernel gave the last byte of the request to the interface.
    pub left: i64,
    /// When the kernel had the last byte of the response.
    pub arrived: i64,
    /// When the program had read the response, or the transaction failed.
    pub ended: i64,
}

impl Row {
    pub const BYTES: usize = 64;

    pub fn new(connection: usize, due: i64, begun: i64) -> Self {
        Row {
            connection: connection as u32,
            failure: Failure::None,
            due,
            begun,
            setup: UNKNOWN,
            sent: UNKNOWN,
            left: UNKNOWN,
            arrived: UNKNOWN,
            ended: UNKNOWN,
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.connection.to_le_bytes());
        bytes.extend_from_slice(&(self.failure as u32).to_le_bytes());
        for time in [
            self.due,
            self.begun,
            self.setup,
            self.sent,
            self.left,
            self.arrived,
            self.ended,
        ] {
            bytes.extend_from_slice(&time.to_le_bytes());
        }
    }
}

/// The rows one after the other, little end first.
pub fn bytes_of(rows: &[Row]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows.len() * Row::BYTES);
    for row in rows {
        row.write(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_length_and_its_order() {
        let row = Row {
            failure: Failure::Wrong,
            ended: -2,
            ..Row::new(7, 3, 4)
        };
        let bytes = bytes_of(&[row, row]);
        assert_eq!(bytes.len(), 2 * Row::BYTES);
        assert_eq!((bytes[0], bytes[4], bytes[8], bytes[16]), (7, 5, 3, 4));
        assert_eq!(bytes[24..32], UNKNOWN.to_le_bytes());
        assert_eq!(bytes[56..64], (-2i64).to_le_bytes());
    }
}
