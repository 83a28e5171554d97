//! The header of a .npy array: a Python dictionary literal of type, order and shape.
//!
//! ```text
//! \x93NUMPY · major · minor · length: u16 (major 1) or u32 (2, 3) · {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } · data
//! ```

/// What the header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes before the data.
    pub(super) length: usize,
    /// Type as numpy writes it, such as `<f4`; for records the whole literal.
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

/// Longest header that is read; numpy itself refuses more than 10 000 bytes by default.
pub(super) const HEADER_LIMIT: usize = 1 << 16;

/// Reads the header at the beginning of an array; the error is what was found instead.
pub(super) fn parse(bytes: &[u8]) -> Result<Header, String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("no .npy magic")?;
    let (major, length, start) = match *rest {
        [1, _, low, high, ..] => (1, usize::from(u16::from_le_bytes([low, high])), 10),
        [major @ (2 | 3), _, a, b, c, d, ..] => (major, u32::from_le_bytes([a, b, c, d]) as usize, 12),
        [major, ..] => return Err(format!("version {major} of the .npy format, or a truncated header")),
        [] => return Err("a truncated header".into()),
    };
    if length > HEADER_LIMIT {
        return Err(format!("a header that claims {length} bytes"));
    }
    let text =
        bytes.get(start..start + length).ok_or_else(|| format!("a header that claims {length} bytes, and fewer"))?;
    // Versions 1 and 2 are Latin-1, 3 is UTF-8; all that is parsed is ASCII.
    let text =
        if major == 3 { String::from_utf8_lossy(text).into_owned() } else { text.iter().map(|&b| b as char).collect() };
    let mut literal = Literal { rest: text.trim() };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    literal.expect('{')?;
    while !literal.take('}') {
        let key = literal.string()?;
        literal.expect(':')?;
        let repeated = match key {
            "descr" => descr.replace(literal.descr()?).is_some(),
            "fortran_order" => fortran_order.replace(literal.boolean()?).is_some(),
            "shape" => shape.replace(literal.shape()?).is_some(),
            _ => return Err(format!("the key {key:?}")),
        };
        if repeated {
            return Err(format!("the key {key:?} twice"));
        }
        if !literal.take(',') {
            literal.expect('}')?;
            break;
        }
    }
    if !literal.rest.is_empty() {
        return Err(format!("{:?} after the header", literal.rest.chars().take(20).collect::<String>()));
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => {
            Ok(Header { length: start + length, descr, fortran_order, shape })
        }
        _ => Err("a header without descr, fortran_order or shape".into()),
    }
}

/// What is left of the literal.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn take(&mut self, symbol: char) -> bool {
        let found = self.rest.trim_start().strip_prefix(symbol);
        self.rest = found.unwrap_or(self.rest).trim_start();
        found.is_some()
    }

    fn expect(&mut self, symbol: char) -> Result<(), String> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(format!("{:?} instead of {symbol:?}", self.rest.chars().take(20).collect::<String>())),
        }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.take('"') { '"' } else { self.expect('\'').map(|()| '\'')? };
        let (text, rest) = self.rest.split_once(quote).ok_or("an unfinished string")?;
        self.rest = rest;
        Ok(text)
    }

    /// A type: a string, or the text of a list of fields.
    fn descr(&mut self) -> Result<String, String> {
        if !self.rest.trim_start().starts_with('[') {
            return Ok(self.string()?.to_owned());
        }
        let (mut depth, text) = (0_usize, self.rest.trim_start());
        for (at, symbol) in text.char_indices() {
            match symbol {
                '[' | '(' => depth += 1,
                ']' | ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                let (descr, rest) = text.split_at(at + symbol.len_utf8());
                self.rest = rest;
                return Ok(descr.to_owned());
            }
        }
        Err("an unfinished list".into())
    }

    fn boolean(&mut self) -> Result<bool, String> {
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.trim_start().strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err("an order that is neither True nor False".into())
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.take(')') {
            let digits = self.rest.len() - self.rest.trim_start_matches(|symbol: char| symbol.is_ascii_digit()).len();
            let (number, rest) = self.rest.split_at(digits);
            shape.push(number.parse().map_err(|_| format!("the size {number:?}"))?);
            // Python 2 wrote long integers as 3L.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn every_version_is_read() {
        let text = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }   \n";
        for version in [1, 2, 3] {
            let header = parse(&npy(version, text)).unwrap();
            assert_eq!(
                (header.descr.as_str(), header.fortran_order, header.shape.as_slice()),
                ("<f4", true, &[2, 3][..])
            );
            assert_eq!(header.length, npy(version, text).len());
        }
        let record = "{'descr': [('a', '<f4'), ('b', '<i8', (2,))], 'fortran_order': False, 'shape': ()}";
        assert!(parse(&npy(1, record)).unwrap().shape.is_empty());
        assert_eq!(parse(&npy(1, "{'shape': (5,), 'fortran_order': False, 'descr': '|b1'}")).unwrap().shape, [5]);
    }

    #[test]
    fn bad_headers_are_named() {
        let refused = |bytes: &[u8], word: &str| {
            let message = parse(bytes).unwrap_err();
            assert!(message.contains(word), "{message}");
        };
        refused(b"\x93NUMPX", "magic");
        refused(&npy(4, "{}"), "version 4");
        refused(&npy(1, "{}"), "without");
        refused(&npy(1, "{'descr': '<f4', 'descr': '<f8'}"), "twice");
        refused(&npy(1, "{'shape': (2, -3)}"), "size");
        refused(&npy(1, "{'shape': (99999999999999999999999,)}"), "size");
        refused(&npy(1, "{'evil': __import__('os')}"), "evil");
        refused(&npy(2, "{")[..9], "truncated");
        refused(&[&npy(1, "")[..8], &[255, 255]].concat(), "claims 65535");
    }
}
