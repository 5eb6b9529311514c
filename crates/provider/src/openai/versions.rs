//! A call comes in several versions: where its item begins, in pieces, where they end, where the item ends, and in the list at the
//! end. Servers leave out any of them, and send some of them broken.

use serde_json::Value;

use crate::reply::{push_text, str_of, tool_input};
use flemma_model::{Event, ToolInput};
use flemma_text::Fence;

/// What one event says of a call.
#[derive(Clone, PartialEq)]
pub(super) struct Version {
    pub name: String,
    pub arguments: String,
}

impl Version {
    /// What `item` says.
    pub fn of(item: &Value) -> Self {
        Self { name: str_of(item, "name").to_owned(), arguments: str_of(item, "arguments").to_owned() }
    }

    pub fn input(&self) -> ToolInput {
        tool_input(self.arguments.clone(), Value::Null)
    }

    fn is_blank(&self) -> bool {
        self.arguments.trim().is_empty()
    }

    /// Whether `other` says the same, or less.
    pub fn allows(&self, other: &Self) -> bool {
        let is_part = other.is_blank() || self.arguments.starts_with(&other.arguments);
        (other.name.is_empty() || other.name == self.name) && (is_part || self.input() == other.input())
    }

    /// Keeps one as prose that another does not allow.
    pub fn keep(&self, events: &mut Vec<Event>) -> Result<(), &'static str> {
        push_text(format!("\n\n{}\n\n", Fence::enclose("", &format!("{} {}", self.name, self.arguments))), events);
        Err("a call in versions that differ")
    }
}

/// The call that is meant: the last version that is whole. Says so if another one contradicts it.
pub(super) fn last(versions: Vec<Version>, events: &mut Vec<Event>) -> (Version, Result<(), &'static str>) {
    let is_whole = |version: &Version| !version.is_blank() && matches!(version.input(), ToolInput::Json(_));
    let of = |fits: &dyn Fn(&Version) -> bool| versions.iter().rfind(|version| fits(version));
    let whole = of(&is_whole).or_else(|| of(&|version| !version.is_blank()));
    let last = Version {
        name: of(&|version| !version.name.is_empty()).map(|version| version.name.clone()).unwrap_or_default(),
        arguments: whole.map(|version| version.arguments.clone()).unwrap_or_default(),
    };
    let mut others: Vec<_> = versions.iter().filter(|version| !last.allows(version)).collect();
    others.dedup();
    let outcome = others.into_iter().fold(Ok(()), |_, other| other.keep(events));
    (last, outcome)
}
