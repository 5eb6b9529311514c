//! A call comes in several versions: where its item begins, in pieces, where they end, where the item ends, and in the list at the
//! end. Servers leave out any of them, and send some of them broken.

use serde_json::Value;

use crate::{
    call_input::{UNKNOWN, take_input, tool_input},
    reply::{push_text, text_of},
};
use flemma_model::{Event, ToolInput};
use flemma_text::Fence;

/// What one event says of a call.
#[derive(Clone, PartialEq)]
pub(super) struct Version {
    pub name: String,
    pub arguments: String,
    /// They are what has no known name.
    pub is_unknown: bool,
}

impl Version {
    /// What `item` says.
    pub fn of(mut item: Value) -> Self {
        let (arguments, is_known) = match take_input(&mut item) {
            (Value::Null, is_known) => (String::new(), is_known),
            (Value::String(text), is_known) => (text, is_known),
            (other, is_known) => (other.to_string(), is_known),
        };
        Self { name: text_of(&mut item, "name").unwrap_or_default(), arguments, is_unknown: !is_known }
    }

    pub fn input(&self) -> ToolInput {
        tool_input(self.arguments.clone(), Value::Null)
    }

    fn is_blank(&self) -> bool {
        self.arguments.trim().is_empty()
    }

    /// Whether `other` says the same, or less.
    pub fn allows(&self, other: &Self) -> bool {
        let is_part = other.is_blank() || other.is_unknown || self.arguments.starts_with(&other.arguments);
        (other.name.is_empty() || other.name == self.name) && (is_part || self.input() == other.input())
    }

    /// Keeps one as prose that another does not allow.
    pub fn keep(&self, events: &mut Vec<Event>) -> &'static str {
        push_text(format!("\n\n{}\n\n", Fence::enclose("", &format!("{} {}", self.name, self.arguments))), events);
        "a call in versions that differ"
    }
}

/// The call that is meant: the last version that is whole. Says so if another one contradicts it.
pub(super) fn last(versions: &[Version], events: &mut Vec<Event>) -> (Version, Option<&'static str>) {
    let is_whole = |version: &Version| !version.is_blank() && matches!(version.input(), ToolInput::Json(_));
    let of = |fits: &dyn Fn(&Version) -> bool| versions.iter().rfind(|version| fits(version));
    let whole = of(&|version| is_whole(version) && !version.is_unknown)
        .or_else(|| of(&is_whole))
        .or_else(|| of(&|version| !version.is_blank()));
    let last = Version {
        name: of(&|version| !version.name.is_empty()).map(|version| version.name.clone()).unwrap_or_default(),
        arguments: whole.map(|version| version.arguments.clone()).unwrap_or_default(),
        is_unknown: whole.is_some_and(|version| version.is_unknown),
    };
    let mut others: Vec<_> = versions.iter().filter(|version| !last.allows(version)).collect();
    others.dedup();
    let fault = last.is_unknown.then_some(UNKNOWN);
    let fault = others.into_iter().fold(fault, |_, other| Some(other.keep(events)));
    (last, fault)
}
