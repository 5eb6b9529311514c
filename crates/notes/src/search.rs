//! Full-text search, ranked.
//!
//! Pages are ranked with BM25: a rare word counts more than a frequent one, and a word in a long page less than in a short
//! one. A word in the name of a page or in a heading counts several times. A word in quotes, or several, must occur exactly
//! like this, apart from upper and lower case. The way in which Unicode composes a character does not matter.

use std::collections::{BTreeSet, HashMap};

use unicode_segmentation::UnicodeSegmentation;

use super::{Outline, PageName, content::masked, pages::folded};
use flemma_model::ModelError;

/// The parameters of BM25 in their usual values.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// How often a word in the name, and in a heading, counts.
const IN_NAME: usize = 8;
const IN_HEADING: usize = 3;

/// The maximum number of lines that are shown of a page.
const MAX_LINES: usize = 3;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    words: Vec<String>,
    phrases: Vec<String>,
}

/// What the search has found out about one page.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The page.
    pub page: PageName,
    /// How often each word of the query counts.
    counts: Vec<usize>,
    /// How many words it has.
    length: usize,
    /// Lines with words of the query, each with its number, from 1.
    pub lines: Vec<(usize, String)>,
}

impl Query {
    /// Reads a query: words, and phrases in double quotes.
    ///
    /// # Errors
    /// If it has no word.
    pub fn parse(query: &str) -> Result<Self, ModelError> {
        let lower = folded(query);
        // Every second part stands in quotes. Without a closing quote there are none.
        let is_quoted = lower.matches('"').count().is_multiple_of(2);
        let quoted = lower.split('"').skip(1).step_by(2).filter(|_| is_quoted);
        let phrases: Vec<String> =
            quoted.map(|phrase| phrase.trim().to_owned()).filter(|phrase| !phrase.is_empty()).collect();
        let words: BTreeSet<&str> = lower.unicode_words().collect();
        ModelError::when(words.is_empty() && phrases.is_empty(), "`query` has no words to search for.")?;
        Ok(Self { words: words.into_iter().map(str::to_owned).collect(), phrases })
    }

    /// What a page has of the query; `None` if it has no word of it, or lacks a phrase.
    pub fn look(&self, page: &PageName, content: &[u8]) -> Option<Candidate> {
        let text = masked(content);
        let lower = folded(&text);
        let name = folded(page.as_str());
        if !self.phrases.iter().all(|phrase| lower.contains(phrase) || name.contains(phrase)) {
            return None;
        }
        let numbers: HashMap<&str, usize> =
            self.words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
        let mut counts = vec![0; self.words.len()];
        let mut add = |text: &str, times: usize| {
            let words = text.unicode_words();
            words.inspect(|word| numbers.get(word).into_iter().for_each(|at| counts[*at] += times)).count()
        };
        let length = add(&lower, 1);
        add(&name, IN_NAME);
        for section in &Outline::new(content).sections {
            add(&folded(&section.title), IN_HEADING);
        }
        let is_found = counts.iter().any(|count| *count > 0) || !self.phrases.is_empty();
        is_found.then(|| Candidate { page: page.clone(), counts, length, lines: self.lines(&text) })
    }

    /// The lines with the most words of the query, in their order.
    fn lines(&self, text: &str) -> Vec<(usize, String)> {
        let mut found: Vec<(usize, usize, &str)> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let lower = folded(line);
            let phrases = self.phrases.iter().filter(|phrase| lower.contains(phrase.as_str())).count();
            let words =
                self.words.iter().filter(|word| lower.unicode_words().any(|known| known == word.as_str())).count();
            if words + phrases > 0 {
                found.push((words + 4 * phrases, at + 1, line));
            }
        }
        found.sort_by_key(|(worth, line, _)| (std::cmp::Reverse(*worth), *line));
        found.truncate(MAX_LINES);
        found.sort_by_key(|(_, line, _)| *line);
        found.into_iter().map(|(_, line, text)| (line, text.trim().to_owned())).collect()
    }

    /// The pages with what was looked for, the best one first. `total` is the number of all pages.
    pub fn rank(&self, mut found: Vec<Candidate>, total: usize) -> Vec<Candidate> {
        let pages = total.max(1) as f64;
        let length = found.iter().map(|page| page.length).sum::<usize>() as f64 / found.len().max(1) as f64;
        let rarity: Vec<f64> = (0..self.words.len())
            .map(|word| {
                let with = found.iter().filter(|page| page.counts[word] > 0).count() as f64;
                (1.0 + (pages - with + 0.5) / (with + 0.5)).ln()
            })
            .collect();
        let score = |page: &Candidate| -> f64 {
            let long = 1.0 - LENGTH + LENGTH * page.length as f64 / length.max(1.0);
            let parts = page.counts.iter().zip(&rarity).map(|(&count, rarity)| {
                let count = count as f64;
                rarity * count * (SATURATION + 1.0) / (count + SATURATION * long)
            });
            parts.sum()
        };
        found.sort_by(|one, other| score(other).total_cmp(&score(one)).then_with(|| one.page.cmp(&other.page)));
        found
    }
}
