//! Whatever is done to a file, a stranger's line never becomes the user's own, and a stranger's approval never theirs.
//!
//! A model of the buffer knows of each line whether anything in it came from somebody else, and whether the user made it
//! say `approved`. Random edits, moves, joins, sorts, undo, files and commands read in and replies are done to both, in
//! the changes that Neovim reports for them.

use std::{collections::HashSet, ops::Range};

use flemma_chat::{Author, Change, Document, Provenance};
use proptest::prelude::*;

use super::notation::Page;

#[derive(Clone, Debug, PartialEq)]
struct Line {
    text: String,
    /// Something in it was written by somebody else.
    foreign: bool,
    /// The user's own edit made it say `approved`, and it has said so since.
    approved: bool,
}

impl Line {
    fn new(text: impl Into<String>, foreign: bool) -> Self {
        let text = text.into();
        // Nobody's: there is nothing in it that could name anything.
        let empty = text.trim() == "@You:" || !text.bytes().any(|byte| byte.is_ascii_alphanumeric());
        Self { foreign: foreign && !empty, text, approved: false }
    }

    fn says(&self) -> bool {
        self.text.contains("approved")
    }

    fn join(&self, other: &Self) -> Self {
        let text = format!("{} {}", self.text, other.text);
        Self { approved: self.approved, ..Self::new(text, self.foreign || other.foreign) }
    }
}

struct Buffer {
    lines: Vec<Line>,
    text: Vec<String>,
    document: Document,
    provenance: Provenance,
    step: u64,
    /// States that undo can go back to.
    states: Vec<Vec<Line>>,
    /// What was deleted last, to be put somewhere else.
    register: Vec<Line>,
    /// Every line that the user typed. Who typed the same as a stranger has written it.
    typed: HashSet<String>,
    words: u64,
}

impl Buffer {
    fn opened(lines: Vec<Line>) -> Self {
        let mut buffer = Self {
            lines: Vec::new(),
            text: Vec::new(),
            document: Document::default(),
            provenance: Provenance::default(),
            step: 0,
            states: Vec::new(),
            register: Vec::new(),
            typed: HashSet::new(),
            words: 0,
        };
        buffer.change(Author::Stranger, 0..0, lines);
        buffer
    }

    fn change(&mut self, author: Author, range: Range<usize>, with: Vec<Line>) {
        let change = Change { first: range.start, old_last: range.end, new_last: range.start + with.len() };
        self.text.splice(range.clone(), with.iter().map(|line| line.text.clone()));
        self.lines.splice(range, with);
        self.provenance.follow(&mut self.document, change, author, &self.text);
    }

    /// What one command makes of a line: a word more, or an approval.
    fn edit(&mut self, at: usize, approves: bool) -> Line {
        let old = self.lines[at].clone();
        let text = if approves {
            old.text.replace("pending", "approved")
        } else {
            format!("{} {}", old.text, self.word("mine"))
        };
        if !approves {
            self.typed.insert(text.trim().to_owned());
        }
        let approved = old.approved || (text != old.text && !old.says() && approves);
        let foreign = old.foreign && !self.typed.contains(text.trim());
        Line { text, approved, foreign }
    }

    /// The user changes single lines in one command. The authors hear of it when all are changed, and of another change
    /// that may follow as one with them. The lines go up, or down.
    fn burst(&mut self, lines: &[usize], approves: bool, then: Option<(Range<usize>, Vec<Line>)>) {
        let (Some(low), Some(high)) = (lines.iter().min().copied(), lines.iter().max().copied()) else { return };
        for &at in lines {
            let line = self.edit(at, approves);
            self.text[at].clone_from(&line.text);
            self.lines[at] = line;
        }
        let Some((range, mut with)) = then else {
            for &at in lines {
                self.provenance.follow_lines(&mut self.document, at..at + 1, self.step, &self.text);
            }
            return;
        };
        // What nobody has looked at is deleted, to be put somewhere else.
        self.register = self.lines[range.clone()].to_vec();
        with.iter_mut().for_each(|line| line.foreign &= !self.typed.contains(line.text.trim()));
        self.provenance.missed(range.start.max(low)..range.end.min(high + 1));
        let (first, old_last) = (range.start.min(low), range.end.max(high + 1));
        let new_last = old_last - range.len() + with.len();
        self.text.splice(range.clone(), with.iter().map(|line| line.text.clone()));
        self.lines.splice(range, with);
        let change = Change { first, old_last, new_last };
        self.provenance.follow(&mut self.document, change, Author::User { step: self.step }, &self.text);
    }

    /// The user types a line over another one.
    fn type_over(&mut self, at: usize, line: Line) {
        self.typed.insert(line.text.trim().to_owned());
        self.user(at..at + 1, vec![line]);
    }

