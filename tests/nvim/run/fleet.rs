//! Many conversations, which an engine hands out and retries, while processes are killed at random moments.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::desktop::{Desktop, Running};
use crate::{
    anthropic::Stream,
    http::{Recorded, Reply, Server},
    said::Said,
};

const CONVERSATIONS: usize = 40;
const WORKERS: usize = 4;

/// How many calls a conversation has.
const STEPS: usize = 3;

/// How many runs of a conversation have an accident.
const ACCIDENTS: usize = 2;

/// How often a conversation is handed out. An engine gives up after that.
const ATTEMPTS: usize = 12;

/// Two tools that note each call in a file of the conversation's. Only `step` may run twice.
const TOOLS: &str = "for name, time in pairs({ step = 40, once = 1500 }) do
    require('flemma.tools').register(name, {
        description = 'Takes a step.',
        input_schema = { type = 'object' },
        approval = 'auto',
        async = true,
        idempotent = name == 'step',
        execute = function(input, ctx, done)
            local file = assert(io.open(('effects/%d'):format(input.job), 'a'))
            file:write(ctx.call_id .. '\\n')
            file:close()
            vim.defer_fn(function() done(('step %d is taken'):format(input.step)) end, time)
        end,
    })
end";

/// Whether a step of a conversation is one that must not be taken twice.
fn is_once(job: usize, step: usize) -> bool {
    job.is_multiple_of(4) && step == 1
}

/// What the model says depends on the conversation alone, but each call has an id of its own, as with a real one.
fn model(serial: &AtomicUsize, request: &Recorded) -> Reply {
    let messages = request.json()["messages"].clone();
    let text = messages[0].to_string();
    let job = text.split("Job ").nth(1).unwrap().split(|letter: char| !letter.is_ascii_digit()).next().unwrap();
    let job: usize = job.parse().unwrap();
    let blocks = messages.as_array().unwrap().iter().filter_map(|message| message["content"].as_array()).flatten();
    let step = blocks.filter(|block| block["type"] == "tool_result").count();
    let stream = if step == STEPS {
        Stream::new().text(&["Job ", &job.to_string(), " is", " finished."]).end("end_turn")
    } else {
        let id = format!("toolu_{job}_{step}_{}", serial.fetch_add(1, Ordering::SeqCst));
        let tool = if is_once(job, step) { "once" } else { "step" };
        let input = json!({ "job": job, "step": step }).to_string();
        Stream::new().text(&["I go", " on."]).tool_use(&id, tool, &[&input]).end("tool_use")
    };
    stream
        .events()
        .iter()
        .fold(Reply::stream(), |reply, event| reply.chunk(event.as_str()).pause(Duration::from_millis(4)))
}

/// One conversation, as the engine sees it.
struct Work<'a> {
    user: &'a Desktop,
    job: usize,
    random: fastrand::Rng,
    /// What happened, for the message of a test that fails.
    history: Vec<String>,
    /// How often a person was asked.
    questions: usize,
}

