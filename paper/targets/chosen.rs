//! Some of the values of a type, as a setting: "all", "acdnet,oscnet", or ["acdnet", "oscnet"].

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A type with few values, each with a name.
pub trait Named: Copy + PartialEq + 'static {
    /// In their order.
    const ALL: &'static [Self];

    /// As in settings, files and CSV.
    fn name(self) -> String;
}

/// Some values, in the order of [`Named::ALL`], each once.
///
/// In settings it is a text, so that `--set networks=acdnet,oscnet` needs no quotes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen<T>(Vec<T>);

impl<T: Named> Chosen<T> {
    /// Those of all values that are wanted.
    pub fn new(wanted: &[T]) -> Self {
        Self(T::ALL.iter().copied().filter(|value| wanted.contains(value)).collect())
    }

    /// Every value.
    pub fn all() -> Self {
        Self(T::ALL.to_vec())
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied()
    }

    /// In order.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// Whether it is among them.
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
        let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
        let words: Vec<&str> = apart(inside).into_iter().map(|word| word.trim_matches(['"', '\'', ' '])).collect();
        let names: Vec<String> = T::ALL.iter().map(|&value| value.name()).collect();
        let known = |word: &&str| *word == "all" || names.iter().any(|name| name == word);
        if words.is_empty() || !words.iter().all(known) {
            return Err(D::Error::custom(format!("expected some of {}, or all", names.join(", "))));
        }
        let wanted = |name: &String| words.iter().any(|word| *word == "all" || word == name);
        Ok(Self(T::ALL.iter().zip(&names).filter(|(_, name)| wanted(name)).map(|(&value, _)| value).collect()))
    }
}

/// The words between commas and spaces outside of parentheses.
fn apart(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let between = |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0 && (letter == ',' || letter.is_whitespace())
    };
    text.split(between).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Letter {
        A,
        B,
        C,
    }

    impl Named for Letter {
        const ALL: &'static [Self] = &[Self::A, Self::B, Self::C];

        fn name(self) -> String {
            match self {
                Self::A => "a".into(),
                Self::B => "(b,b)".into(),
                Self::C => "c".into(),
            }
        }
    }

    fn read(text: &str) -> Result<Chosen<Letter>, toml::de::Error> {
        Chosen::deserialize(toml::Value::String(text.into()))
    }

    #[test]
    fn a_list_is_words_or_toml_in_the_order_of_all() {
        for text in ["c,(b,b)", "[\"c\", '(b,b)']", "(b,b) c", "c, c (b,b)"] {
            assert_eq!(read(text).unwrap(), Chosen::new(&[Letter::C, Letter::B]), "{text}");
        }
        assert_eq!(read("all").unwrap(), Chosen::all());
        let text = |chosen: Chosen<Letter>| toml::Value::try_from(chosen).unwrap().as_str().unwrap().to_string();
        assert_eq!(text(Chosen::new(&[Letter::C, Letter::A])), "a,c");
        assert_eq!(text(Chosen::all()), "all");
    }

    #[test]
    fn what_is_no_value_is_refused_with_all_of_them() {
        for text in ["d", "", "a,d"] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains("expected some of a, (b,b), c, or all"), "{message}");
        }
    }
}
