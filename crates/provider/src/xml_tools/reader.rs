//! Finds calls in a reply as it arrives.
//!
//! A call is in a code block of XML whose first element is `<tools>` or `<tool>`, and which is in nothing else: not in other
//! code, the line of an item, a comment, or thinking that is written as prose. Everything else is text. Where it is not certain what
//! a block was in, its calls wait for the user. Text passes at once, except for the start of a line that may open a block; a block
//! is kept back until its end.

use std::{mem, sync::Arc};

use super::values;
use crate::{
    ToolSpec,
    call_input::unreadable,
    reply::{made_up_id, push_text},
};
use flemma_model::{Event, ToolInput};
use flemma_text::{
    Fence,
    code_span::read_code_span,
    xml::{self, Element},
};

/// The longest start of a line that is kept back because it may open a block, in bytes.
const LONGEST_OPENING: usize = 64;

/// What a call of a tool without a name is called.
const NAMELESS: &str = "tool";

/// What is in prose and is none, by its first characters and its last, in lower case.
const ASIDES: [(&str, &str); 6] = [
    ("<!--", "-->"),
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[think]", "[/think]"),
];

/// What is wrong with calls before the end of thinking that has no beginning.
pub(super) const MAY_BE_THINKING: &str = "The model may only have thought of them.";

/// What the user is told of a call that is text because something before it has no end.
const AS_TEXT: &str =
    "The model has written a call in a comment, in thinking or in other code that does not end, and it was not run.";

/// Where the reply is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In prose.
    Prose,
    /// In a comment or in thinking, up to this.
    Aside(&'static str),
    /// In a code block that is text.
    Code(Fence),
    /// In a block of XML that may be calls.
    Opening(Fence),
    /// In a block of calls.
    Calls(Fence),
}

/// Reads a reply.
#[derive(Debug)]
pub(super) struct CallReader {
    tools: Arc<[ToolSpec]>,
    place: Place,
    /// The current line, as far as it has arrived.
    line: String,
    /// How much of the current line has passed.
    passed: usize,
    /// What is kept back of the block: its first line, and its content.
    opening: String,
    body: String,
    calls: usize,
    /// A call began in what is still open.
    has_text_call: bool,
    /// Why the calls are not certain.
    pub(super) doubt: Option<String>,
}

impl CallReader {
    pub(super) fn new(tools: Arc<[ToolSpec]>) -> Self {
        Self {
            tools,
            place: Place::Prose,
            line: String::new(),
            passed: 0,
            opening: String::new(),
            body: String::new(),
            calls: 0,
            has_text_call: false,
            doubt: None,
        }
    }

    /// Whether the reply has calls.
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// More of the reply.
    pub(super) fn read(&mut self, piece: &str, events: &mut Vec<Event>) {
        for part in piece.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                self.end_line(events);
            } else {
                self.pass_start(events);
            }
        }
        if let Place::Calls(_) = self.place {
            let name = guess_name(&self.body).unwrap_or(NAMELESS).to_owned();
            events.push(Event::ToolUseProgress { name, bytes: self.body.len() + self.line.len() });
        }
    }

    /// The reply is over, or something else than text follows. A block that is open ends.
    pub(super) fn end(&mut self, events: &mut Vec<Event>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        match mem::replace(&mut self.place, Place::Prose) {
            Place::Calls(_) => self.finish(events),
            Place::Opening(_) => self.give_up(events),
            Place::Code(_) | Place::Aside(_) if mem::take(&mut self.has_text_call) => {
                events.push(Event::Warning(AS_TEXT.to_owned()));
            }
            Place::Prose | Place::Code(_) | Place::Aside(_) => {}
        }
    }

    /// Lets the start of a line pass that cannot open or close a block.
    fn pass_start(&mut self, events: &mut Vec<Event>) {
        let is_text = matches!(self.place, Place::Prose | Place::Code(_) | Place::Aside(_));
        let may_be_fence = self.line.len() < LONGEST_OPENING && may_be_fence(&self.line);
        if is_text && !may_be_fence {
            push_text(self.line[self.passed..].to_owned(), events);
            self.passed = self.line.len();
        }
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let line = mem::take(&mut self.line);
        let passed = mem::take(&mut self.passed);
        let bare = line.trim_end_matches(['\n', '\r']);
        match self.place {
            Place::Prose => match Fence::open(in_item(bare)) {
                Some((fence, info)) if passed == 0 && is_xml(info) && in_item(bare) == bare => {
                    self.place = Place::Opening(fence);
                    self.opening = line;
                }
                Some((fence, _)) => self.pass(Place::Code(fence), &line, passed, events),
                None => {
                    if self.calls > 0 && ASIDES[1..].iter().any(|(_, close)| bare.trim() == *close) {
                        self.doubt = Some(MAY_BE_THINKING.to_owned());
                    }
                    self.pass(behind(bare, None), &line, passed, events);
                }
            },
            Place::Code(fence) if fence.closes(bare) => self.pass(Place::Prose, &line, passed, events),
            Place::Code(_) => self.pass(self.place, &line, passed, events),
            Place::Aside(close) => self.pass(behind(bare, Some(close)), &line, passed, events),
            Place::Opening(fence) => {
                let is_closed = fence.closes(bare);
                self.body.push_str(&line);
                match begins_calls(&self.body) {
                    Some(true) => self.place = Place::Calls(fence),
                    None if !is_closed => {}
                    Some(false) | None => {
                        self.place = if is_closed { Place::Prose } else { Place::Code(fence) };
                        self.give_up(events);
                    }
                }
            }
            // A line in a CDATA section may look like the end of the block.
            Place::Calls(fence) if fence.closes(bare) && !is_in_cdata(&self.body) => {
                self.place = Place::Prose;
                self.finish(events);
            }
            Place::Calls(_) => self.body.push_str(&line),
        }
    }

    /// Lets a line of text pass, behind which is `place`.
    fn pass(&mut self, place: Place, line: &str, passed: usize, events: &mut Vec<Event>) {
        self.place = place;
        self.has_text_call = !matches!(place, Place::Prose) && (self.has_text_call || guess_name(line).is_some());
        push_text(line[passed..].to_owned(), events);
    }

    /// The block is text.
    fn give_up(&mut self, events: &mut Vec<Event>) {
        push_text(mem::take(&mut self.opening), events);
        push_text(mem::take(&mut self.body), events);
    }

    /// The block is complete.
    fn finish(&mut self, events: &mut Vec<Event>) {
        self.opening.clear();
        let body = mem::take(&mut self.body);
        let Ok(roots) = xml::parse(&body) else {
            // The model is told what is wrong with it.
            let name = guess_name(&body).unwrap_or(NAMELESS).to_owned();
            return self.push(name, ToolInput::Malformed(body), events);
        };
        let tools = roots.iter().flat_map(|root| match root.name.as_str() {
            "tools" => root.children().collect(),
            _ => vec![root],
        });
        for tool in tools.filter(|element| element.name == "tool") {
            let name = tool_name(tool).unwrap_or(NAMELESS).to_owned();
            let schema = self.tools.iter().find(|spec| spec.name == name).map(|spec| Arc::clone(&spec.input_schema));
            for input in values::inputs(tool, schema.as_deref(), &body) {
                self.push(name.clone(), ToolInput::Json(input), events);
            }
        }
    }

    fn push(&mut self, name: String, input: ToolInput, events: &mut Vec<Event>) {
        self.calls += 1;
        if let Some(what) = unreadable(&input) {
            self.doubt = Some(format!("A part of the reply may be missing: {what}."));
        }
        events.push(Event::ToolUse { id: made_up_id("xml"), name, input });
    }
}