impl Work<'_> {
    fn name(&self) -> String {
        format!("{}.chat", self.job)
    }

    /// The calls that were begun, each with how often.
    fn effects(&self) -> BTreeMap<String, usize> {
        let mut effects = BTreeMap::new();
        for id in self.user.text(&format!("effects/{}", self.job)).lines() {
            *effects.entry(id.to_owned()).or_insert(0) += 1;
        }
        effects
    }

    /// Hands the conversation out until it is done.
    fn go(&mut self) {
        for attempt in 0..ATTEMPTS {
            let mut running = self.user.spawn(&["run", "--json", &self.name()]);
            if attempt < ACCIDENTS {
                self.accident(&mut running, attempt == 0 && is_once(self.job, 1));
            }
            let said = running.wait();
            self.history.push(format!("{}: {}", said.code, said.out.trim()));
            if said.out.contains("internal error") {
                self.fail("a bug");
            }
            match said.code {
                0 => return,
                3 => self.answer(&said),
                1 => self.check_failure(&said),
                // Held, or killed.
                4 | -1 => thread::sleep(Duration::from_millis(100)),
                _ => self.fail("an exit code that is not promised"),
            }
        }
        self.fail("the conversation does not come to its end");
    }

    /// Kills or stops something at a random moment.
    fn accident(&mut self, running: &mut Running, is_in_once: bool) {
        let begun = if is_in_once { 2 } else { self.random.usize(..=STEPS) };
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.effects().len() < begun && !running.has_ended() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(3));
        }
        thread::sleep(Duration::from_millis(self.random.u64(..if begun == 0 { 800 } else { 120 })));
        if running.has_ended() {
            return;
        }
        let neovim = running.neovim();
        let kill = |signal| {
            if let Some(neovim) = neovim {
                let _ = kill_process(neovim, signal);
            }
        };
        let kind = if is_in_once { self.random.usize(..2) } else { self.random.usize(..6) };
        match kind {
            0 => kill(Signal::KILL),
            1 => {
                running.signal(Signal::KILL);
                kill(Signal::KILL);
            }
            2 => running.signal(Signal::KILL),
            3 => running.signal(Signal::TERM),
            4 => kill(Signal::TERM),
            // As when all processes of a job are told to end.
            _ => {
                kill(Signal::TERM);
                running.signal(Signal::TERM);
            }
        }
        self.history.push(format!("accident {kind} after {begun} calls"));
    }

    /// The person says no: nobody knows whether it had an effect. A call that was stopped before its start was recorded
    /// waits as well.
    fn answer(&mut self, said: &Said) {
        self.questions += 1;
        let json = said.json();
        let call = &json["waiting"][0];
        if (&json["kinds"], &call["tool"]) != (&json!(["approval"]), &json!("once")) {
            self.fail("it waits for something else than a call that is not idempotent");
        }
        let id = call["call"].as_str().unwrap();
        let begun = self.effects().get(id).copied().unwrap_or_default();
        if begun > usize::from(call["state"] == "interrupted") {
            self.fail("a call that is not interrupted has begun, or it has begun twice");
        }
        let said = self.user.flemma(&["resolve", &self.name(), id, "--reject", "leave it"]);
        if said.code != 0 {
            self.fail(&format!("{said:?}"));
        }
    }

    fn check_failure(&self, said: &Said) {
        let json = said.json();
        let error = json["error"].as_str().unwrap_or_default();
        // A Neovim that gets a signal unloads its buffers before it exits.
        let known = ["Neovim exited", "it was stopped by SIGTERM", "something in Neovim has unloaded the conversation"];
        if !known.iter().any(|known| error.starts_with(known)) {
            self.fail("it failed although only processes were killed");
        }
    }

    /// The end, and the calls on the way to it, are there once.
    fn check(&self) {
        let text = self.user.text(&self.name());
        if text.matches(&format!("Job {} is finished.", self.job)).count() != 1 {
            self.fail("the last reply is not there exactly once");
        }
        let ids = |header: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(header));
            lines.map(|line| line.rsplit('`').nth(1).unwrap().to_owned()).collect()
        };
        let (uses, results) = (ids("**Tool Use:** "), ids("**Tool Result:** "));
        let effects = self.effects();
        if uses.len() != STEPS || uses != results || !effects.keys().all(|id| uses.contains(id)) {
            self.fail("a call was lost or doubled");
        }
        for (step, id) in uses.iter().enumerate() {
            let is_taken = text.contains(&format!("step {step} is taken"));
            if is_once(self.job, step) {
                let (is_rejected, begun) = (self.questions > 0, effects.get(id).copied().unwrap_or_default());
                if begun > 1 || (begun == 0 && !is_rejected) || is_taken == is_rejected {
                    self.fail("a call that is not idempotent has run again, or has no result");
                }
            } else if !is_taken || !effects.contains_key(id) {
                self.fail("a call that is idempotent has not run, or has no result");
            }
        }
        let said = self.user.flemma(&["run", "--json", &self.name()]);
        if said.code != 0 || said.json()["requests"] != 0 || self.user.text(&self.name()) != text {
            self.fail("one more run is not idle");
        }
    }

    #[track_caller]
    fn fail(&self, problem: &str) -> ! {
        let (job, effects, text) = (self.job, self.effects(), self.user.text(&self.name()));
        panic!("{job}.chat: {problem}\n{}\n{effects:?}\n{text}", self.history.join("\n"));
    }
}

#[test]
fn each_of_many_conversations_ends_once_despite_kills() {
    let seed = std::env::var("FLEMMA_SEED").ok().map_or_else(|| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("FLEMMA_SEED={seed}");
    let serial = AtomicUsize::new(0);
    let user = Desktop::with("", TOOLS, Server::deciding(move |request| model(&serial, request)));
    for job in 0..CONVERSATIONS {
        user.put(&format!("work/{job}.chat"), &format!("@You:\nJob {job}\n"));
    }
    fs::create_dir(user.path("effects")).unwrap();
    let queue = Mutex::new(0..CONVERSATIONS);
    let questions: usize = thread::scope(|scope| {
        let work = || {
            let mut questions = 0;
            loop {
                let next = queue.lock().unwrap().next();
                let Some(job) = next else { return questions };
                let random = fastrand::Rng::with_seed(seed.wrapping_add(job as u64));
                let mut work = Work { user: &user, job, random, history: Vec::new(), questions: 0 };
                work.go();
                work.check();
                questions += work.questions;
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(questions >= CONVERSATIONS / 4, "{questions} interrupted calls that are not idempotent");
    // What the dead have left behind is tidied up.
    let said = user.flemma(&["sweep"]);
    assert_eq!(said.code, 0, "{said:?}");
    let names = fs::read_dir(user.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let leftover: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
    assert_eq!(leftover, Vec::<String>::new());
    user.wait_for_neovims_to_exit();
    let _: Value = user.flemma(&["pending", "--json"]).json();
}