    /// A change of the user's, in the step of undo that is going on.
    fn user(&mut self, range: Range<usize>, mut with: Vec<Line>) {
        with.iter_mut().for_each(|line| line.foreign &= !self.typed.contains(line.text.trim()));
        self.change(Author::User { step: self.step }, range, with);
    }

    fn word(&mut self, who: &str) -> String {
        self.words += 1;
        format!("{who}{}()", self.words)
    }

    /// Undo or redo to another state: one change, or two when `split` falls into it.
    fn travel(&mut self, to: &[Line], split: usize) {
        let same = |(old, new): &(&Line, &Line)| old.text == new.text;
        let before = self.lines.iter().zip(to).take_while(same).count();
        let behind = self.lines[before..].iter().rev().zip(to[before..].iter().rev()).take_while(same).count();
        let old = before..self.lines.len() - behind;
        // What comes back by undo is no approval, whoever made it.
        let back = |line: &Line| Line { approved: false, ..line.clone() };
        let new: Vec<Line> = to[before..to.len() - behind].iter().map(back).collect();
        let both = old.len().min(new.len());
        if both > 1 {
            let middle = 1 + split % (both - 1);
            self.user(old.start + middle..old.end, new[middle..].to_vec());
            self.user(old.start..old.start + middle, new[..middle].to_vec());
        } else {
            self.user(old, new);
        }
        self.provenance.undone(&self.text);
    }