/// The line without what makes it the item of a list.
fn in_item(line: &str) -> &str {
    let start = line.trim_start_matches(' ');
    let mark = start.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let item = mark.strip_prefix(['-', '*', '+', '.', ')']).filter(|item| item.starts_with(' '));
    item.map_or(line, str::trim_start)
}

/// Where a line ends that begins in prose, or in what ends with `open`.
fn behind(line: &str, mut open: Option<&'static str>) -> Place {
    let line = line.to_ascii_lowercase();
    let mut rest = line.as_str();
    while !rest.is_empty() {
        let aside = ASIDES.iter().find(|(begin, _)| rest.starts_with(begin));
        (rest, open) = match (open, aside) {
            (Some(close), _) => match rest.split_once(close) {
                Some((_, rest)) => (rest, None),
                None => return Place::Aside(close),
            },
            (None, Some((begin, close))) => (&rest[begin.len()..], Some(*close)),
            (None, None) => {
                let skipped = rest.strip_prefix(|letter| letter != '`').unwrap_or(rest.trim_start_matches('`'));
                (read_code_span(rest).map_or(skipped, |(_, rest)| rest), None)
            }
        };
    }
    open.map_or(Place::Prose, Place::Aside)
}

/// Whether a line that begins like this may be a fence.
fn may_be_fence(start: &str) -> bool {
    let marks = start.trim_start_matches(' ');
    marks.is_empty() || marks.starts_with(['`', '~'])
}

fn is_xml(info: &str) -> bool {
    info.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("xml"))
}

/// Whether a block begins with calls; `None` while that is not known.
fn begins_calls(body: &str) -> Option<bool> {
    let mut rest = body.trim_start();
    // A declaration, and comments.
    while rest.starts_with("<?") || rest.starts_with("<!--") {
        let end = if rest.starts_with("<?") { "?>" } else { "-->" };
        rest = rest[rest.find(end)? + end.len()..].trim_start();
    }
    if rest.is_empty() {
        return None;
    }
    let name = rest.strip_prefix('<')?;
    let end = name.find(|letter: char| letter.is_whitespace() || matches!(letter, '>' | '/')).unwrap_or(name.len());
    Some(matches!(&name[..end], "tools" | "tool"))
}

fn is_in_cdata(body: &str) -> bool {
    body.rfind("<![CDATA[").is_some_and(|start| !body[start..].contains("]]>"))
}

/// The name in the last `<tool name="…">`, also where the XML is not complete.
fn guess_name(body: &str) -> Option<&str> {
    let tag = &body[body.rfind("<tool ")?..];
    let value = tag.split_once("name=")?.1;
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let name = value[1..].split_once(quote)?.0;
    (!name.is_empty() && !name.contains(['<', '>'])).then_some(name)
}

/// The tool that an element calls: its attribute, or what some models write as an element.
fn tool_name(tool: &Element) -> Option<&str> {
    tool.attribute("name").map(str::trim).filter(|name| !name.is_empty())
}
