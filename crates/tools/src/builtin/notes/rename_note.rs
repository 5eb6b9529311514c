//! `rename_note`: gives a page another name, and changes the links that lead to it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{report, tool::Proposing},
    changing::change,
    page as page_in,
    space::Space,
};
use crate::{Access, FileChange, LeftBefore, Proposal};
use flemma_journal::changes::FileState;
use flemma_model::{Digest, ModelError};
use flemma_notes::{PageName, rename::Renaming};
use flemma_text::things;

/// The maximum number of pages that a result names.
const MAX_NAMED: usize = 50;

/// The maximum number of pages that is said of an earlier run.
const MAX_EARLIER: usize = 20;

/// The tool. The links to the page may be in any page.
pub(super) const TOOL: Proposing =
    Proposing { propose: |input, context| rename(input, &Space::open(context)?), preview, targets: |_, _| None };

fn preview(input: &Value) -> Option<String> {
    Some(format!("{} -> {}", input.get("page")?.as_str()?, input.get("new_page")?.as_str()?))
}

/// What is said if an earlier run has moved the page, with the pages that still link to the old name.
fn already_renamed(
    space: &Space<'_>,
    earlier: &EarlierRun,
    page: &PageName,
    new_page: &PageName,
) -> Result<ModelError, ModelError> {
    let listed = space.list("")?.pages;
    let before: Vec<PageName> =
        listed.iter().map(|other| if other == new_page { page } else { other }).cloned().collect();
    let renaming = Renaming::new(&before, page, new_page);
    let mut left = Vec::new();
    for other in &listed {
        space.go_on()?;
        let Ok(content) = space.read(other) else { continue };
        let is_done = other == new_page || earlier.has_left(space, other, &content)?;
        let from = if other == new_page { page } else { other };
        if renaming.relink(from, &content).is_some_and(|left| left.kept > 0 || (left.links > 0 && !is_done)) {
            left.push(format!("`{other}`"));
        }
    }
    let done = format!("`{page}` has been renamed to `{new_page}` already, by a run of this call or of one like it");
    let more = if left.len() > MAX_NAMED { " and more" } else { "" };
    left.truncate(MAX_NAMED);
    Ok(ModelError::new(match left.len() {
        0 => format!("{done}. Nothing is left to do."),
        _ => format!("{done}. Links in {}{more} were not changed; look at them.", left.join(", ")),
    }))
}

/// What renaming a page changes.
pub(super) fn rename(input: &Value, space: &Space<'_>) -> Result<Proposal, ModelError> {
    let (page, new_page) = (page_in(input, "page")?, page_in(input, "new_page")?);
    new_page.check_new()?;
    ensure!(page != new_page, "`{page}` has this name already.");
    let mut earlier = EarlierRun::of_move(space, &page)?;
    if earlier.has_removed(space, &page)? && space.is_taken(&new_page)? {
        return Err(already_renamed(space, &earlier, &page, &new_page)?);
    }
    let old = space.read(&page)?;
    ensure!(!space.is_link(&page), "`{page}` is a symbolic link, which cannot be renamed here.");
    let is_taken = space.is_taken(&new_page)?;
    // Where a file cannot be moved, it is copied first, and an earlier run may have ended then.
    let is_copied = is_taken && earlier.has_left(space, &new_page, &old)?;
    ensure!(!is_taken || is_copied, "There is already a page `{new_page}`. Nothing was changed.");
    let mut listed = space.list("")?;
    listed.pages.retain(|other| *other != new_page);
    let renaming = Renaming::new(&listed.pages, &page, &new_page);
    let mut others = Others::relinked(space, &renaming, &listed.pages, &page, &mut earlier)?;
    let is_done = earlier.look_at(space, &page, &old)?;
    let own = renaming.relink(&page, &old);
    others.kept.extend(own.iter().filter(|own| own.kept > 0).map(|_| format!("`{page}`")));
    let own = own.filter(|_| !is_done);
    let own_links = own.as_ref().map_or(0, |own| own.links);
    let new = own.map_or_else(|| old.clone(), |own| own.content);
    // The page goes last: until then, the call can be repeated.
    let moved_to = (!is_copied).then_some(&new_page);
    let mut last = change(space, &page, Some(old), new, moved_to)?;
    last.new = last.new.filter(|_| !is_copied);

    let changed = others.changed(own_links);
    let mut summary = format!("Renamed `{page}` to `{new_page}`, and changed {changed}.{}", earlier.note());
    if let below @ 1.. = renaming.before.below(&page).count() {
        summary.push_str(&format!(" The {} below `{page}` keep their names.", things(below, "page")));
    }
    if !others.kept.is_empty() {
        let pages = others.kept.join(", ");
        summary.push_str(&format!(
            "\n\n[Links in the frontmatter were not changed in {pages}: the new name cannot stand there without quotes]"
        ));
    }
    let mut notes = listed.notes;
    notes.extend(report::unreadable(others.problems));
    if !others.unwritable.is_empty() {
        notes.push(format!("You may not change {}", others.unwritable.join(", ")));
    }
    if !notes.is_empty() {
        summary.push_str(&format!("\n\n[{}. Links there were not changed]", notes.join(". ")));
    }
    others.files.push(last);
    Ok(Proposal { files: others.files, summary, diff: String::new() })
}

