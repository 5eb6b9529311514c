//! What can be wrong with options, in words that tell the user how to fix it.

use std::fmt;

use serde_json::Value;

/// How many characters of a wrong value a message shows.
const SHOWN: usize = 60;

/// One thing that is wrong with the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The whole path of the option, as `tools.auto_aprove`; nothing for the options themselves. List elements count from
    /// 1.
    pub path: String,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No option has this path; the whole path of the one that was probably meant.
    Unknown(Option<String>),
    /// The option exists and does not take this value.
    Wrong {
        /// What the option takes, as the end of "must be ...".
        expected: String,
        /// The value as JSON, cut short when it is long.
        found: String,
    },
    /// The option has to be set, because another one has no effect without it: what to, as the end of "set it to ...".
    Missing(String),
    /// The option says something that cannot be: why not, and what else.
    Odd(String),
}

impl Problem {
    /// The same problem, of an option that is in the table at `table`.
    pub fn inside(mut self, table: &str) -> Self {
        let move_in = |path: &mut String| {
            let gap = if path.is_empty() { "" } else { "." };
            path.insert_str(0, &format!("{table}{gap}"));
        };
        move_in(&mut self.path);
        if let Fault::Unknown(Some(meant)) = &mut self.fault {
            move_in(meant);
        }
        self
    }

    /// A value that the option at `path` does not take.
    pub fn wrong(path: &str, expected: impl Into<String>, found: &Value) -> Self {
        let json = found.to_string();
        let mut found: String = json.chars().take(SHOWN).collect();
        if found.len() < json.len() {
            found.push('…');
        }
        Self { path: path.to_owned(), fault: Fault::Wrong { expected: expected.into(), found } }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, fault } = self;
        match fault {
            Fault::Unknown(Some(meant)) => write!(f, "unknown option `{path}`; did you mean `{meant}`?"),
            Fault::Unknown(None) => write!(f, "unknown option `{path}`"),
            Fault::Wrong { expected, found } if path.is_empty() => {
                write!(f, "the options must be {expected}, not {found}")
            }
            Fault::Wrong { expected, found } => write!(f, "`{path}` must be {expected}, not {found}"),
            Fault::Missing(expected) => write!(f, "`{path}` is missing; set it to {expected}"),
            Fault::Odd(why) => write!(f, "`{path}`: {why}"),
        }
    }
}

/// Everything that is wrong with the options: never empty, in the order of the options' tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsError {
    /// The problems.
    pub problems: Vec<Problem>,
}

impl fmt::Display for OptionsError {
    /// One problem a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for OptionsError {}

impl From<OptionsError> for crate::UserError {
    fn from(error: OptionsError) -> Self {
        Self::new(error.to_string())
    }
}
