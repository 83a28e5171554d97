//! Tables for programs: comma-separated values (RFC 4180) with a head, each line ended by "\n".
//!
//! ```
//! use reynolds_report::{Csv, csv::Field};
//! let mut csv = Csv::new(["norm", "seeds", "accuracy"]);
//! csv.row(["(2,1)".into(), Field::from(3_u64), Field::from(0.25)]);
//! csv.row(["max".into(), Field::from(0_u64), Field::from(f64::NAN)]);
//! assert_eq!(csv.to_string(), "norm,seeds,accuracy\n\"(2,1)\",3,0.25\nmax,0,\n");
//! ```

use std::fmt;

/// Rows of fields under a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csv {
    columns: usize,
    text: String,
}

impl Csv {
    /// A table with these columns and no row.
    pub fn new<T: Into<Field>>(head: impl IntoIterator<Item = T>) -> Self {
        let mut csv = Self { columns: 0, text: String::new() };
        csv.columns = csv.push(head);
        csv
    }

    /// Adds a row; panics unless it has a field for each column.
    pub fn row<T: Into<Field>>(&mut self, fields: impl IntoIterator<Item = T>) -> &mut Self {
        let count = self.push(fields);
        assert_eq!(count, self.columns, "a row has a field for each column");
        self
    }

    /// Adds a line; returns how many fields it has.
    fn push<T: Into<Field>>(&mut self, fields: impl IntoIterator<Item = T>) -> usize {
        let fields: Vec<String> = fields.into_iter().map(|field| field.into().0).collect();
        self.text += &(fields.join(",") + "\n");
        fields.len()
    }
}

impl fmt::Display for Csv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A field, in quotes if it holds a comma, a quote or a line end. The default is a missing value, which is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Field(String);

impl Field {
    /// Text in quotes, whatever it holds: for columns of which some fields need them.
    pub fn quoted(text: impl fmt::Display) -> Self {
        Self(format!("\"{}\"", text.to_string().replace('"', "\"\"")))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        if text.contains([',', '"', '\n', '\r']) { Self::quoted(text) } else { Self(text.into()) }
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<f64> for Field {
    /// The shortest decimal that reads back as the same number; missing if it is not finite.
    fn from(value: f64) -> Self {
        if value.is_finite() { Self(value.to_string()) } else { Self::default() }
    }
}

macro_rules! field_as_displayed {
    ($($of:ty),*) => {
        $(impl From<$of> for Field {
            fn from(value: $of) -> Self {
                Self(value.to_string())
            }
        })*
    };
}

field_as_displayed!(usize, u64, bool);

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::default, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::{Csv, Field};

    #[test]
    fn fields_are_quoted_only_if_needed_or_asked_for() {
        let mut csv = Csv::new(["a,b", "c"]);
        csv.row(["say \"x\"", "two\nlines"]).row([Field::quoted("max"), Field::from("max")]);
        assert_eq!(csv.to_string(), "\"a,b\",c\n\"say \"\"x\"\"\",\"two\nlines\"\n\"max\",max\n");
    }

    #[test]
    fn numbers_keep_all_digits_and_missing_ones_are_empty() {
        let mut csv = Csv::new(["value"; 4]);
        csv.row([0.1 + 0.2, 1e6, f64::INFINITY, -0.5]);
        csv.row([Field::from(true), Field::from(7_usize), Field::from(None::<f64>), Field::from(Some("x"))]);
        assert_eq!(csv.to_string().lines().last(), Some("true,7,,x"));
        assert!(csv.to_string().contains("\n0.30000000000000004,1000000,,-0.5\n"), "{csv}");
    }

    #[test]
    #[should_panic(expected = "a field for each column")]
    fn a_row_of_another_length_is_refused() {
        Csv::new(["a", "b"]).row(["c"]);
    }
}