    fn act(&mut self, action: u8, a: usize, b: usize) {
        let count = self.lines.len();
        let (at, other) = (a % (count + 1), b % (count + 1));
        let line = a % count.max(1);
        let range = at.min(other)..at.max(other);
        self.states.push(self.lines.clone());
        self.step += 1;
        match action {
            // Typing.
            0 => {
                let word = self.word("mine");
                self.user(at..at, vec![Line::new("", false)]);
                self.type_over(at, Line::new(word, false));
            }
            1 if count > 0 => {
                let mut new = self.lines[line].clone();
                new.text = format!("{} {}", new.text, self.word("mine"));
                self.type_over(line, new);
            }
            // `cc`, and typing anew; perhaps letter for letter what stood there.
            2 if count > 0 => {
                let old = &self.lines[line].text;
                let word = if b.is_multiple_of(2) || old.contains("flemma") || old.contains("approved") {
                    self.word("mine")
                } else {
                    old.clone()
                };
                self.user(line..line + 1, vec![Line::new("", false)]);
                for end in 1..=word.len() {
                    self.type_over(line, Line::new(&word[..end], false));
                }
            }
            // Putting own lines, and putting what was deleted.
            3 => {
                let words = vec![Line::new(self.word("mine"), false), Line::new(self.word("mine"), false)];
                self.typed.extend(words.iter().map(|line| line.text.clone()));
                self.user(at..at, words);
            }
            4 => {
                let put = self.register.iter().map(|line| Line { approved: false, ..line.clone() }).collect();
                self.user(at..at, put);
            }
            5 => {
                self.register = self.lines[range.clone()].to_vec();
                self.user(range, Vec::new());
            }
            // `:copy`, `:move`, `:sort`, `J`, Enter in a line.
            6 if count > 0 => {
                let copy = Line { approved: false, ..self.lines[line].clone() };
                self.user(other..other, vec![copy]);
            }
            7 if count > 0 => {
                let moved = Line { approved: false, ..self.lines[line].clone() };
                self.user(other..other, vec![moved]);
                let from = if other <= line { line + 1 } else { line };
                self.user(from..from + 1, Vec::new());
            }
            8 if range.len() > 1 => {
                let mut sorted = self.lines[range.clone()].to_vec();
                sorted.sort_by(|one, two| two.text.cmp(&one.text));
                // Lines that read the same cannot be told apart.
                let places = sorted.iter_mut().zip(&self.lines[range.clone()]);
                places
                    .filter(|(new, old)| new.text.trim() == old.text.trim())
                    .for_each(|(new, old)| new.approved = old.approved);
                self.user(range, sorted);
            }
            9 if line + 1 < count => {
                let joined = self.lines[line].join(&self.lines[line + 1]);
                self.user(line..line + 1, vec![joined]);
                self.user(line + 1..line + 2, Vec::new());
            }
            10 if count > 0 => {
                let old = self.lines[line].clone();
                let middle = old.text.char_indices().nth(b % (old.text.chars().count() + 1));
                let (one, two) = old.text.split_at(middle.map_or(old.text.len(), |(index, _)| index));
                let first = Line { approved: old.approved && one.contains("approved"), ..Line::new(one, old.foreign) };
                self.user(line..line + 1, vec![first, Line::new(two, old.foreign)]);
            }
            // `:substitute` over a range, both ways.
            11 if !range.is_empty() => {
                let changed = |line: &Line| {
                    let text = line.text.replace("pending", "approved");
                    let approved = line.approved || (text != line.text && !line.says());
                    Line { text, approved, ..line.clone() }
                };
                let new = self.lines[range.clone()].iter().map(changed).collect();
                self.user(range, new);
            }
            12 if count > 0 => {
                let old = self.lines[line].clone();
                self.user(
                    line..line + 1,
                    vec![Line { text: old.text.replace("approved", "pending"), approved: false, ..old }],
                );
            }
            // Repairs: what stands in front of a line goes.
            13 if count > 0 => {
                let old = self.lines[line].clone();
                let text = old.text.trim_start_matches(['>', ' ', '\\']).to_owned();
                self.user(line..line + 1, vec![Line { approved: old.approved, ..Line::new(text, old.foreign) }]);
            }
            // `:read file`, `:%!command`, and both with `:noautocmd`.
            14 => {
                let read =
                    vec![Line::new(self.word("theirs"), true), Line::new(STATUS.replace("pending", "approved"), true)];
                if b.is_multiple_of(2) {
                    self.user(at..at, read);
                    self.provenance.read_in(at..at + 2, &self.text);
                } else {
                    self.change(Author::Stranger, at..at, read);
                }
            }
            15 => {
                let foreign = |line: &Line| Line::new(line.text.clone(), true);
                let filtered: Vec<Line> = self.lines[range.clone()].iter().rev().map(foreign).collect();
                let length = filtered.len();
                self.user(range.end..range.end, filtered);
                self.user(range.clone(), Vec::new());
                self.provenance.read_in(range.start..range.start + length, &self.text);
            }
            // A reply, and a status block.
            16 => {
                let reply = vec![Line::new(self.word("model"), true), Line::new("", false)];
                self.change(Author::Model, count..count, reply);
            }
            17 => self.change(Author::Flemma, at..at, vec![Line::new(STATUS, true)]),
            // Single lines by one command, told of together, and perhaps as one with a deletion.
            18 | 19 => {
                let mut lines: Vec<usize> = range.step_by(1 + b % 3).collect();
                if a.is_multiple_of(2) {
                    lines.reverse();
                }
                let start = b % (count + 1);
                let then = (action == 19).then(|| (start..(start + 1 + a % 2).min(count), Vec::new()));
                self.burst(&lines, b.is_multiple_of(2), then);
            }
            // A whole line as it was, there or elsewhere: `U`, or a plugin.
            20 if count > 0 => {
                let state = &self.states[b % self.states.len()];
                if let Some(line) = state.get(a % 7 % state.len().max(1)).cloned() {
                    let at = if a.is_multiple_of(2) { line_of(&self.lines, b) } else { a % count };
                    let old = &self.lines[at];
                    let approved = line.says() && (old.approved || line.approved);
                    let foreign = line.foreign && !self.typed.contains(line.text.trim());
                    let author = Author::Command { step: self.step };
                    self.change(author, at..at + 1, vec![Line { approved, foreign, ..line }]);
                }
            }
            // Undo and redo, to any state there was.
            _ => {
                // Neovim reports the first undo as part of the step that it reverts, in which edits may not be settled.
                self.step -= u64::from(a % 4 < 2);
                let state = self.states[b % self.states.len()].clone();
                self.travel(&state, a);
            }
        }
        if !a.is_multiple_of(3) {
            self.provenance.settle();
        }
    }

    fn check(&mut self) {
        for at in 0..self.lines.len() {
            let line = &self.lines[at];
            let is_by_user = self.provenance.is_by_user(at..at + 1);
            let says_something = line.text.bytes().any(|byte| byte.is_ascii_alphanumeric());
            let typed = self.typed.contains(line.text.trim());
            assert!(!is_by_user || !line.foreign || typed || !says_something, "line {at} is a stranger's: {line:?}");
            assert!(!self.provenance.is_authorised(at) || line.approved, "line {at} was not approved: {line:?}");
        }
    }
}

/// A line that says something of a status, if there is one.
fn line_of(lines: &[Line], n: usize) -> usize {
    let found: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].text.contains("status=")).collect();
    found.get(n % found.len().max(1)).copied().unwrap_or(n % lines.len())
}

const STATUS: &str = "```flemma:tool status=pending";

