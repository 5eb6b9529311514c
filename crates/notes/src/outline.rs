//! The structure of a page.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::{
    Link, LinkKind, Quote,
    content::{bom, line_end, line_of, line_start, masked, with_line_feeds},
    destination, yaml,
};

/// The marks of frontmatter: the line that begins it, and the lines that end it.
const OPEN: &str = "---";
const CLOSE: [&str; 2] = ["---", "..."];

/// The structure of a page. All positions are bytes of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The YAML of the frontmatter, without the lines that enclose it.
    pub frontmatter: Option<Range<usize>>,
    /// Where the text begins: behind the byte order mark and the frontmatter.
    pub body: usize,
    /// The sections in their order.
    pub sections: Vec<Section>,
    /// The links, in their order: those in the text, and the `[[links]]` in the frontmatter.
    pub links: Vec<Link>,
    /// The `#tags` in the text, without `#`, in their order.
    pub tags: Vec<String>,
    /// How many links have a destination that was not found in the text.
    pub lost: usize,
}

/// A section: a heading, and what follows up to the next heading of the same or a higher level. Headings in quotations and
/// lists begin no section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The text of the heading, without its markup.
    pub title: String,
    /// The text of the heading as it is written.
    pub written: String,
    /// Its level, from 1 to 6.
    pub level: usize,
    /// The lines of the heading.
    pub heading: Range<usize>,
    /// The end of the section.
    pub end: usize,
    /// The line of the heading, from 1.
    pub line: usize,
}

impl Outline {
    /// Reads a page.
    pub fn new(content: &[u8]) -> Self {
        let text = with_line_feeds(masked(content));
        let mut outline = Self { body: bom(content), ..Self::default() };
        if let Some((yaml, body)) = frontmatter(&text, outline.body) {
            outline.frontmatter = Some(yaml);
            outline.body = body;
        }
        Reader {
            content,
            text: &text,
            outline: &mut outline,
            containers: 0,
            in_code: false,
            heading: None,
            open: Vec::new(),
        }
        .read();
        outline
    }
}

/// The YAML at the beginning of a text, and the position behind the frontmatter.
fn frontmatter(text: &str, start: usize) -> Option<(Range<usize>, usize)> {
    let first = line_end(text.as_bytes(), start);
    if text[start..first].trim_end() != OPEN {
        return None;
    }
    let mut end = first;
    text[first..].split_inclusive('\n').find_map(|line| {
        let start = end;
        end += line.len();
        CLOSE.contains(&line.trim_end()).then_some((first..start, end))
    })
}

/// A heading that is being read.
struct Heading {
    title: String,
    written: Option<Range<usize>>,
}

/// An inline link that is being read.
struct OpenLink {
    link_type: LinkType,
    destination: String,
    /// The end of what it contains so far.
    inside: usize,
}

struct Reader<'a> {
    /// The content, and the same as text in which every line ends in a line feed.
    content: &'a [u8],
    text: &'a str,
    outline: &'a mut Outline,
    /// How many quotations and lists are open.
    containers: usize,
    /// Whether a block is open whose text is not prose.
    in_code: bool,
    heading: Option<Heading>,
    open: Vec<OpenLink>,
}

