//! What can be told of a conversation from the beginning and the end of its file, without reading all of it.

use super::{Block, BlockKind, Document, ParsedMessage, Speaker, Status, Text};
use flemma_text::one_line;

/// The most characters of a title.
const MAX_TITLE: usize = 120;

/// What a file looks like at a glance. It informs only: what a call really waits for is decided elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// The first line of the user's first message, on one line; `None` if the beginning has none.
    pub title: Option<String>,
    /// The model that the file itself names in its frontmatter. Code is not run for it.
    pub model: Option<String>,
    /// Whether the last message has a call that waits, as the file says.
    pub is_waiting: bool,
}

impl Glance {
    /// How many bytes of the beginning, and of the end, are looked at.
    pub const BYTES: usize = 16 * 1024;

    /// The same in lines, for a text in memory.
    const LINES: usize = 400;

    /// Looks at the beginning and the end of a file, which overlap if it is short. Bytes of any kind will do.
    pub fn of(beginning: &[u8], end: &[u8]) -> Self {
        let lines = |bytes| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
        Self::of_lines(&lines(beginning), &lines(end))
    }

    /// Looks at the first and the last lines of a text.
    pub fn of_text(text: &dyn Text) -> Self {
        let count = text.line_count();
        let first = text.lines(0..count.min(Self::LINES));
        Self::of_lines(&first, &text.lines(count.saturating_sub(Self::LINES)..count))
    }

    fn of_lines(beginning: &[String], end: &[String]) -> Self {
        let document = Document::parse(&beginning);
        let last = end.iter().rposition(|line| line.starts_with("@You:")).unwrap_or(end.len());
        let waiting = Document::parse(&&end[last..]);
        Self {
            title: title(&document, beginning),
            model: model(&document, beginning),
            is_waiting: waiting.calls().placeholders().any(|(_, block, _)| block.status == Status::Pending),
        }
    }
}

/// The first line that says something in a message of the user's: of prose, or else of code.
fn title(document: &Document, text: &[String]) -> Option<String> {
    let own = |message: &&ParsedMessage| message.role == Speaker::You;
    let kinds: [fn(&Block) -> bool; 2] = [
        |block| matches!(block.kind, BlockKind::Text | BlockKind::Stray(_)),
        |block| matches!(block.kind, BlockKind::CodeFence(_)),
    ];
    let first_of = |message: &ParsedMessage, is_wanted: fn(&Block) -> bool| {
        let mut blocks = message.blocks.iter().filter(|block| is_wanted(block));
        blocks.find_map(|block| {
            let skipped = usize::from(matches!(block.kind, BlockKind::CodeFence(_)));
            message.lines_of(block).skip(skipped).find_map(|line| {
                let words = text.get(line)?;
                let words = if line == message.start { words.trim_start_matches("@You:") } else { words };
                let words = one_line(words, MAX_TITLE);
                (!words.is_empty()).then_some(words)
            })
        })
    };
    let mut messages = document.messages().iter().filter(own);
    messages.find_map(|message| kinds.into_iter().find_map(|kind| first_of(message, kind)))
}

/// The model in the frontmatter, where it stands there as a plain text.
fn model(document: &Document, text: &[String]) -> Option<String> {
    let matter = document.frontmatter().filter(|matter| matter.closed)?;
    let code = text.get(1..matter.lines.saturating_sub(1))?;
    let model = match matter.language.as_str() {
        "json" => {
            let options: serde_json::Value = serde_json::from_str(&code.join("\n")).ok()?;
            options.get("model")?.as_str()?.to_owned()
        }
        "lua" => code.iter().rev().find_map(|line| {
            let value = line.trim().strip_prefix("flemma.opt.model")?.trim_start().strip_prefix('=')?.trim_start();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            Some(value[1..].split_once(quote)?.0.to_owned())
        })?,
        _ => return None,
    };
    Some(one_line(&model, MAX_TITLE)).filter(|model| !model.is_empty())
}
