//! Work that blocks on the disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use crate::{Context, Outcome, seconds};
use flemma_model::ModelError;

/// How long a file tool may continue after it was cancelled.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs blocking work on a separate thread.
///
/// The work checks `context.cancel` and the call's timeout itself where it can stop
/// ([`Deadline`](super::deadline::Deadline)), and so has something to show then. If it does not respond (because of a lost network
/// share, for example), it is abandoned [`PATIENCE`] later, so that it never blocks a conversation.
pub(super) async fn blocking(context: Context, work: impl FnOnce(&Context) -> Outcome + Send + 'static) -> Outcome {
    let (cancel, timeout, commitment) = (context.cancel.clone(), context.timeout, context.commitment.clone());
    // This panics if the system cannot start a thread.
    let work = move || {
        let outcome = work(&context);
        // Whatever it has found, the user has to decide first, unless files are changed already.
        match context.judged.as_ref().and_then(|judged| judged.strayed()) {
            Some(why) if !context.commitment.has_begun() => Outcome::Outdated(why.clone()),
            _ => outcome,
        }
    };
    let begun = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(work)));
    let Ok(mut task) = begun else {
        return Outcome::failure(ModelError::new(
            "The system could not start a thread, so the tool did not run. Try again later.",
        ));
    };
    let given_up = async {
        tokio::select! {
            () = tokio::time::sleep(timeout.saturating_add(PATIENCE)) => format!("within {}", seconds::in_words(timeout)),
            () = async { cancel.cancelled().await; tokio::time::sleep(PATIENCE).await } => "until it was cancelled".into(),
        }
    };
    tokio::select! {
        done = &mut task => match done {
            Ok(outcome) => outcome,
            Err(error) => Outcome::failure(ModelError::new(format!("The tool failed: {error}. This is a bug in Flemma."))),
        },
        when = given_up => {
            // What still runs changes nothing any more, unless it has begun to.
            let change = if commitment.bar() { "No file was changed." } else { "A change that the call has begun may still happen." };
            Outcome::failure(ModelError::new(format!("The file system did not answer {when}. {change}")))
        }
    }
}
