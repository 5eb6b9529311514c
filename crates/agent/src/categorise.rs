//! The first half of a round: each new call gets a status block, or a result.

use super::{
    Agent, CallResult, Effect, Level, Placement,
    phase::Round,
    round::{awaited, restored},
    view::{Verdict, View},
};
use flemma_chat::AwaitKind;

impl Agent {
    /// Gives new calls status blocks, or results.
    pub(super) fn categorise(
        &mut self,
        round: &mut Round,
        is_late: &mut dyn FnMut() -> bool,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        let (mut place, mut settled) = (Vec::new(), Vec::new());
        while let Some(id) = round.new.pop_front() {
            if is_late() {
                round.new.push_front(id);
                break;
            }
            let Some(call) = view.open_call(&id) else { continue };
            // An id may be reused. A decision about an older call does not apply to this one.
            self.approvals.remove(&id);
            if let Some(answer) = view.recorded(&call) {
                effects.push(restored(&call, view));
                settled.push((call, answer));
                continue;
            }
            let placement = match (view.verdict(&call), view.suspends_as(&call)) {
                (Verdict::Invalid(reason), _) => {
                    settled.push((call, CallResult::error(reason.to_string())));
                    continue;
                }
                (Verdict::Deny, _) => Placement::Denied,
                (Verdict::Run | Verdict::Ask, Some(AwaitKind::Elicitation)) => {
                    Placement::Awaits(AwaitKind::Elicitation)
                }
                (Verdict::Run, _) => {
                    self.approvals.insert(id.clone(), (call.name.clone(), call.input.clone()));
                    Placement::Approved
                }
                (Verdict::Ask, _) => Placement::Awaits(AwaitKind::Approval),
                (Verdict::Unclear(why), kind) => {
                    let warning = format!("{}: {why}. It waits for you.", call.label());
                    effects.push(Effect::Notify(Level::Warn, warning));
                    Placement::Awaits(awaited(kind))
                }
            };
            if matches!(placement, Placement::Awaits(_)) && round.waits.is_none() {
                round.waits = Some(id.clone());
            }
            round.placed.insert(id.clone(), placement.status());
            place.push((id, placement));
        }
        if !place.is_empty() {
            effects.push(Effect::Place(place));
        }
        for (call, answer) in settled {
            self.settle(&call, answer, effects);
            round.settled.insert(call.id);
        }
    }
}
