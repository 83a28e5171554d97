//! Some numbers, as a setting: "1e-3,0.1,1".

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use reynolds_train::error::{Error, Result};

/// Finite numbers in the order given, each once, at least one.
///
/// In settings it is a text, so that `--set lambda_perp=1e-3,1` needs no quotes; "[1e-3, 1]" is read as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers(Vec<f64>);

impl Numbers {
    /// # Panics
    /// If there is none.
    pub fn new(numbers: &[f64]) -> Self {
        assert!(!numbers.is_empty(), "at least one number");
        let mut each: Vec<f64> = Vec::new();
        for &number in numbers {
            if !each.contains(&number) {
                each.push(number);
            }
        }
        Self(each)
    }

    /// In the order given.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// From the smallest to the largest.
    pub fn increasing(&self) -> Vec<f64> {
        let mut numbers = self.0.clone();
        numbers.sort_by(f64::total_cmp);
        numbers
    }

    /// Refuses the first that does not fit.
    ///
    /// # Errors
    /// [`Error::Config`] with that number.
    pub fn all(&self, key: &str, expected: &str, fits: impl Fn(f64) -> bool) -> Result<()> {
        let wrong = self.0.iter().find(|&&number| !fits(number));
        wrong.map_or(Ok(()), |wrong| Err(Error::config(key, expected, wrong)))
    }
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.iter().map(|&number| text(number)).collect::<Vec<_>>().join(","))
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
        let words = inside.split([',', ' ']).filter(|word| !word.is_empty());
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
        match words.map(number).collect::<Option<Vec<f64>>>() {
            Some(numbers) if !numbers.is_empty() => Ok(Self::new(&numbers)),
            _ => Err(D::Error::custom("expected finite numbers with commas between them")),
        }
    }
}

/// As it is shortest: "0.1", "1e-3".
fn text(number: f64) -> String {
    let (plain, scientific) = (number.to_string(), format!("{number:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Numbers, toml::de::Error> {
        Numbers::deserialize(toml::Value::String(text.into()))
    }

    #[test]
    fn numbers_are_words_or_toml_each_once_and_written_as_short_as_can_be() {
        for text in ["1,1e-4,0.1", "[1, 1e-4, 1e-1]", "1 1e-4 1 0.1"] {
            assert_eq!(read(text).unwrap(), Numbers::new(&[1.0, 1e-4, 0.1]), "{text}");
        }
        let numbers = Numbers::new(&[1.0, 1e-4, 0.1]);
        assert_eq!(toml::Value::try_from(&numbers).unwrap().as_str(), Some("1,1e-4,0.1"));
        assert_eq!((numbers.as_slice(), numbers.increasing()), (&[1.0, 1e-4, 0.1][..], vec![1e-4, 0.1, 1.0]));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "1,a", "inf", "1e-3;2"] {
            assert!(read(text).unwrap_err().to_string().contains("expected finite numbers"), "{text}");
        }
        let error = Numbers::new(&[1.0, -2.0]).all("lambda_g", "numbers from 0", |number| number >= 0.0).unwrap_err();
        assert_eq!(error.to_string(), "config: lambda_g: expected numbers from 0, found -2");
    }
}
