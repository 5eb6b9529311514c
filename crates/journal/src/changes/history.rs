//! What the log of a conversation says.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
};

use super::{Act, Cause, Change, ChangeId, FileState, Line, Step};
use crate::CallKey;
use flemma_model::{CallId, UserError};

/// Which changes are to be taken back.
#[expect(missing_docs, reason = "what is said of them says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those of the call that has made the last change that stands.
    Last,
    /// Those of this call.
    Call(CallId),
    /// Those that the last command took back: they are made again.
    Redo,
    /// All that were made after a message: the calls up to this message, and those after it.
    After { before: Vec<CallKey>, after: Vec<CallKey> },
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Made,
    NotMade,
    /// The process ended before it said so.
    Unsaid,
}

/// The changes of a conversation, in their order.
#[derive(Clone, Debug, Default)]
pub struct History {
    changes: Vec<(Change, Outcome)>,
}

impl History {
    /// What these lines say, in their order. Of two changes with the same name the first one counts.
    pub fn of(lines: impl IntoIterator<Item = Line>) -> Self {
        let mut changes: Vec<(Change, Outcome)> = Vec::new();
        let mut places = HashMap::new();
        for line in lines {
            let known = places.get(line.id()).copied();
            match (line, known) {
                (Line::Change(change), None) => {
                    places.insert(change.id.clone(), changes.len());
                    changes.push((*change, Outcome::Unsaid));
                }
                (Line::Change(_), Some(_)) | (Line::Made { .. } | Line::NotMade { .. }, None) => {}
                (Line::Made { .. }, Some(place)) => changes[place].1 = Outcome::Made,
                (Line::NotMade { .. }, Some(place)) => changes[place].1 = Outcome::NotMade,
            }
        }
        let mut history = Self { changes };
        // What the next change of a file found there says what became of the one before.
        let mut next: HashMap<PathBuf, FileState> = HashMap::new();
        for (change, outcome) in history.changes.iter_mut().rev() {
            if let Some(found) = next.get(&change.path) {
                settle(change, outcome, found);
            }
            next.insert(change.path.clone(), change.old.clone());
        }
        history
    }

    /// The files that have to be looked at to know what became of a change.
    pub fn unsettled(&self) -> Vec<PathBuf> {
        let unsaid = self.changes.iter().filter(|(_, outcome)| *outcome == Outcome::Unsaid);
        let paths: HashSet<&PathBuf> = unsaid.map(|(change, _)| &change.path).collect();
        paths.into_iter().cloned().collect()
    }

    /// A file was looked at.
    pub fn settle(&mut self, path: &Path, found: &FileState) {
        let of_path = self.changes.iter_mut().rev().find(|(change, _)| change.path == path);
        if let Some((change, outcome)) = of_path {
            settle(change, outcome, found);
        }
    }

    /// All changes that were made or may have been, in their order.
    pub fn made(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.changes.iter().filter(|(_, outcome)| *outcome != Outcome::NotMade).map(|(change, _)| change)
    }

    /// The changes that stand: no change that stands takes them back.
    fn standing(&self) -> HashSet<&ChangeId> {
        let (mut standing, mut reverted) = (HashSet::new(), HashSet::new());
        for change in self.made().rev() {
            if !reverted.contains(&change.id) {
                standing.insert(&change.id);
                reverted.extend(change.reverts());
            }
        }
        standing
    }

    /// The changes of calls that stand, in their order.
    fn standing_of_calls(&self) -> Vec<&Change> {
        let standing = self.standing();
        self.made().filter(|change| change.call().is_some() && standing.contains(&change.id)).collect()
    }

    /// What the calls of a tool have left in files, as far as that stands: by the digest of their input, and by path.
    pub fn left_by(&self, tool: &str) -> BTreeMap<String, BTreeMap<PathBuf, FileState>> {
        let mut left: BTreeMap<String, BTreeMap<PathBuf, FileState>> = BTreeMap::new();
        for change in self.standing_of_calls() {
            if let Some((_, _, input)) = key_of(change).filter(|(_, by, _)| *by == tool) {
                left.entry(input.to_owned()).or_default().insert(change.path.clone(), change.new.clone());
            }
        }
        left
    }

    /// What a call has left in files, as far as that stands.
    pub fn left_by_call(&self, key: &CallKey) -> BTreeMap<PathBuf, FileState> {
        let wanted = parts(key);
        let standing = self.standing_of_calls().into_iter();
        let own = standing.filter(|change| key_of(change) == Some(wanted));
        own.map(|change| (change.path.clone(), change.new.clone())).collect()
    }

