//! Requests and their replies: what is captured before one is sent, what of it arrives, and how it ends.

use super::{
    Activity, Level, RequestId, Stop,
    effect::{Effect, RequestKind},
    phase::{Deferred, Phase, ReviewCause},
    step::Step,
    turn::Turn,
};
use flemma_chat::Ending;
use flemma_model::{Event, Hosted, HostedBlock, StopReason, UserError};
use flemma_provider::{ProviderError, Refusal, retry};

impl Turn {
    /// Sends the conversation. No call is open.
    pub(super) fn send(&mut self, kind: RequestKind, step: &mut Step<'_>) {
        if !step.view.tools_ready() {
            self.load(Deferred::Send(kind));
            return;
        }
        // A document with an error is not sent, and what it refers to is not looked at.
        if step.view.has_uncaptured() && step.view.fault().is_none() {
            self.phase = Phase::Capturing(kind);
            step.push(Effect::Capture);
            return;
        }
        self.request(kind, step);
    }

    /// What the references in the user's message mean is known, or why it is not.
    pub(super) fn captured(&mut self, outcome: Result<(), UserError>, step: &mut Step<'_>) {
        let Phase::Capturing(kind) = self.phase else { return };
        match outcome {
            Ok(()) => {
                self.has_captured = true;
                step.push(Effect::UndoStep);
                step.push(Effect::WriteCaptures);
                self.request(kind, step);
            }
            Err(problem) => {
                self.give_up(kind, step);
                step.push(Effect::Diagnose);
                step.tell(Level::Error, problem.to_string());
            }
        }
    }

    fn request(&mut self, kind: RequestKind, step: &mut Step<'_>) {
        self.autopilot.turns += 1;
        self.last_request += 1;
        let request = RequestId(self.last_request);
        self.phase = Phase::Requesting { request, kind, attempt: 1 };
        step.push(Effect::Send(request, kind));
    }

    /// Sends without a key press, unless a limit is reached.
    pub(super) fn send_on_autopilot(&mut self, kind: RequestKind, step: &mut Step<'_>) {
        let settings = step.view.settings();
        let stop = self.autopilot.end_round(settings.max_turns).or(settings.overrun.map(Stop::Budget));
        let Some(stop) = stop else { return self.send(kind, step) };
        self.give_up(kind, step);
        step.push(Effect::Stopped(stop));
    }

    pub(super) fn event(&mut self, request: RequestId, event: Event, step: &mut Step<'_>) {
        match &self.phase {
            Phase::Requesting { request: current, .. } | Phase::Streaming { request: current, .. }
                if *current == request => {}
            _ => return,
        }
        let activity = match &event {
            Event::Finished(reason) => return self.finished(reason, step),
            // Shows nothing, so a retry would still be invisible.
            Event::Usage(usage) => {
                step.push(Effect::Used(*usage));
                return;
            }
            Event::Warning(words) => {
                step.tell(Level::Warn, words.clone());
                return;
            }
            Event::Text(_) => Activity::Writing,
            Event::ThinkingStarted | Event::Thinking(_) => Activity::Thinking,
            Event::ToolUseProgress { name, bytes } => Activity::Calling { tool: name.clone(), bytes: *bytes },
            Event::Hosted(Hosted { block: HostedBlock::Call { name, .. }, .. }) => {
                Activity::Hosting { tool: name.clone() }
            }
            Event::ThinkingFinished { .. }
            | Event::WasThinking
            | Event::RedactedThinking(_)
            | Event::ToolUse { .. }
            | Event::Hosted(_) => Activity::Waiting,
        };
        if let Phase::Requesting { .. } = self.phase {
            if !std::mem::take(&mut self.has_captured) {
                step.push(Effect::UndoStep);
            }
            step.push(Effect::OpenReply);
        }
        self.phase = Phase::Streaming { request, activity };
        step.push(Effect::Write(event));
    }

    fn finished(&mut self, reason: &StopReason, step: &mut Step<'_>) {
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
            StopReason::Damaged(words) => Some(format!("The calls of this reply wait for you. {words}")),
        };
        self.autopilot.stop = stopped.is_some().then_some(Stop::Incomplete);
        // It is not certain that its calls are what the model wants.
        let ending = if stopped.is_some() { Ending::Doubtful } else { Ending::Complete };
        if let Phase::Requesting { kind, .. } = self.phase {
            self.give_up(kind, step);
            return match stopped {
                Some(message) => step.tell(Level::Warn, message),
                None => step.advise(Level::Warn, "The model's reply was empty.", "Press Ctrl-] to ask again."),
            };
        }
        if let Some(message) = stopped {
            step.tell(Level::Warn, message);
        }
        step.push(Effect::CloseReply(ending));
        let after = if *reason == StopReason::Pause { ReviewCause::PartOfReply } else { ReviewCause::Reply };
        self.review_after(after, step);
    }

    pub(super) fn failed(&mut self, request: RequestId, error: &ProviderError, jitter: f64, step: &mut Step<'_>) {
        match &self.phase {
            Phase::Requesting { request: current, kind, attempt } if *current == request => {
                let (kind, attempt) = (*kind, *attempt);
                match retry::delay(attempt, error, false, jitter) {
                    Some(pause) => {
                        self.phase = Phase::BackingOff { request, kind, attempt, reason: error.to_string() };
                        step.push(Effect::Backoff(request, pause));
                    }
                    None => {
                        self.give_up(kind, step);
                        if let Some(Refusal::Files(files, why)) = &error.refused {
                            step.push(Effect::UndoStep);
                            step.push(Effect::LeaveOut(files.clone(), why.clone()));
                        }
                        match error.refused {
                            None => step.tell(Level::Error, error.to_string()),
                            Some(_) => {
                                let message = format!("{}.", error.to_string().trim_end_matches('.'));
                                step.advise(Level::Error, message, "Press Ctrl-] to send it like this.");
                            }
                        }
                    }
                }
            }
            Phase::Streaming { request: current, .. } if *current == request => {
                self.autopilot.is_armed = false;
                self.cut_off.clone_from(&error.for_model);
                step.push(Effect::CloseReply(Ending::Aborted));
                step.tell(Level::Error, error.to_string());
                self.review_after(ReviewCause::AbortedReply, step);
            }
            _ => {}
        }
    }

    /// The user has stopped the reply before its end.
    pub(super) fn aborted(&mut self, request: RequestId, step: &mut Step<'_>) {
        if matches!(self.phase, Phase::Streaming { request: current, .. } if current == request) {
            step.push(Effect::CloseReply(Ending::Aborted));
            self.review_after(ReviewCause::AbortedReply, step);
        }
    }

    pub(super) fn backoff_over(&mut self, request: RequestId, step: &mut Step<'_>) {
        if let Phase::BackingOff { request: current, kind, attempt, .. } = self.phase
            && current == request
        {
            self.phase = Phase::Requesting { request, kind, attempt: attempt + 1 };
            step.push(Effect::Send(request, kind));
        }
    }
}
