//! `Options`: what the command line asks of a service. Values are texts here; each is checked where it is used.

use std::collections::HashMap;
use std::path::PathBuf;

use lexopt::Arg;

use crate::key;
use crate::place::Place;

/// An option, as it is declared.
pub struct Form {
    pub name: &'static str,
    /// What its value is; `None`: it has none.
    pub value: Option<&'static str>,
    pub help: &'static str,
}

const OF_ALL: [Form; 3] = [
    Form {
        name: "at",
        value: Some("ADDRESS[@NAMESPACE]"),
        help: "local address (default: any)",
    },
    Form {
        name: "port",
        value: Some("PORT"),
        help: "port (0: any free one)",
    },
    Form {
        name: "attached",
        value: None,
        help: "end when standard input ends, as it does when the program that started this one is gone",
    },
];

/// The options that every service has.
pub fn of_all() -> impl Iterator<Item = &'static Form> {
    OF_ALL.iter()
}

#[derive(Debug, Default)]
pub struct Options {
    values: HashMap<&'static str, String>,
    default_port: u16,
}

impl Options {
    /// Reads the words after the service's name. An option without a value may be given one by `--name=value` if its form
    /// begins with '['.
    pub fn parse(
        service: &str,
        forms: &'static [Form],
        default_port: u16,
        words: impl Iterator<Item = String>,
    ) -> Result<Self, String> {
        let mut found = Options {
            default_port,
            ..Options::default()
        };
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser
            .next()
            .map_err(|error| format!("{error}; see --help"))?
        {
            let Arg::Long(name) = word else {
                return Err(format!("{}; see --help", word.unexpected()));
            };
            let known = of_all().chain(forms).find(|one| one.name == name);
            let Some(form) = known else {
                return Err(format!(
                    "--{name}: there is no such option; see 'keisoku-far {service} --help'"
                ));
            };
            let value = match form.value {
                None => Ok(String::new()),
                Some(value) if value.starts_with('[') => Ok(parser
                    .optional_value()
                    .map(|one| one.to_string_lossy().into_owned())
                    .unwrap_or_default()),
                Some(_) => parser
                    .value()
                    .map(|one| one.to_string_lossy().into_owned())
                    .map_err(|error| format!("{error}; see --help")),
            };
            found.values.insert(form.name, value?);
        }
        Ok(found)
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Of an option for a port; an empty value and none are `default`.
    pub fn port_of(&self, name: &str, default: u16) -> Result<u16, String> {
        match self.text(name) {
            None | Some("") => Ok(default),
            Some(text) => text.parse().map_err(|_| {
                format!("--{name}: '{text}' is no port; give a number from 0 to 65535")
            }),
        }
    }

    pub fn port(&self) -> Result<u16, String> {
        self.port_of("port", self.default_port)
    }

    pub fn place(&self) -> Result<Place, String> {
        Place::parse(self.text("at").unwrap_or(""))
    }

    /// The key in the file that `--key-file` names.
    pub fn key(&self) -> Result<Option<Vec<u8>>, String> {
        self.text("key-file")
            .map(|path| key::read(&PathBuf::from(path)))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, String> {
        const FORMS: &[Form] = &[Form {
            name: "loud",
            value: Some("[HOW]"),
            help: "",
        }];
        Options::parse("one", FORMS, 7, words.iter().map(ToString::to_string))
    }

    #[test]
    fn options_are_read_and_others_refused() {
        let options = parsed(&["--at", "::1", "--port=0", "--attached"]).unwrap();
        assert_eq!((options.text("at"), options.port()), (Some("::1"), Ok(0)));
        assert!(options.has("attached") && !options.has("loud"));
        assert_eq!(parsed(&[]).unwrap().port(), Ok(7));
        let loud = |words| parsed(words).unwrap().text("loud").map(str::to_owned);
        assert_eq!(loud(&["--loud", "--port=1"]), Some(String::new()));
        assert_eq!(loud(&["--loud=very"]), Some("very".into()));
        for (words, said) in [
            (&["--nothing"][..], "--nothing: there is no such option"),
            (&["--port"], "missing argument"),
            (&["word"], "unexpected argument"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        for text in ["70000", "-1", "one"] {
            let options = parsed(&["--port", text]).unwrap();
            assert!(options.port().unwrap_err().contains("is no port"));
        }
    }
}
