//! The status blocks of calls: what is written of them in the document.

use super::{LifecycleEvent, Placement, Shell, view::View as _, work::awaited};
use flemma_chat::{self as chat, Awaiting, OpenCall, Status, StatusBlock};
use flemma_model::{CallId, ToolInput};

/// New calls that wait for the user, whatever the policies say. One whose input is no JSON runs in no case.
pub(super) fn held<S: Shell>(shell: &S) -> Vec<(CallId, Placement)> {
    let is_new = |call: &OpenCall| call.placeholder.is_none() && matches!(*call.input, ToolInput::Json(_));
    let calls = shell.open_calls().into_iter().filter(is_new);
    calls.map(|call| (call.id.clone(), Placement::Awaits(awaited(shell.suspends_as(&call))))).collect()
}

/// Writes the first status blocks of calls, and tells of those that wait.
pub(super) fn place<S: Shell>(calls: &[(CallId, Placement)], shell: &S) {
    write_blocks(calls, shell);
    tell_blocks(calls, shell);
}

/// Writes the first status blocks of calls.
pub(super) fn write_blocks<S: Shell>(calls: &[(CallId, Placement)], shell: &S) {
    if calls.is_empty() {
        return;
    }
    let block = |id, placement| match placement {
        Placement::Awaits(kind) => StatusBlock::pending(&shell.awaiting(id, kind)),
        Placement::Approved => StatusBlock::new(Status::Approved),
        Placement::Denied => StatusBlock::new(Status::Denied),
    };
    let blocks: Vec<_> = calls.iter().map(|(id, placement)| (id.clone(), block(id, *placement))).collect();
    shell.placed(calls);
    shell.apply(&shell.with_document(|document, text| chat::insert_placeholders(document.calls(), text, &blocks)));
    calls.iter().for_each(|(id, _)| shell.authorise(id));
}

/// Tells of the calls that wait.
pub(super) fn tell_blocks<S: Shell>(calls: &[(CallId, Placement)], shell: &S) {
    for (id, placement) in calls {
        if let Placement::Awaits(kind) = placement {
            shell.announce(LifecycleEvent::ToolPending(id, *kind));
        }
    }
}

/// Changes the status of a call, and what its block says about waiting. Only the word changes where nothing else does.
pub(super) fn set_block<S: Shell>(id: &CallId, status: Status, awaiting: Option<&Awaiting>, shell: &S) {
    shell.apply(&shell.with_document(|document, text| {
        let calls = document.calls();
        let block = calls.find(id, text).and_then(|call| call.placeholder).map(|placeholder| placeholder.block);
        match block {
            Some(block) if awaiting.is_some_and(|wait| *wait != Awaiting::default()) || block.names_a_wait() => {
                chat::set_block(calls, text, id, &block.moved_to(status, awaiting))
            }
            _ => chat::set_status(calls, text, id, status),
        }
    }));
}
