//! Which page a link leads to.
//!
//! A `[[link]]` names a page by its whole name, or by the end of it if no page has this whole name: `[[Plan]]` leads to
//! `Projects/Plan`. Of several pages, the one with the fewest parts is meant. `./` and `../` start at the page with the
//! link. Upper and lower case only matter if pages differ in nothing else, and so does the way in which Unicode composes a
//! character: a link that an editor has written with `ä` leads to a page that another system has saved with `a` and dots.
//!
//! A Markdown link names a file, relative to the page with the link, or from the folder of notes if it begins with `/` or if
//! there is no such page. `.md` may be missing.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

use percent_encoding::percent_decode_str;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::{LinkKind, PageName, links::is_elsewhere};

/// The names of all pages.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    names: BTreeSet<String>,
    /// The names by their last part, folded.
    by_base: HashMap<String, Vec<String>>,
}

/// How a link names its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// From the folder of notes, with a `/` before it.
    Rooted,
    /// By its whole name.
    Whole,
    /// By the end of its name.
    End,
    /// From the page with the link.
    Relative,
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The page; for a Markdown link that leads to none, the path of another file from the folder of notes, also without
    /// `.md`.
    pub(super) name: String,
    /// Whether it is a page.
    pub(super) is_page: bool,
    /// How the link names it.
    pub(super) form: Form,
    /// Whether the link spells the name as the page does. If not, it leads there in the notes, but not on every disk.
    pub(super) is_spelled: bool,
}

impl Target {
    /// A page to which a link with this path leads.
    fn page(name: &str, form: Form, path: &str) -> Self {
        let is_spelled = name.strip_suffix(path).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'));
        Self { name: name.to_owned(), is_page: true, form, is_spelled }
    }
}

/// The parts of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// The path without `.md`, and without escapes.
    pub(super) path: String,
    /// Whether it ended in `.md`.
    pub(super) has_extension: bool,
    /// The heading or position behind it, as it is written, with the sign before it.
    pub(super) rest: String,
}

impl Destination {
    /// Takes a destination apart; `None` if it leads elsewhere than into the notes.
    pub(super) fn read(kind: LinkKind, written: &str) -> Option<Self> {
        let is_elsewhere = match kind {
            LinkKind::Wiki => written.contains("://"),
            LinkKind::Markdown => is_elsewhere(written),
        };
        if is_elsewhere {
            return None;
        }
        let signs: &[char] = if kind == LinkKind::Wiki { &['#'] } else { &['#', '?'] };
        let cut = written.find(signs).unwrap_or(written.len());
        let (path, rest) = written.split_at(cut);
        let path = match kind {
            LinkKind::Wiki => path.trim_end().to_owned(),
            LinkKind::Markdown => percent_decode_str(path).decode_utf8().ok()?.into_owned(),
        };
        let (path, has_extension) = match path.strip_suffix(".md") {
            Some(path) => (path.to_owned(), true),
            None => (path, false),
        };
        (!path.is_empty()).then(|| Self { path, has_extension, rest: rest.to_owned() })
    }
}