    /// What taking changes back does, file by file, the latest change first.
    ///
    /// # Errors
    /// When there is nothing to take back, with the reason.
    pub fn steps(&self, wanted: &Wanted) -> Result<Vec<Step>, UserError> {
        let standing = self.standing_of_calls();
        let selected: Vec<&Change> = match wanted {
            Wanted::Last => {
                // A call that was interrupted, and run again, is one call.
                let last = standing.last().and_then(|change| call_of(change));
                let is_of_call = |change: &&Change| key_of(change) == last.map(|(key, _)| key);
                let of_call = standing.iter().rev().take_while(|change| is_of_call(change)).count();
                let is_last = |(place, change): &(usize, &&Change)| {
                    *place >= standing.len() - of_call || run_of(change) == last.map(|(_, run)| run)
                };
                standing.iter().enumerate().filter(is_last).map(|(_, change)| *change).collect()
            }
            Wanted::Call(id) => {
                let last = standing.iter().rfind(|change| change.call() == Some(id)).map(|change| key_of(change));
                standing.iter().filter(|change| last.is_some() && key_of(change) == last.flatten()).copied().collect()
            }
            Wanted::After { before, after } => self.after(&standing, before, after),
            Wanted::Redo => return self.steps_forward(),
        };
        if selected.is_empty() {
            return Err(self.why_nothing(wanted));
        }
        let mut files: Vec<&Path> = Vec::new();
        for change in selected.iter().rev() {
            if !files.contains(&change.path.as_path()) {
                files.push(&change.path);
            }
        }
        Ok(files.into_iter().filter_map(|path| self.step_back(path, &selected, &standing)).collect())
    }

    fn step_back(&self, path: &Path, selected: &[&Change], standing: &[&Change]) -> Option<Step> {
        let is_selected = |change: &&&Change| selected.iter().any(|selected| selected.id == change.id);
        let of_path: Vec<&Change> = standing.iter().filter(|change| change.path == path).copied().collect();
        let first = of_path.iter().position(|change| is_selected(&change))?;
        let back = &of_path[first..];
        let calls_of = |changes: Vec<&&Change>| {
            let mut calls: Vec<CallId> = Vec::new();
            for call in changes.into_iter().filter_map(|change| change.call()) {
                if !calls.contains(call) {
                    calls.push(call.clone());
                }
            }
            calls
        };
        Some(Step {
            path: path.to_owned(),
            act: Act::Undo,
            target: back[0].old.clone(),
            expected: back.last()?.new.clone(),
            is_unbroken: back.windows(2).all(|pair| pair[0].new == pair[1].old),
            reverts: back.iter().map(|change| change.id.clone()).collect(),
            calls: calls_of(back.iter().filter(is_selected).collect()),
            also: calls_of(back.iter().filter(|change| !is_selected(change)).collect()),
            blocked_by: None,
            folders: self.folders_of(path),
        })
    }

    /// What the last command that took changes back has done is taken back itself.
    fn steps_forward(&self) -> Result<Vec<Step>, UserError> {
        let standing = self.standing();
        let step_of = |change: &Change| match &change.cause {
            Cause::User { act: Act::Undo, step, .. } if standing.contains(&change.id) => Some(step.clone()),
            _ => None,
        };
        let Some(last) = self.made().rev().find_map(step_of) else {
            return Err(self.why_nothing(&Wanted::Redo));
        };
        let made: Vec<&Change> = self.made().collect();
        let undone = made.iter().enumerate().filter(|(_, change)| step_of(change).as_ref() == Some(&last));
        let forward = |(place, undo): (usize, &&Change)| {
            let calls =
                undo.reverts().iter().filter_map(|id| made.iter().find(|change| change.id == *id)?.call().cloned());
            let since = made[place + 1..].iter().filter(|change| change.path == undo.path);
            let blocked_by =
                since.filter(|change| standing.contains(&change.id)).find_map(|change| change.call().cloned());
            Step {
                path: undo.path.clone(),
                act: Act::Redo,
                target: undo.old.clone(),
                expected: undo.new.clone(),
                is_unbroken: true,
                reverts: vec![undo.id.clone()],
                calls: calls.collect(),
                also: Vec::new(),
                blocked_by,
                folders: self.folders_of(&undo.path),
            }
        };
        Ok(undone.map(forward).collect())
    }

    /// The files to which these steps give another name: each with the path that it has and the path that it gets.
    pub fn moves(&self, steps: &[Step]) -> Vec<(PathBuf, PathBuf)> {
        let made: Vec<&Change> = self.made().collect();
        let step_of = |id: &ChangeId| steps.iter().find(|step| self.roots(&step.reverts).contains(id));
        let mut moves = Vec::new();
        for (place, leaves) in made.iter().enumerate() {
            // A call that moves a file first makes it in the new place, and then takes it away from the old one.
            let is_origin = |arrives: &&&Change| {
                run_of(arrives).is_some()
                    && run_of(arrives) == run_of(leaves)
                    && arrives.path != leaves.path
                    && arrives.old == FileState::Absent
                    && arrives.new == leaves.old
            };
            if leaves.new != FileState::Absent || leaves.old == FileState::Absent {
                continue;
            }
            let Some(arrives) = made[..place].iter().rfind(is_origin) else { continue };
            if let (Some(here), Some(there)) = (step_of(&arrives.id), step_of(&leaves.id)) {
                match (&here.target, &there.target) {
                    (FileState::Absent, FileState::File { .. }) => moves.push((here.path.clone(), there.path.clone())),
                    (FileState::File { .. }, FileState::Absent) => moves.push((there.path.clone(), here.path.clone())),
                    _ => {}
                }
            }
        }
        moves
    }

