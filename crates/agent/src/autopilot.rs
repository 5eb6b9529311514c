//! How far a conversation goes on without the user.

use super::{Stop, guard::LoopGuard};

/// What the user's last key allows, and how much of that is used up.
#[derive(Debug, Default)]
pub(super) struct Autopilot {
    /// Whether it may continue by itself. A key press arms it, a stop disarms it.
    pub is_armed: bool,
    /// Whether the user was told to press Ctrl-] to continue. Until they do, no decision arms it.
    pub is_paused: bool,
    /// Whether the user has stopped everything, and calls that are changing files have not ended yet.
    pub is_stopping: bool,
    pub guard: LoopGuard,
    /// Requests since the last key press.
    pub turns: u32,
    /// Why it came to rest, since the last key press.
    pub stop: Option<Stop>,
}

impl Autopilot {
    /// The user has pressed a key: it may continue from here, unless a pause was announced.
    pub fn arm(&mut self) {
        self.is_armed = !self.is_paused;
        self.reset();
    }

    /// The user has pressed a key for one call. While other tools run (`is_busy`), a pause that was announced still holds.
    pub fn arm_for_one(&mut self, is_busy: bool) {
        if is_busy && !self.is_stopping {
            self.reset();
        } else {
            self.arm();
        }
    }

    /// Restarts the counters that limit what happens without the user, who has pressed a key.
    pub fn reset(&mut self) {
        *self = Self { is_armed: self.is_armed, is_paused: self.is_paused, ..Self::default() };
    }

    /// Stops until the user presses Ctrl-].
    pub fn pause(&mut self) {
        self.is_armed = false;
        self.is_paused = true;
    }

    /// Why no request is sent without a key press, if a limit is reached.
    pub fn end_round(&mut self, max_turns: u32) -> Option<Stop> {
        self.stop = if self.turns >= max_turns {
            Some(Stop::TurnLimit(max_turns))
        } else {
            self.guard.end_round().map(Stop::Repetition)
        };
        self.stop.clone()
    }
}
