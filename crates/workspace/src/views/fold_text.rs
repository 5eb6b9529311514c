//! The line that is shown in place of a closed fold: who wrote the message and how it begins, what a call did and what became
//! of it, how long the thinking is. A call has the same line as when it is open.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::views::{
    Drawing,
    card::{CardView, fold_mark},
    groups_of,
    look::{Chunk, Look, LookStyle, chunk, lines as line_count},
};
use flemma_chat::{self as chat, Folded};
use flemma_tools::preview;

/// The fewest cells in which the first words of a message say more than its number of lines.
const FEW_WORDS: usize = 24;

impl Drawing<'_> {
    pub(super) fn fold(&self, lines: &Range<usize>) -> Option<Look> {
        let Self { document, text, style, .. } = *self;
        let mut look = Look::default();
        let mark = |group| chunk(format!(" {} ", fold_mark(style.signs)), group);
        match chat::folded(document, lines, text)? {
            Folded::Frontmatter { language } => {
                look.left = vec![mark("FlemmaFoldSize"), chunk("frontmatter", "FlemmaFrontmatter")];
                add_words(&mut look, &language, "FlemmaFoldSize", style);
                look.right.push(line_count(lines.len()));
            }
            Folded::Message { speaker, words, tools } => {
                let (name, background) = groups_of(speaker);
                look.background = Some(background);
                look.left = vec![mark("FlemmaFoldSize"), chunk(speaker.as_str(), name)];
                look.right.push(line_count(lines.len()));
                let words = if words.is_empty() { tools.join(", ") } else { words };
                add_words(&mut look, &words, "FlemmaFold", style);
            }
            Folded::Thinking { lines: count } => {
                look.left = vec![mark("FlemmaThinking"), chunk("thinking", "FlemmaThinking")];
                look.right.push(if count == 0 { chunk("hidden ", "FlemmaFoldSize") } else { line_count(count) });
            }
            Folded::Captured { reference, about, lines: count, cut } => {
                look.left = vec![mark("FlemmaFoldSize")];
                let for_cut = cut.as_ref().map_or(0, |cut| cut.width() + 1);
                let room = style.width.saturating_sub(6 + for_cut);
                look.left.push(chunk(preview::clip(&reference, room), "FlemmaReference"));
                let about = without_path(&about, &reference);
                if let Some(cut) = cut {
                    // This is said before anything else.
                    look.right.push(chunk(format!("{cut} "), "FlemmaAborted"));
                    let beside = style.width.saturating_sub(cells(&look.left) + cells(&look.right) + 4);
                    if beside > 0 {
                        look.left.push(chunk(format!("  {}", preview::clip(about, beside)), "FlemmaFold"));
                    }
                } else {
                    look.right.push(line_count(count));
                    add_words(&mut look, about, "FlemmaFold", style);
                }
            }
            Folded::Card => {
                return chat::cards(document, lines.clone()).first().map(|card| self.card(card, CardView::Closed));
            }
        }
        Some(look)
    }
}

fn cells(chunks: &[Chunk]) -> usize {
    chunks.iter().map(|chunk| chunk.text.width()).sum()
}

/// Adds words that are cut where they do not fit. A few of them say more than the number of lines, which is left out then.
fn add_words(look: &mut Look, words: &str, group: &'static str, style: LookStyle) {
    let room = style.width.saturating_sub(cells(&look.left) + 2);
    let beside = room.saturating_sub(cells(&look.right) + 2);
    if words.width() > beside && beside < FEW_WORDS {
        look.right.clear();
        look.left.push(chunk(format!("  {}", preview::clip(words, room.saturating_sub(1))), group));
    } else if !words.is_empty() {
        look.left.push(chunk(format!("  {}", preview::clip(words, beside)), group));
    }
}

/// What a reference meant, without the path if the reference says it already.
fn without_path<'a>(about: &'a str, reference: &str) -> &'a str {
    let path = reference.trim_start_matches('@').split('#').next().unwrap_or_default();
    let path = path.split_once(':').map_or(path, |(_, path)| path);
    let paths = [path, path.trim_start_matches("./")];
    let rest = paths.iter().filter(|path| !path.is_empty()).find_map(|path| about.strip_prefix(path));
    rest.and_then(|rest| rest.strip_prefix([',', ':'])).map_or(about, str::trim_start)
}