    /// The changes of calls that these changes go back to.
    fn roots(&self, ids: &[ChangeId]) -> HashSet<ChangeId> {
        let (mut found, mut left) = (HashSet::new(), ids.to_vec());
        while let Some(id) = left.pop() {
            let reverts = self.made().find(|change| change.id == id).map_or(&[][..], Change::reverts);
            // A change only reverts earlier ones, so this ends; a log that somebody has edited may say otherwise.
            if found.insert(id) {
                left.extend_from_slice(reverts);
            }
        }
        found
    }

    /// The changes that were made after a message. A vendor may use an id twice: then the last runs with it belong to the calls
    /// after the message. A call that is no longer in the conversation counts by its place in the log: it came after the message if
    /// it came after all changes that were made up to there.
    fn after<'a>(&self, standing: &[&'a Change], before: &[CallKey], after: &[CallKey]) -> Vec<&'a Change> {
        let mut runs: BTreeMap<KeyParts<'_>, Vec<&str>> = BTreeMap::new();
        for change in self.made() {
            if let Some((key, run)) = call_of(change) {
                let runs = runs.entry(key).or_default();
                if !runs.contains(&run) {
                    runs.push(run);
                }
            }
        }
        let count = |keys: &[CallKey], wanted: KeyParts<'_>| keys.iter().filter(|key| parts(key) == wanted).count();
        let (mut kept, mut later): (HashSet<&str>, HashSet<&str>) = (HashSet::new(), HashSet::new());
        for (key, runs) in &runs {
            let split = match (count(before, *key), count(after, *key)) {
                (0, 0) => continue,
                (0, _) => 0,
                (_, after) => runs.len().saturating_sub(after),
            };
            kept.extend(&runs[..split]);
            later.extend(&runs[split..]);
        }
        let is_kept = |change: &Change| run_of(change).is_some_and(|run| kept.contains(run));
        let order: HashMap<&ChangeId, usize> =
            self.made().enumerate().map(|(place, change)| (&change.id, place)).collect();
        let cut =
            self.made().filter(|change| is_kept(change)).filter_map(|change| order.get(&change.id)).max().copied();
        let is_later = |change: &&&Change| {
            let is_after_cut = order.get(&change.id).copied() > cut;
            !is_kept(change) && (is_after_cut || run_of(change).is_some_and(|run| later.contains(run)))
        };
        standing.iter().filter(is_later).copied().collect()
    }

    /// The folders that were made for a file, innermost first.
    fn folders_of(&self, path: &Path) -> Vec<PathBuf> {
        let made = self.made().flat_map(|change| &change.folders);
        let mut folders: Vec<PathBuf> = made.filter(|folder| path.starts_with(folder)).cloned().collect();
        folders.sort_unstable_by(|a, b| b.cmp(a));
        folders.dedup();
        folders
    }

    /// Why there is nothing to take back.
    fn why_nothing(&self, wanted: &Wanted) -> UserError {
        let calls: HashSet<&CallId> = self.made().filter_map(Change::call).collect();
        UserError::new(match wanted {
            Wanted::Call(id) if calls.contains(id) => {
                format!("what {id} has written is taken back already; `:Flemma redo` makes it again")
            }
            Wanted::Call(id) => format!("{id} has written no file in this conversation, as far as is recorded"),
            Wanted::Redo => "nothing was taken back that could be made again".to_owned(),
            Wanted::After { .. } => "no file was written after this message, as far as is recorded".to_owned(),
            Wanted::Last if calls.is_empty() => {
                "this conversation has written no file, as far as is recorded (changes made by commands are not)"
                    .to_owned()
            }
            Wanted::Last => {
                "all that this conversation has written is taken back; `:Flemma redo` makes it again".to_owned()
            }
        })
    }
}

/// Decides what became of a change by what there was afterwards. What is neither its old nor its new state was put there by
/// somebody else, or a write in place was cut off: then the change counts as made, so that it can be taken back.
fn settle(change: &Change, outcome: &mut Outcome, found: &FileState) {
    if *outcome == Outcome::Unsaid {
        *outcome = if *found == change.old { Outcome::NotMade } else { Outcome::Made };
    }
}

/// A call by its id, its tool and the digest of its input.
type KeyParts<'a> = (&'a CallId, &'a str, &'a str);

fn parts(key: &CallKey) -> KeyParts<'_> {
    (&key.id, &key.tool, key.input.as_str())
}

/// The call that has made a change, and its run.
fn call_of(change: &Change) -> Option<(KeyParts<'_>, &str)> {
    match &change.cause {
        Cause::Call { id, tool, input, run } => Some(((id, tool, input), run)),
        Cause::User { .. } => None,
    }
}

fn key_of(change: &Change) -> Option<KeyParts<'_>> {
    call_of(change).map(|(key, _)| key)
}

fn run_of(change: &Change) -> Option<&str> {
    call_of(change).map(|(_, run)| run)
}
