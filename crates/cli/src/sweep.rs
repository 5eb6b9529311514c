//! `flemma sweep`: the calls whose deadline has passed.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    arguments::{Sweep, Takeover},
    desk::{Desk, Lock, Opened},
    editor,
    files::Found,
    host::BUFFER,
    names,
    report::{Failure, Report, who},
    state,
    waiting::Look,
};
use flemma_journal::Role;
use flemma_runtime::holder;
use flemma_workspace::Resolution;

/// What was done.
#[derive(Default)]
struct Swept {
    lines: Vec<String>,
    expired: Vec<Value>,
    held: Vec<String>,
    left: Vec<Value>,
    errors: Vec<String>,
}

/// Gives the calls of a conversation, or of all in a folder, whose deadline has passed their error result. Words of a file
/// authorise nothing, but a deadline only lets a call end.
///
/// # Errors
/// When there is no such file or folder.
pub(super) fn sweep(Sweep { place, takeover }: &Sweep) -> Result<Report, Failure> {
    let look = Look::new()?;
    let mut swept = Swept::default();
    let failed = Found::at(&place.path)?.each(|file| {
        if !look.at(file)?.iter().any(|call| call.found.is_overdue) {
            holder::tidy(&state::locks()?, file);
            return Ok(());
        }
        let name = names::path(file);
        match open(file, *takeover)? {
            Opened::Here(desk) => swept.one(*desk, file, &look, &name),
            // Whoever holds it watches its deadlines.
            Opened::Elsewhere(owner) => {
                swept.lines.push(format!("{name}: left to {}, which has it open", who(owner.as_ref())));
                swept.held.push(file.to_string_lossy().into_owned());
            }
        }
        Ok(())
    });
    swept.errors.splice(..0, failed);
    let Swept { lines, expired, held, left, errors } = swept;
    let json = json!({ "ok": errors.is_empty(), "expired": expired, "held": held, "left": left, "errors": errors });
    Ok(Report::with_errors(lines.join("\n"), json, errors))
}

impl Swept {
    /// Lets the calls of one conversation expire.
    fn one(&mut self, desk: Desk, file: &Path, look: &Look, name: &str) {
        let true_name = &*file.to_string_lossy();
        // Calls that the journal knows expire when they are opened.
        self.errors.extend(desk.settle().err().map(|failure| failure.to_string()));
        for (call, has_text) in desk.workspace.calls.overdue(BUFFER) {
            let id = names::word(&call.0);
            if has_text {
                let why = "its deadline has passed, but its block has text that was not sent; open it in an editor";
                self.lines.push(format!("{name}: {id} was left as it is: {why}"));
                self.left.push(json!({ "file": true_name, "call": call.0, "why": why }));
                continue;
            }
            match desk.resolve(&call, Resolution::Expire, Role::Clock) {
                Ok(Ok(())) => {}
                Ok(Err(problem)) => {
                    let why = names::message(&problem.explained());
                    self.errors.push(format!("{name}: {id} was left as it is: {why}"));
                    self.left.push(json!({ "file": true_name, "call": call.0, "why": why }));
                }
                Err(failure) => self.errors.push(failure.to_string()),
            }
        }
        let (told, written) = desk.close();
        self.errors.extend(told);
        self.errors.extend(written.err().map(|failure| failure.to_string()));
        match look.expired_here(file) {
            Ok(calls) => {
                for call in calls {
                    self.lines.push(format!("{name}: {} has expired", names::word(&call)));
                    self.expired.push(json!({ "file": true_name, "call": call }));
                }
            }
            Err(failure) => self.errors.push(failure.to_string()),
        }
    }
}

/// Opens a conversation, unless another process watches its deadlines.
fn open(file: &Path, takeover: Takeover) -> Result<Opened, Failure> {
    let opened = Desk::open(file, Lock::Ask)?;
    match &opened {
        Opened::Elsewhere(_) if takeover.steal && !editor::has_answering(file)? => Desk::open(file, Lock::Steal),
        _ => Ok(opened),
    }
}