fn a_file() -> impl Strategy<Value = Vec<Line>> {
    let line = prop_oneof![
        Just(String::new()),
        Just("@You:".to_owned()),
        Just("```".to_owned()),
        Just(STATUS.to_owned()),
        Just(STATUS.replace("pending", "approved")),
        Just(format!("> {}", STATUS.replace("pending", "approved"))),
        Just(format!("  {}", STATUS.replace("pending", "running"))),
        (0..9u8).prop_map(|n| format!("theirs{n}()")),
        (0..3u8).prop_map(|n| format!("a{n}")),
    ];
    prop::collection::vec(line, 1..12).prop_map(|lines| lines.into_iter().map(|text| Line::new(text, true)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_a_strangers_becomes_the_users_own(
        file in a_file(),
        actions in prop::collection::vec((0..23u8, any::<u16>(), any::<u16>()), 1..25),
    ) {
        let mut buffer = Buffer::opened(file);
        for (action, a, b) in actions {
            buffer.act(action, a.into(), b.into());
            buffer.check();
        }
    }
}

proptest! {
    #[test]
    fn lines_reported_together_get_the_same_authors_as_one_by_one(
        file in a_file(),
        own in prop::collection::vec(any::<bool>(), 12),
        changed in prop::collection::vec((any::<bool>(), 0..5u8), 12),
        is_undo in any::<bool>(),
    ) {
        let opened = || {
            let mut buffer = Buffer::opened(file.clone());
            for at in (0..buffer.lines.len()).filter(|at| own[*at]) {
                buffer.step += 1;
                let word = buffer.word("mine");
                buffer.user(at..at, vec![Line::new("", false)]);
                buffer.type_over(at, Line::new(word, false));
            }
            buffer
        };
        let (mut one, mut all) = (opened(), opened());
        let lines: Vec<usize> = (0..one.lines.len()).filter(|at| changed[at % 12].0).collect();
        for &at in &lines {
            let old = &one.lines[at].text;
            let text = match changed[at % 12].1 {
                0 => String::new(),
                1 => STATUS.replace("pending", "approved"),
                2 => old.replace("pending", "approved"),
                3 => format!("{old} more"),
                _ => "@Assistant:".to_owned(),
            };
            for buffer in [&mut one, &mut all] {
                buffer.text[at].clone_from(&text);
            }
            let change = Change { first: at, old_last: at + 1, new_last: at + 1 };
            one.provenance.follow(&mut one.document, change, Author::Command { step: 99 }, &one.text);
        }
        for run in lines.chunk_by(|one, two| one + 1 == *two) {
            let run = run[0]..run[run.len() - 1] + 1;
            all.provenance.follow_lines(&mut all.document, run, 99, &all.text);
        }
        prop_assert_eq!(&all.document, &Document::parse(&all.text));
        for buffer in [&mut one, &mut all] {
            if is_undo {
                buffer.provenance.undone(&buffer.text);
            }
            // Copies of all lines show what is known of them.
            let (copies, last) = (buffer.text.clone(), buffer.text.len());
            buffer.text.extend(copies);
            for first in last..2 * last {
                let change = Change { first, old_last: first, new_last: first + 1 };
                let text = buffer.text[..=first].to_vec();
                buffer.provenance.follow(&mut buffer.document, change, Author::User { step: 100 }, &text);
            }
        }
        for at in 0..one.text.len() {
            let answers = |buffer: &Buffer| (buffer.provenance.is_by_user(at..at + 1), buffer.provenance.is_authorised(at));
            prop_assert_eq!(answers(&one), answers(&all), "line {} of {:#?}", at, one.text);
        }
    }
}

#[test]
fn what_the_user_types_is_theirs_wherever_it_stands() {
    let mut buffer = Buffer::opened(vec![Line::new("theirs()", true), Line::new(STATUS, true)]);
    for step in 0..40 {
        buffer.act(step % 2 * 3, usize::from(step) * 7, 0);
    }
    buffer.act(11, 0, buffer.lines.len());
    for at in 0..buffer.lines.len() {
        let line = &buffer.lines[at];
        assert_eq!(buffer.provenance.is_by_user(at..at + 1), !line.foreign, "{line:?}");
        assert_eq!(buffer.provenance.is_authorised(at), line.approved, "{line:?}");
    }
    assert!(buffer.lines.iter().any(|line| line.approved));
}

#[test]
fn a_prompt_that_is_put_behind_a_reply_hides_nothing() {
    let mut page = Page::new("@You:\nHello");
    page.change(Author::Model, 2..2, vec!["@Assistant:".to_owned(), "a reply".to_owned()]);
    // The prompt is added behind the end of the reply's last line.
    let prompt = ["a reply", "", "@You:", ""].map(str::to_owned);
    page.change(Author::Flemma, 3..4, prompt.to_vec());
    page.replace(6..6, vec!["what the user types".to_owned()]);
    page.replace(7..7, vec!["a reply".to_owned()]);
    assert!(page.provenance.is_by_user(6..7), "nobody else wrote it");
    assert!(!page.provenance.is_by_user(7..8), "the model wrote it");
}