impl Reader<'_> {
    fn read(mut self) {
        let options = Options::ENABLE_WIKILINKS
            | Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_STRIKETHROUGH;
        let parser = Parser::new_ext(&self.text[self.outline.body..], options);
        let definitions: Vec<_> = parser
            .reference_definitions()
            .iter()
            .map(|(_, definition)| (self.shift(&definition.span), definition.dest.to_string()))
            .collect();
        // Consecutive pieces of text are one, so that a tag is not cut at a `_`.
        let mut piece: Option<Range<usize>> = None;
        for (event, span) in parser.into_offset_iter() {
            let span = self.shift(&span);
            // Text in headings, links and code has no tags.
            let is_prose = self.heading.is_none() && self.open.is_empty() && !self.in_code;
            let is_text = is_prose && matches!(event, Event::Text(_));
            match &mut piece {
                Some(piece) if is_text && piece.end == span.start => piece.end = span.end,
                _ => {
                    self.tags(piece.take());
                    piece = is_text.then(|| span.clone());
                }
            }
            self.event(&event, span);
        }
        self.tags(piece);
        for (span, dest) in definitions {
            self.definition(span, dest);
        }
        if let Some(matter) = self.outline.frontmatter.clone() {
            self.frontmatter_links(matter);
        }
        self.outline.links.sort_by_key(|link| link.at.start);
        self.close_sections();
    }

    fn shift(&self, span: &Range<usize>) -> Range<usize> {
        span.start + self.outline.body..span.end + self.outline.body
    }

    fn event(&mut self, event: &Event<'_>, span: Range<usize>) {
        if !matches!(event, Event::End(_))
            && let Some(heading) = &mut self.heading
        {
            let whole = heading.written.get_or_insert(span.clone());
            whole.end = whole.end.max(span.end);
            heading.title.push_str(match event {
                Event::Text(text) | Event::Code(text) => text,
                Event::SoftBreak | Event::HardBreak => " ",
                _ => "",
            });
        }
        match event {
            Event::Start(Tag::Heading { .. }) => self.heading = Some(Heading { title: String::new(), written: None }),
            Event::End(TagEnd::Heading(level)) => self.end_heading(*level as usize, span.clone()),
            Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::FootnoteDefinition(_)) => self.containers += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::FootnoteDefinition) => self.containers -= 1,
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_)) => self.in_code = true,
            Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_)) => self.in_code = false,
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                let inside = span.start + usize::from(matches!(event, Event::Start(Tag::Image { .. }))) + 1;
                self.open.push(OpenLink { link_type: *link_type, destination: dest_url.to_string(), inside });
                return;
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(link) = self.open.pop() {
                    self.end_link(&link, &span);
                }
            }
            _ => {}
        }
        if let Some(link) = self.open.last_mut() {
            link.inside = link.inside.max(span.end);
        }
    }

    fn end_heading(&mut self, level: usize, span: Range<usize>) {
        let Some(heading) = self.heading.take() else { return };
        if self.containers > 0 {
            return;
        }
        let bytes = self.text.as_bytes();
        let start = line_start(bytes, span.start);
        // The span may or may not include the line break.
        let end = if self.text[..span.end].ends_with('\n') { span.end } else { line_end(bytes, span.end) };
        self.outline.sections.push(Section {
            title: heading.title.trim().to_owned(),
            written: heading.written.map_or("", |written| self.text[written].trim()).to_owned(),
            level,
            line: line_of(self.content, start),
            heading: start..end,
            end: self.text.len(),
        });
    }

    fn close_sections(&mut self) {
        let sections = &mut self.outline.sections;
        for at in 0..sections.len() {
            let level = sections[at].level;
            if let Some(next) = sections[at + 1..].iter().find(|next| next.level <= level) {
                sections[at].end = next.heading.start;
            }
        }
    }

    fn end_link(&mut self, link: &OpenLink, span: &Range<usize>) {
        match link.link_type {
            LinkType::WikiLink { has_pothole } => self.wiki_link(span, has_pothole),
            LinkType::Inline => {
                let close = self.text[link.inside..span.end].find("](");
                let at = close.and_then(|close| {
                    destination::find(self.text, link.inside + close + 2, span.end, &link.destination)
                });
                self.markdown_link(at, &link.destination);
            }
            // The others lead where their definitions say, or are URLs.
            _ => {}
        }
    }

    fn wiki_link(&mut self, span: &Range<usize>, has_words: bool) {
        let Some(open) = self.text[span.clone()].find("[[") else { return };
        let start = span.start + open + 2;
        let inner = &self.text[start..span.end];
        let inner = inner.strip_suffix("]]").unwrap_or(inner);
        let words = inner.find('|').filter(|_| has_words).unwrap_or(inner.len());
        // In a table, the `|` is escaped.
        let target = if has_words { inner[..words].strip_suffix('\\').unwrap_or(&inner[..words]) } else { inner };
        let start = start + (target.len() - target.trim_start().len());
        let target = target.trim();
        self.outline.links.push(Link {
            kind: LinkKind::Wiki,
            at: start..start + target.len(),
            destination: target.to_owned(),
            quote: Quote::None,
        });
    }

    /// The `[[links]]` in the values of the frontmatter. Without quotes, `[[Page]]` is a list in a list there.
    fn frontmatter_links(&mut self, matter: Range<usize>) {
        let Ok(table) = yaml::read(&self.text[matter.clone()]) else { return };
        for scalar in table.scalars {
            let at = scalar.at.start + matter.start..scalar.at.end + matter.start;
            let is_link = self.text[..at.start].ends_with("[[") && self.text[at.end..].starts_with("]]");
            let (at, quote) = match scalar.quote {
                Some(_) if at.len() < 2 => continue,
                Some('\'') => (at.start + 1..at.end - 1, Quote::Single),
                Some(_) => (at.start + 1..at.end - 1, Quote::Double),
                None if is_link => (at.start - 2..at.end + 2, Quote::Plain),
                None => (at, Quote::Plain),
            };
            let value = &self.text[at.clone()];
            let first = self.outline.links.len();
            for (event, span) in Parser::new_ext(value, Options::ENABLE_WIKILINKS).into_offset_iter() {
                if let Event::Start(Tag::Link { link_type, .. } | Tag::Image { link_type, .. }) = event
                    && let LinkType::WikiLink { has_pothole } = link_type
                {
                    self.wiki_link(&(span.start + at.start..span.end + at.start), has_pothole);
                }
            }
            for link in &mut self.outline.links[first..] {
                link.quote = quote;
                link.destination = match quote {
                    Quote::Single => link.destination.replace("''", "'"),
                    Quote::Double => link.destination.replace("\\\"", "\""),
                    _ => continue,
                };
            }
        }
    }

    fn definition(&mut self, span: Range<usize>, dest: String) {
        let label = self.text[span.clone()].find('[').map(|open| span.start + open + 1);
        let close = label.and_then(|label| destination::after_label(self.text, label));
        let colon = close.filter(|&close| self.text[close..].starts_with(':'));
        let at = colon.and_then(|colon| destination::find(self.text, colon + 1, span.end, &dest));
        self.markdown_link(at, &dest);
    }

    /// A link whose destination stands at `at`, if it was found there.
    fn markdown_link(&mut self, at: Option<Range<usize>>, dest: &str) {
        if dest.is_empty() {
            return;
        }
        let has_escapes = |written: &str| written.contains(['\\', '&']);
        let Some(at) = at.filter(|at| has_escapes(&self.text[at.clone()]) || &self.text[at.clone()] == dest) else {
            self.outline.lost += 1;
            return;
        };
        let in_brackets = self.text[..at.start].ends_with('<') && self.text[at.end..].starts_with('>');
        let quote = if in_brackets { Quote::Brackets } else { Quote::None };
        self.outline.links.push(Link { kind: LinkKind::Markdown, at, destination: dest.to_owned(), quote });
    }

    /// The tags in a piece of text.
    fn tags(&mut self, piece: Option<Range<usize>>) {
        let text = piece.map_or("", |piece| &self.text[piece]);
        for (at, _) in text.match_indices('#') {
            let (before, rest) = (text[..at].chars().next_back(), &text[at + 1..]);
            let is_in_tag = |sign: char| sign.is_alphanumeric() || "_-/".contains(sign);
            let end = rest.find(|sign: char| !is_in_tag(sign)).unwrap_or(rest.len());
            let tag = rest[..end].trim_end_matches('/');
            let begins = before.is_none_or(|sign| sign.is_whitespace() || "(,;".contains(sign));
            if begins && tag.chars().any(|sign| !sign.is_numeric()) {
                self.outline.tags.push(tag.to_owned());
            }
        }
    }
}