impl Pages {
    /// All pages that there are.
    pub fn new<'a>(pages: impl IntoIterator<Item = &'a PageName>) -> Self {
        let mut all = Self::default();
        for page in pages {
            if all.names.insert(page.as_str().to_owned()) {
                all.by_base.entry(folded(page.base())).or_default().push(page.as_str().to_owned());
            }
        }
        all
    }

    /// The pages below another one, in its folder and in the folders there.
    pub fn below(&self, page: &PageName) -> impl Iterator<Item = &str> {
        let folder = format!("{page}/");
        let first = folder.clone();
        self.names.range(first..).take_while(move |name| name.starts_with(&folder)).map(String::as_str)
    }

    /// The page that a link leads to, if there is one. `from` is the page with the link, `written` its destination as in
    /// [`Link::destination`](super::Link::destination).
    pub fn resolve(&self, from: &PageName, kind: LinkKind, written: &str) -> Option<PageName> {
        let destination = self.destination(kind, written)?;
        let target = self.target(from, kind, &destination)?;
        target.is_page.then(|| PageName::parse(&format!("{}.md", target.name)).ok())?
    }

    /// The parts of a destination. A position behind an `@` (`[[Page@120]]`) is only one if it is no part of a name.
    pub(super) fn destination(&self, kind: LinkKind, written: &str) -> Option<Destination> {
        let destination = Destination::read(kind, written)?;
        let is_position = |rest: &str| {
            let digits = rest.strip_prefix('L').unwrap_or(rest);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        match destination.path.rsplit_once('@') {
            Some((path, position))
                if kind == LinkKind::Wiki
                    && is_position(position)
                    && !path.is_empty()
                    && self.by_end(&destination.path).is_none() =>
            {
                let rest = format!("@{position}{}", destination.rest);
                Some(Destination { path: path.to_owned(), rest, ..destination })
            }
            _ => Some(destination),
        }
    }

    /// Where a link leads; `None` for a `[[link]]` to a page that there is not, and for a path that leads out.
    pub(super) fn target(&self, from: &PageName, kind: LinkKind, destination: &Destination) -> Option<Target> {
        let path = destination.path.as_str();
        match kind {
            LinkKind::Wiki => {
                if let Some(rooted) = path.strip_prefix('/') {
                    return Some(Target::page(self.whole(rooted)?, Form::Rooted, rooted));
                }
                if path.starts_with("./") || path.starts_with("../") {
                    let path = joined(from.folder(), path)?;
                    return Some(Target::page(self.whole(&path)?, Form::Relative, &path));
                }
                let whole = self.whole(path).map(|name| Target::page(name, Form::Whole, path));
                whole.or_else(|| Some(Target::page(self.by_end(path)?, Form::End, path)))
            }
            LinkKind::Markdown => {
                let page = |path: &str, form| Some(Target::page(self.whole(path)?, form, path));
                let file = |name: String, form| Some(Target { name, is_page: false, form, is_spelled: true });
                if let Some(rooted) = path.strip_prefix('/') {
                    let path = joined("", rooted)?;
                    return page(&path, Form::Rooted).or_else(|| file(path, Form::Rooted));
                }
                let relative = joined(from.folder(), path);
                let from_root = if path.starts_with('.') { None } else { joined("", path) };
                relative
                    .as_deref()
                    .and_then(|path| page(path, Form::Relative))
                    .or_else(|| page(&from_root?, Form::Whole))
                    .or_else(|| file(relative?, Form::Relative))
            }
        }
    }

    /// The page with this whole name.
    fn whole(&self, name: &str) -> Option<&str> {
        self.alike(name, |known, lower| known == lower)
    }

    /// The page whose name ends in this one.
    fn by_end(&self, name: &str) -> Option<&str> {
        self.alike(name, |known, lower| {
            known.strip_suffix(lower).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        })
    }

    /// The page that is most like this name, of those with the same last part that `is_alike` says of, folded as the name is.
    fn alike(&self, name: &str, is_alike: impl Fn(&str, &str) -> bool) -> Option<&str> {
        let (own, lower) = (composed(name), folded(name));
        let base = lower.rsplit_once('/').map_or(lower.as_str(), |(_, base)| base);
        let alike = self.by_base.get(base)?.iter().filter(|known| is_alike(&folded(known), &lower));
        // The exact spelling first, then the one with the same characters, then the shortest path.
        let rank =
            |known: &String| (!known.ends_with(name), !composed(known).ends_with(&*own), known.matches('/').count());
        alike.min_by_key(|known| (rank(known), *known)).map(String::as_str)
    }

    /// A destination that leads from `from` to the same `target`, in the form that the link had as far as that is possible.
    /// The result has no escapes.
    pub(super) fn path_to(&self, from: &PageName, kind: LinkKind, like: &Destination, target: &Target) -> String {
        let name = target.name.as_str();
        let leads_there = |path: &String| {
            let again = Destination { path: path.clone(), ..like.clone() };
            // What stands before a colon would be taken for a scheme.
            !(kind == LinkKind::Markdown && is_elsewhere(path))
                && self
                    .target(from, kind, &again)
                    .is_some_and(|found| (&found.name, found.is_page) == (&target.name, target.is_page))
        };
        let parts: Vec<&str> = name.split('/').collect();
        let ends = (1..parts.len()).rev().map(|first| parts[first..].join("/"));
        let relative = relative(from.folder(), name);
        let relative = match kind {
            LinkKind::Wiki if !relative.starts_with("../") => format!("./{relative}"),
            _ => relative,
        };
        let rooted = format!("/{name}");
        let mut forms: Vec<String> = match target.form {
            Form::Rooted => vec![rooted.clone()],
            Form::Whole => vec![name.to_owned()],
            Form::End => ends.collect(),
            Form::Relative => vec![relative.clone()],
        };
        if kind == LinkKind::Wiki {
            forms.push(name.to_owned());
        }
        let dotted = format!("./{relative}");
        forms.extend([relative, dotted, rooted.clone()]);
        forms.into_iter().find(leads_there).unwrap_or(rooted)
    }
}

/// A name with its characters composed.
fn composed(name: &str) -> Cow<'_, str> {
    if is_nfc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// A name or a text as it is compared: composed, in lower case.
pub(super) fn folded(name: &str) -> String {
    let lower = composed(name).to_lowercase();
    if is_nfc(&lower) { lower } else { lower.nfc().collect() }
}

/// A path below the folder of notes, without `.` and `..`; `None` if it leads out.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The path from a folder to a file.
fn relative(folder: &str, name: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = name.split('/').collect();
    // The last part of the name is the file itself.
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(from, to)| from == to).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}
