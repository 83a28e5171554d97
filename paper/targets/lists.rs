//! Lists as settings: texts, so that `--set networks=acdnet,oscnet` and `--set lambda_perp=1e-3,1` need no quotes; TOML's
//! `["acdnet", "oscnet"]` and `[1e-3, 1]` are read as well.

use reynolds_train::error::{Error, Result};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type of few named values.
pub trait Named: Copy + PartialEq + 'static {
    const ALL: &'static [Self];

    /// As in settings, files and CSV.
    fn name(self) -> String;
}

/// Some values, in the order of [`Named::ALL`], each once: "all", "acdnet,oscnet".
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen<T>(Vec<T>);

impl<T: Named> Chosen<T> {
    pub fn new(wanted: &[T]) -> Self {
        Self(T::ALL.iter().copied().filter(|value| wanted.contains(value)).collect())
    }

    pub fn all() -> Self {
        Self(T::ALL.to_vec())
    }

    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied()
    }

    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    pub fn contains(&self, value: T) -> bool {
        self.0.contains(&value)
    }
}

impl<T: Named> Serialize for Chosen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == T::ALL {
            return serializer.serialize_str("all");
        }
        serializer.serialize_str(&self.iter().map(T::name).collect::<Vec<_>>().join(","))
    }
}

impl<'de, T: Named> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let words = words(&text);
        let names: Vec<String> = T::ALL.iter().map(|&value| value.name()).collect();
        let known = |word: &&str| *word == "all" || names.iter().any(|name| name == word);
        if words.is_empty() || !words.iter().all(known) {
            return Err(D::Error::custom(format!("expected some of {}, or all", names.join(", "))));
        }
        let wanted = |name: &String| words.iter().any(|word| *word == "all" || word == name);
        Ok(Self(T::ALL.iter().zip(&names).filter(|(_, name)| wanted(name)).map(|(&value, _)| value).collect()))
    }
}

/// At least one finite number, in the order given, each once: "1e-3,0.1,1".
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers(Vec<f64>);

impl Numbers {
    /// # Panics
    /// If there is none.
    pub fn new(numbers: &[f64]) -> Self {
        assert!(!numbers.is_empty(), "at least one number");
        let once = numbers.iter().enumerate().filter(|(at, number)| !numbers[..*at].contains(number));
        Self(once.map(|(_, number)| *number).collect())
    }

    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    pub fn increasing(&self) -> Vec<f64> {
        let mut numbers = self.0.clone();
        numbers.sort_by(f64::total_cmp);
        numbers
    }

    pub fn all(&self, key: &str, expected: &str, fits: impl Fn(f64) -> bool) -> Result<()> {
        let wrong = self.0.iter().find(|&&number| !fits(number));
        wrong.map_or(Ok(()), |wrong| Err(Error::config(key, expected, wrong)))
    }
}

impl Serialize for Numbers {
    /// Each in its shortest form: "0.1", "1e-3".
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |number: &f64| {
            let (plain, scientific) = (number.to_string(), format!("{number:e}"));
            if scientific.len() < plain.len() { scientific } else { plain }
        };
        serializer.serialize_str(&self.0.iter().map(text).collect::<Vec<_>>().join(","))
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
        match words(&text).into_iter().map(number).collect::<Option<Vec<f64>>>() {
            Some(numbers) if !numbers.is_empty() => Ok(Self::new(&numbers)),
            _ => Err(D::Error::custom("expected finite numbers with commas between them")),
        }
    }
}

/// The words between commas and spaces outside of parentheses, without quotes.
fn words(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let between = |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0 && (letter == ',' || letter.is_whitespace())
    };
    let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
    inside.split(between).map(|word| word.trim_matches(['"', '\''])).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Letter(&'static str);

    impl Named for Letter {
        const ALL: &'static [Self] = &[Self("a"), Self("(b,b)"), Self("c")];

        fn name(self) -> String {
            self.0.into()
        }
    }

    fn read<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, toml::de::Error> {
        T::deserialize(toml::Value::String(text.into()))
    }

    fn written(list: impl Serialize) -> String {
        toml::Value::try_from(list).unwrap().as_str().unwrap().to_string()
    }

    #[test]
    fn values_are_words_or_toml_in_the_order_of_all() {
        for text in ["c,(b,b)", "[\"c\", '(b,b)']", "(b,b) c", "c, c (b,b)"] {
            assert_eq!(read::<Chosen<Letter>>(text).unwrap(), Chosen::new(&[Letter("c"), Letter("(b,b)")]), "{text}");
        }
        assert_eq!(read::<Chosen<Letter>>("all").unwrap(), Chosen::all());
        assert_eq!(written(Chosen::new(&[Letter("c"), Letter("a")])), "a,c");
        assert_eq!(written(Chosen::<Letter>::all()), "all");
    }

    #[test]
    fn numbers_are_words_or_toml_each_once_and_written_as_short_as_can_be() {
        for text in ["1,1e-4,0.1", "[1, 1e-4, 1e-1]", "1 1e-4 1 0.1"] {
            assert_eq!(read::<Numbers>(text).unwrap(), Numbers::new(&[1.0, 1e-4, 0.1]), "{text}");
        }
        let numbers = Numbers::new(&[1.0, 1e-4, 0.1]);
        assert_eq!(written(&numbers), "1,1e-4,0.1");
        assert_eq!((numbers.as_slice(), numbers.increasing()), (&[1.0, 1e-4, 0.1][..], vec![1e-4, 0.1, 1.0]));
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["d", "", "a,d"] {
            let message = read::<Chosen<Letter>>(text).unwrap_err().to_string();
            assert!(message.contains("expected some of a, (b,b), c, or all"), "{message}");
        }
        for text in ["", "1,a", "inf", "1e-3;2"] {
            assert!(read::<Numbers>(text).unwrap_err().to_string().contains("expected finite numbers"), "{text}");
        }
        let error = Numbers::new(&[1.0, -2.0]).all("lambda_g", "numbers from 0", |number| number >= 0.0).unwrap_err();
        assert_eq!(error.to_string(), "config: lambda_g: expected numbers from 0, found -2");
    }
}
