//! What can be wrong with options, in words that tell the user how to fix it.

use std::fmt;

use serde_json::Value;

/// How many characters of a wrong value a message shows.
const SHOWN: usize = 60;

/// One thing that is wrong with the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No option has this path.
    Unknown {
        /// The whole path, as `tools.auto_aprove`.
        path: String,
        /// The whole path of the option that was probably meant.
        meant: Option<String>,
    },
    /// The option exists and does not take this value.
    Wrong {
        /// The whole path, or nothing for the options themselves. List elements count from 1.
        path: String,
        /// What the option takes, as the end of "must be ...".
        expected: String,
        /// The value as JSON, cut short when it is long.
        found: String,
    },
    /// The option has to be set, because another one has no effect without it.
    Missing {
        /// The whole path.
        path: String,
        /// What to set it to, as the end of "set it to ...".
        expected: String,
    },
    /// The option says something that cannot be.
    Odd {
        /// The whole path.
        path: String,
        /// Why not, and what else.
        why: String,
    },
}

impl Problem {
    /// The same problem, of an option that is in the table at `table`.
    pub fn inside(self, table: &str) -> Self {
        let join = |path: String| if path.is_empty() { table.to_owned() } else { format!("{table}.{path}") };
        match self {
            Self::Unknown { path, meant } => Self::Unknown { path: join(path), meant: meant.map(join) },
            Self::Wrong { path, expected, found } => Self::Wrong { path: join(path), expected, found },
            Self::Missing { path, expected } => Self::Missing { path: join(path), expected },
            Self::Odd { path, why } => Self::Odd { path: join(path), why },
        }
    }

    /// A value that the option at `path` does not take.
    pub fn wrong(path: &str, expected: impl Into<String>, found: &Value) -> Self {
        let json = found.to_string();
        let mut found: String = json.chars().take(SHOWN).collect();
        if found.len() < json.len() {
            found.push('…');
        }
        Self::Wrong { path: path.to_owned(), expected: expected.into(), found }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { path, meant: Some(meant) } => {
                write!(f, "unknown option `{path}`; did you mean `{meant}`?")
            }
            Self::Unknown { path, meant: None } => write!(f, "unknown option `{path}`"),
            Self::Wrong { path, expected, found } if path.is_empty() => {
                write!(f, "the options must be {expected}, not {found}")
            }
            Self::Wrong { path, expected, found } => write!(f, "`{path}` must be {expected}, not {found}"),
            Self::Missing { path, expected } => write!(f, "`{path}` is missing; set it to {expected}"),
            Self::Odd { path, why } => write!(f, "`{path}`: {why}"),
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
