//! What becomes of the links when a page gets another name.
//!
//! Every link leads to the same page afterwards as before. A link is only changed if it would not, or if it names the page by
//! its whole old name, or spells its name as it was and not as it becomes: where the case of letters counts, nothing else of the
//! old name is left on the disk. So links to other pages are changed as well where the new name takes their meaning away, and relative
//! links in the page itself if it gets into another folder.

use super::{
    Link, LinkKind, Outline, PageName, Pages, Quote,
    content::masked,
    destination,
    pages::{Destination, Form, Target},
    yaml,
};

/// What a renaming is about.
#[derive(Clone, Debug)]
pub struct Renaming<'a> {
    /// All pages before.
    pub before: Pages,
    after: Pages,
    old: &'a PageName,
    new: &'a PageName,
}

/// The content of a page with other links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relinked {
    /// The new content.
    pub content: Vec<u8>,
    /// How many links were changed.
    pub links: usize,
    /// How many links in the frontmatter should have been changed, and could not.
    pub kept: usize,
}

impl<'a> Renaming<'a> {
    /// The page `old` becomes `new`. `pages` are all pages before.
    pub fn new(pages: &[PageName], old: &'a PageName, new: &'a PageName) -> Self {
        let after = Pages::new(pages.iter().filter(|page| *page != old).chain([new]));
        Self { before: Pages::new(pages), after, old, new }
    }

    /// The page `page` with links that lead where they led before; `None` if they do so as they are.
    pub fn relink(&self, page: &PageName, content: &[u8]) -> Option<Relinked> {
        // Most pages have no links, and need no parser.
        memchr::memchr(b'[', content)?;
        let outline = Outline::new(content);
        let relinked = self.written(page, content, &outline, |_| true);
        if relinked.links == 0 {
            return None;
        }
        let in_text = self.written(page, content, &outline, |link| matches!(link.quote, Quote::None | Quote::Brackets));
        let in_frontmatter = relinked.links - in_text.links;
        // Without quotes, not every name can stand in YAML.
        if in_frontmatter == 0 || has_same_values(content, &outline, &relinked.content) {
            return Some(relinked);
        }
        Some(Relinked { kept: in_frontmatter, ..in_text })
    }

    /// The content with other destinations of some of its links.
    fn written(
        &self,
        page: &PageName,
        content: &[u8],
        outline: &Outline,
        is_chosen: impl Fn(&Link) -> bool,
    ) -> Relinked {
        let mut new = Vec::with_capacity(content.len());
        let (mut links, mut copied) = (0, 0);
        for link in outline.links.iter().filter(|link| is_chosen(link)) {
            let Some(destination) = self.destination(page, link) else { continue };
            new.extend_from_slice(&content[copied..link.at.start]);
            new.extend_from_slice(destination.as_bytes());
            copied = link.at.end;
            links += 1;
        }
        new.extend_from_slice(&content[copied..]);
        Relinked { content: new, links, kept: 0 }
    }

    /// The new destination of a link, if it needs one.
    fn destination(&self, page: &PageName, link: &Link) -> Option<String> {
        let written = self.before.destination(link.kind, &link.destination)?;
        let target = self.before.target(page, link.kind, &written)?;
        let is_moved = target.is_page && target.name == self.old.as_str();
        let wanted = if is_moved { Target { name: self.new.as_str().to_owned(), ..target } } else { target };
        let from = if page == self.old { self.new } else { page };
        let again = self.after.target(from, link.kind, &written);
        let keeps_spelling = |again: &Target| again.is_spelled || !wanted.is_spelled;
        // What led to no page of this name may find it.
        let leads_there = again.is_some_and(|again| {
            again.name == wanted.name && (again.is_page || !wanted.is_page) && keeps_spelling(&again)
        });
        if leads_there && !(is_moved && wanted.form == Form::Whole) {
            return None;
        }
        let path = self.after.path_to(from, link.kind, &written, &wanted);
        Some(render(link, &written, path))
    }
}

fn render(link: &Link, written: &Destination, path: String) -> String {
    let path = if written.has_extension { format!("{path}.md") } else { path };
    let path = match link.kind {
        LinkKind::Wiki => path,
        LinkKind::Markdown => destination::encode(&path, link.quote == Quote::Brackets),
    };
    let written = format!("{path}{}", written.rest);
    match link.quote {
        Quote::Single => written.replace('\'', "''"),
        Quote::Double => written.replace('"', "\\\""),
        Quote::None | Quote::Brackets | Quote::Plain => written,
    }
}

/// Whether the frontmatter has the same keys and as many values with other links in it.
fn has_same_values(content: &[u8], outline: &Outline, new: &[u8]) -> bool {
    let read = |content: &[u8], outline: &Outline| {
        let matter = outline.frontmatter.clone()?;
        let table = yaml::read(&masked(content)[matter]).ok()?;
        let keys: Vec<String> = table.entries.iter().map(|entry| entry.key.clone()).collect();
        Some((keys, table.scalars.len()))
    };
    let after = Outline::new(new);
    after.links.len() == outline.links.len() && read(content, outline) == read(new, &after)
}
