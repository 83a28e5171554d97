//! Where the models of a reproduction were trained: each keeps the session that trained it.

use serde_json::{Value, json};

use reynolds_train::environment::Environment;

/// Sessions by time, each with the number of its models.
#[derive(Debug, Clone)]
pub(crate) struct Provenance {
    sessions: Vec<(Environment, usize)>,
    /// Models without a record of where they were trained.
    unknown: usize,
}

impl Provenance {
    /// Of these models, or `now` where there are none.
    pub(crate) fn new(models: impl IntoIterator<Item = Option<Environment>>, now: Environment) -> Self {
        let mut all = Self { sessions: Vec::new(), unknown: 0 };
        for environment in models {
            match environment {
                None => all.unknown += 1,
                Some(environment) => match all.sessions.iter_mut().find(|(session, _)| *session == environment) {
                    Some((_, models)) => *models += 1,
                    None => all.sessions.push((environment, 1)),
                },
            }
        }
        all.sessions.sort_by(|a, b| a.0.time.cmp(&b.0.time));
        if all.sessions.is_empty() && all.unknown == 0 {
            all.sessions.push((now, 0));
        }
        all
    }

    /// The device of the first session; "cpu", the default, if it is not known.
    pub(crate) fn device(&self) -> &str {
        self.sessions.first().map_or("cpu", |(session, _)| session.device.as_str())
    }

    /// The first session, with the later ones under "resumed".
    pub(crate) fn json(&self) -> Value {
        let of = |(session, models): &(Environment, usize)| {
            let mut value = json!(session);
            value["models"] = json!(models);
            value
        };
        let mut sessions = self.sessions.iter().map(of);
        let mut value = sessions.next().unwrap_or_else(|| json!({}));
        let later: Vec<Value> = sessions.collect();
        if !later.is_empty() {
            value["resumed"] = later.into();
        }
        if self.unknown > 0 {
            value["models_of_unknown_origin"] = json!(self.unknown);
        }
        value
    }

    /// Known facts for a page; "cuda:0 (40 models), cpu (2 models)" where sessions differ.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        type Field = fn(&Environment) -> &str;
        let fields: [(&'static str, Field); 6] = [
            ("time", |session| &session.time),
            ("commit", |session| &session.commit),
            ("device", |session| &session.device),
            ("processor", |session| &session.processor),
            ("reynolds", |session| &session.reynolds),
            ("libtorch", |session| &session.libtorch),
        ];
        fields.into_iter().map(|(name, field)| (name, self.spelt(field))).filter(|(_, text)| !text.is_empty()).collect()
    }

    /// A sentence on the origins of models, if they differ in device, commit or library, or are not all known.
    pub(crate) fn mixed(&self) -> Option<String> {
        let same = |a: &Environment, b: &Environment| {
            (&a.device, &a.commit, &a.libtorch, &a.processor) == (&b.device, &b.commit, &b.libtorch, &b.processor)
        };
        let differ = self.sessions.windows(2).any(|pair| !same(&pair[0].0, &pair[1].0));
        (differ || self.unknown > 0).then(|| {
            let of = |session: &Environment| match session.commit.get(..7) {
                Some(commit) => format!("{} at {commit}", session.device),
                None => session.device.clone(),
            };
            format!("models of several origins: {}", self.grouped(of))
        })
    }

    fn spelt(&self, part: impl Fn(&Environment) -> &str) -> String {
        match self.sessions.first() {
            Some((first, _))
                if self.unknown == 0 && self.sessions.iter().all(|(other, _)| part(other) == part(first)) =>
            {
                part(first).into()
            }
            Some(_) => self.grouped(|session| part(session).to_string()),
            None => String::new(),
        }
    }

    fn grouped(&self, part: impl Fn(&Environment) -> String) -> String {
        let mut groups: Vec<(String, usize)> = Vec::new();
        let sessions = self.sessions.iter().map(|(session, models)| (part(session), *models));
        let unknown = (self.unknown > 0).then(|| ("unknown".to_string(), self.unknown));
        for (text, models) in sessions.chain(unknown) {
            let text = if text.is_empty() { "unknown".into() } else { text };
            match groups.iter_mut().find(|(other, _)| *other == text) {
                Some((_, count)) => *count += models,
                None => groups.push((text, models)),
            }
        }
        let counted =
            |(text, count): &(String, usize)| format!("{text} ({count} model{})", if *count == 1 { "" } else { "s" });
        groups.iter().map(counted).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use reynolds_torch::tch::Device;

    use super::*;

    fn session(device: Device, time: &str) -> Environment {
        Environment { time: time.into(), commit: "0123456789".into(), ..Environment::now(device) }
    }

    #[test]
    fn models_keep_the_session_that_trained_them() {
        let (first, second) = (session(Device::Cuda(0), "1"), session(Device::Cpu, "2"));
        let now = session(Device::Cpu, "3");
        let one = Provenance::new(vec![Some(first.clone()); 2], now.clone());
        assert_eq!((one.device(), one.mixed()), ("cuda:0", None));
        assert_eq!((&one.json()["time"], &one.json()["models"]), (&json!("1"), &json!(2)));
        let models = [Some(second), Some(first.clone()), Some(first)];
        let two = Provenance::new(models, now.clone());
        let expected = "models of several origins: cuda:0 at 0123456 (2 models), cpu at 0123456 (1 model)";
        assert_eq!(two.mixed().as_deref(), Some(expected));
        assert_eq!((&two.json()["device"], &two.json()["resumed"][0]["device"]), (&json!("cuda:0"), &json!("cpu")));
        assert!(two.facts().contains(&("device", "cuda:0 (2 models), cpu (1 model)".into())));
        assert!(two.facts().contains(&("commit", "0123456789".into())));
        assert_eq!(Provenance::new([], now).json()["time"], "3");
    }

    #[test]
    fn models_without_a_record_are_of_unknown_origin() {
        let old = Provenance::new([None, None], session(Device::Cpu, "3"));
        assert_eq!(old.json(), json!({ "models_of_unknown_origin": 2 }));
        assert_eq!(
            (old.mixed().as_deref(), old.facts().len()),
            (Some("models of several origins: unknown (2 models)"), 0)
        );
    }
}
