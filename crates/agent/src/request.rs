//! Requests and their replies: what is captured before one is sent, what of it arrives, and how it ends.

use super::{
    Activity, Effect, Level, RequestId, RequestKind, Stop,
    phase::{Deferred, Phase, ReviewCause},
    turn::Agent,
    view::View,
};
use flemma_model::{Event, StopReason, UserError};
use flemma_provider::{ProviderError, retry};

impl Agent {
    /// Sends the conversation. No call is open.
    pub(super) fn send(&mut self, kind: RequestKind, view: &dyn View, effects: &mut Vec<Effect>) {
        if !view.tools_ready() {
            self.load(Deferred::Send(kind));
            return;
        }
        // A document with an error is not sent, and what it refers to is not looked at.
        if view.has_uncaptured() && view.fault().is_none() {
            self.phase = Phase::Capturing(kind);
            effects.push(Effect::Capture);
            return;
        }
        self.request(kind, effects);
    }

    /// What the references in the user's message mean is known, or why it is not.
    pub(super) fn captured(&mut self, outcome: Result<(), UserError>, view: &dyn View, effects: &mut Vec<Effect>) {
        let Phase::Capturing(kind) = self.phase else { return };
        match outcome {
            Ok(()) => {
                self.has_captured = true;
                effects.push(Effect::UndoStep);
                effects.push(Effect::WriteCaptures);
                self.request(kind, effects);
            }
            Err(problem) => {
                self.give_up(kind, view, effects);
                effects.push(Effect::Diagnose);
                effects.push(Effect::Notify(Level::Error, problem.to_string()));
            }
        }
    }

    fn request(&mut self, kind: RequestKind, effects: &mut Vec<Effect>) {
        self.turns += 1;
        self.last_request += 1;
        let request = RequestId(self.last_request);
        self.phase = Phase::Requesting { request, kind, attempt: 1 };
        effects.push(Effect::Send(request, kind));
    }

    /// Sends without a key press, unless a limit is reached.
    pub(super) fn send_on_autopilot(&mut self, kind: RequestKind, view: &dyn View, effects: &mut Vec<Effect>) {
        let settings = view.settings();
        self.stop = if self.turns >= settings.max_turns {
            Some(Stop::TurnLimit(settings.max_turns))
        } else {
            self.guard.end_round().map(Stop::Repetition)
        };
        let Some(stop) = self.stop.clone() else { return self.send(kind, view, effects) };
        self.give_up(kind, view, effects);
        effects.push(Effect::Stopped(stop));
    }

    pub(super) fn event(&mut self, request: RequestId, event: Event, view: &dyn View, effects: &mut Vec<Effect>) {
        match &self.phase {
            Phase::Requesting { request: current, .. } | Phase::Streaming { request: current, .. }
                if *current == request => {}
            _ => return,
        }
        let activity = match &event {
            Event::Finished(reason) => return self.finished(reason, view, effects),
            // Shows nothing, so a retry would still be invisible.
            Event::Usage(usage) => {
                effects.push(Effect::Used(*usage));
                return;
            }
            Event::Text(_) => Activity::Writing,
            Event::ThinkingStarted | Event::Thinking(_) => Activity::Thinking,
            Event::ToolUseProgress { name, bytes } => Activity::Calling { tool: name.clone(), bytes: *bytes },
            Event::HostedUse { name, .. } => Activity::Hosting { tool: name.clone() },
            Event::ThinkingFinished { .. }
            | Event::RedactedThinking(_)
            | Event::ToolUse { .. }
            | Event::HostedResult { .. }
            | Event::Citations { .. } => Activity::Waiting,
        };
        if let Phase::Requesting { .. } = self.phase {
            if !std::mem::take(&mut self.has_captured) {
                effects.push(Effect::UndoStep);
            }
            effects.push(Effect::OpenReply);
        }
        self.phase = Phase::Streaming { request, activity };
        effects.push(Effect::Write(event));
    }

    fn finished(&mut self, reason: &StopReason, view: &dyn View, effects: &mut Vec<Effect>) {
        let stopped = match reason {
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Pause => None,
            StopReason::MaxTokens => Some(
                "The reply was cut off at max_tokens; raise parameters.max_tokens, or ask the model to continue."
                    .to_owned(),
            ),
            StopReason::ContextFull => Some(
                "The reply was cut off: the model's context is full, and a higher max_tokens would not help. \
                 Shorten the conversation, or give the server a larger context."
                    .to_owned(),
            ),
            StopReason::Blocked(reason) => Some(format!("The provider ended the reply: it was blocked ({reason}).")),
            StopReason::Refusal => Some("The provider ended the reply: the model refused to continue.".to_owned()),
            StopReason::Other(reason) => Some(format!("The provider ended the reply: {reason}.")),
        };
        self.stop = stopped.is_some().then_some(Stop::Incomplete);
        if matches!(reason, StopReason::Refusal | StopReason::Blocked(_)) {
            // Calls before that must not run without the user.
            self.armed = false;
        }
        if let Phase::Requesting { kind, .. } = self.phase {
            self.give_up(kind, view, effects);
            effects.push(match stopped {
                Some(message) => Effect::Notify(Level::Warn, message),
                None => {
                    let message = "The model's reply was empty.".to_owned();
                    Effect::Advise(Level::Warn, message, "Press Ctrl-] to ask again.")
                }
            });
            return;
        }
        if let Some(message) = stopped {
            effects.push(Effect::Notify(Level::Warn, message));
        }
        effects.push(Effect::CloseReply { aborted: false });
        let after = if *reason == StopReason::Pause { ReviewCause::PartOfReply } else { ReviewCause::Reply };
        self.review_after(after, effects);
    }

    pub(super) fn failed(
        &mut self,
        request: RequestId,
        error: &ProviderError,
        jitter: f64,
        view: &dyn View,
        effects: &mut Vec<Effect>,
    ) {
        match &self.phase {
            Phase::Requesting { request: current, kind, attempt } if *current == request => {
                let (kind, attempt) = (*kind, *attempt);
                match retry::delay(attempt, error, false, jitter) {
                    Some(pause) => {
                        self.phase = Phase::BackingOff { request, kind, attempt, reason: error.to_string() };
                        effects.push(Effect::Backoff(request, pause));
                    }
                    None => {
                        self.give_up(kind, view, effects);
                        effects.push(Effect::Notify(Level::Error, error.to_string()));
                    }
                }
            }
            Phase::Streaming { request: current, .. } if *current == request => {
                self.armed = false;
                self.cut_off.clone_from(&error.for_model);
                effects.push(Effect::CloseReply { aborted: true });
                effects.push(Effect::Notify(Level::Error, error.to_string()));
                self.review_after(ReviewCause::AbortedReply, effects);
            }
            _ => {}
        }
    }

    pub(super) fn backoff_over(&mut self, request: RequestId, effects: &mut Vec<Effect>) {
        if let Phase::BackingOff { request: current, kind, attempt, .. } = self.phase
            && current == request
        {
            self.phase = Phase::Requesting { request, kind, attempt: attempt + 1 };
            effects.push(Effect::Send(request, kind));
        }
    }
}