/// What becomes of the links in other pages.
#[derive(Default)]
struct Others {
    /// The pages that change.
    files: Vec<FileChange>,
    /// How many links change in them.
    links: usize,
    /// Pages with links that stay as they are.
    kept: Vec<String>,
    /// Why pages cannot be read.
    problems: Vec<String>,
    /// Pages that may not be changed.
    unwritable: Vec<String>,
}

impl Others {
    fn relinked(
        space: &Space<'_>,
        renaming: &Renaming<'_>,
        pages: &[PageName],
        page: &PageName,
        earlier: &mut EarlierRun,
    ) -> Result<Self, ModelError> {
        let mut found = Self::default();
        let mut seen = BTreeSet::from([space.real(page)?]);
        for other in pages.iter().filter(|other| *other != page) {
            space.go_on()?;
            // A page under two names is changed once.
            if !seen.insert(space.real(other)?) {
                continue;
            }
            let read = space.read(other).map_err(|error| error.to_string().trim_end_matches('.').to_owned());
            let Ok(content) = read.map_err(|problem| found.problems.push(problem)) else { continue };
            let is_done = earlier.look_at(space, other, &content)?;
            let Some(relinked) = renaming.relink(other, &content) else { continue };
            let changes = !is_done && relinked.links > 0;
            if changes && !space.context.permitted.allows(Access::Write, &space.file(other)?) {
                found.unwritable.push(format!("`{other}`"));
                continue;
            }
            if relinked.kept > 0 {
                found.kept.push(format!("`{other}`"));
            }
            if changes {
                found.links += relinked.links;
                found.files.push(change(space, other, Some(content), relinked.content, None)?);
            }
        }
        Ok(found)
    }

    /// How many links change, and where, with those of the page itself.
    fn changed(&self, own_links: usize) -> String {
        let others = self.files.len();
        let named: Vec<String> = self.files.iter().map(|file| format!("`{}`", file.name)).collect();
        let links = |count: usize| things(count, "link");
        let own = format!("{} in the page itself", links(own_links));
        let pages = things(others, "other page");
        let changed = format!("{} in {pages}: {}", links(self.links), report::named(&named, MAX_NAMED));
        match (own_links, others) {
            (0, 0) => links(0),
            (0, _) => changed,
            (_, 0) => own,
            _ => format!("{own} and {changed}"),
        }
    }
}

/// What an earlier run of a call has left in pages, which was interrupted or has failed halfway: the call goes on from there.
struct EarlierRun {
    left: LeftBefore,
    done: Vec<String>,
    changed_since: Vec<String>,
    by_others: Vec<String>,
}

impl EarlierRun {
    /// What earlier runs of a call that moves `page` have done.
    ///
    /// # Errors
    /// If the page must not be read.
    fn of_move(space: &Space<'_>, page: &PageName) -> Result<Self, ModelError> {
        let mut left = space.context.recorder.as_ref().map(|recorder| recorder.left_before()).unwrap_or_default();
        let is_gone = left.same.get(&space.real(page)?) == Some(&FileState::Absent);
        // A call that has moved it was complete. If the page is there again, it is another one.
        if is_gone && space.is_taken(page)? {
            left.same.clear();
        }
        Ok(Self { left, done: Vec::new(), changed_since: Vec::new(), by_others: Vec::new() })
    }

    /// Whether an earlier run has taken a page away.
    ///
    /// # Errors
    /// If the page must not be read.
    fn has_removed(&self, space: &Space<'_>, page: &PageName) -> Result<bool, ModelError> {
        Ok(self.left.same.get(&space.real(page)?) == Some(&FileState::Absent))
    }

    /// Whether a page has this content from an earlier run.
    ///
    /// # Errors
    /// If the page must not be read.
    fn has_left(&self, space: &Space<'_>, page: &PageName, content: &[u8]) -> Result<bool, ModelError> {
        let left = self.left.same.get(&space.real(page)?);
        Ok(left.and_then(FileState::digest).is_some_and(|left| *left == Digest::of(content)))
    }

    /// The same, for the result: it says which pages an earlier run has changed, which of them somebody has changed since, and which
    /// pages another call has left half done.
    ///
    /// # Errors
    /// If the page must not be read.
    fn look_at(&mut self, space: &Space<'_>, page: &PageName, content: &[u8]) -> Result<bool, ModelError> {
        let (is_done, path) = (self.has_left(space, page, content)?, space.real(page)?);
        let of_other = self.left.others.get(&path).and_then(FileState::digest);
        if of_other.is_some_and(|left| *left == Digest::of(content)) {
            self.by_others.push(format!("`{page}`"));
        }
        if is_done {
            self.done.push(format!("`{page}`"));
        } else if matches!(self.left.same.get(&path), Some(FileState::File { .. })) {
            self.changed_since.push(format!("`{page}`"));
        }
        Ok(is_done)
    }

    /// What the result says of it; empty if there was no such run.
    fn note(&self) -> String {
        let of_this = "An earlier run of this call, which did not finish, had changed";
        let since = "too, and somebody has changed them since. Links there were taken as they are now; look at them]";
        let of_other = ", and has not moved its page. Links there may lead to the name that it was to get]";
        let told = [
            (&self.done, format!(" {of_this} "), ".".to_owned()),
            (&self.changed_since, format!("\n\n[{of_this} "), format!(" {since}")),
            (&self.by_others, "\n\n[Another call of this tool has changed ".to_owned(), of_other.to_owned()),
        ];
        let told = told.iter().filter(|(pages, ..)| !pages.is_empty());
        told.map(|(pages, before, after)| format!("{before}{}{after}", report::named(pages, MAX_EARLIER))).collect()
    }
}
