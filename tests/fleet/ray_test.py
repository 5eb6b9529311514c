"""200 conversations on Ray, with the example of doc/fleet.md, while workers, runs and editors are killed.

Every conversation ends exactly once, and every one with an interrupted call that is not idempotent waits for a person.
`make test-fleet` runs it: ray_test.py FLEMMA NVIM LIBRARY. $FLEMMA_SEED repeats the choices (not the times) of a run.
"""

import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import model

ROOT = Path(__file__).resolve().parents[2]
CONVERSATIONS = int(os.environ.get("FLEMMA_CONVERSATIONS", "200"))
KILLS = int(os.environ.get("FLEMMA_KILLS", "80"))
INTERRUPTED = CONVERSATIONS // 20
CPUS = 4

INIT = """
vim.opt.runtimepath:prepend([==[{root}]==])
require('flemma').setup({{ provider = 'anthropic', model = 'test',
  parameters = {{ anthropic = {{ base_url = '{address}' }} }} }})
for name, time in pairs({{ step = 50, once = 3000 }}) do
  require('flemma.tools').register(name, {{
    description = 'Takes a step.', input_schema = {{ type = 'object' }}, approval = 'auto', async = true,
    idempotent = name == 'step',
    execute = function(input, ctx, done)
      local file = assert(io.open(('{effects}/%d'):format(input.job), 'a'))
      file:write(ctx.call_id .. '\\n')
      file:close()
      vim.defer_fn(function() done(('step %d is taken'):format(input.step)) end, time)
    end,
  }})
end
"""


class Processes:
    """The processes of this test, which alone may be killed."""

    def __init__(self, home):
        self.mark = f"HOME={home}".encode()

    def descendants(self, root):
        children = collections.defaultdict(list)
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                words = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children[int(words[1])].append(int(stat.parent.name))
        found, left = [], [root]
        while left:
            for child in children[left.pop()]:
                found.append(child)
                left.append(child)
        return found

    def read(self, process, name):
        try:
            return Path(f"/proc/{process}/{name}").read_bytes()
        except OSError:
            return b""

    def ours(self, program, argument):
        """Runs and editors, whoever their parent is now."""
        for path in Path("/proc").glob("[0-9]*"):
            arguments = self.read(path.name, "cmdline").split(b"\0")
            is_it = Path(arguments[0].decode(errors="replace")).name == program and argument in arguments
            if is_it and self.mark in self.read(path.name, "environ").split(b"\0"):
                yield int(path.name)

    def workers(self, driver):
        return [process for process in self.descendants(driver) if self.read(process, "cmdline").startswith(b"ray::carry_on")]


def kill_at_random(chance, processes, driver, effects, tally):
    """Kills something every now and then, mostly while calls run."""
    while driver.poll() is None and sum(tally.values()) < KILLS:
        time.sleep(chance.uniform(0.1, 0.5))
        kind = chance.choice(["worker", "worker group", "run", "run group", "editor", "editor", "run and editor", "stop"])
        runs, editors = list(processes.ours("flemma", b"run")), list(processes.ours("nvim", b"--embed"))
        targets = processes.workers(driver.pid) if kind.startswith("worker") else editors if kind == "editor" else runs
        if not targets:
            continue
        target = chance.choice(targets)
        number = signal.SIGTERM if kind == "stop" else signal.SIGKILL
        try:
            group = os.getpgid(target)
            if kind == "run and editor":
                for child in processes.descendants(target):
                    os.kill(child, number)
            if kind.endswith("group") and group not in (os.getpgid(0), os.getpgid(driver.pid)):
                os.killpg(group, number)
            else:
                os.kill(target, number)
            tally[kind] += 1
        except ProcessLookupError:
            pass


def kill_in_once(processes, driver, effects, interrupted):
    """Kills some editors and their runs for certain while they are in a call that is not idempotent."""
    candidates = [job for job in range(CONVERSATIONS) if model.is_once(job, 1)]
    while driver.poll() is None and candidates and len(interrupted) < INTERRUPTED:
        time.sleep(0.05)
        for job in list(candidates):
            path = effects / str(job)
            if not path.exists() or len(set(path.read_text().split())) < 2:
                continue
            candidates.remove(job)
            name = f"{job}.chat".encode()
            for run in processes.ours("flemma", b"run"):
                if any(Path(word.decode()).name.encode() == name for word in processes.read(run, "cmdline").split(b"\0")):
                    editors = [child for child in processes.descendants(run) if b"--embed" in processes.read(child, "cmdline")]
                    for process in [*editors, run]:
                        try:
                            os.kill(process, signal.SIGKILL)
                        except ProcessLookupError:
                            pass
                    if editors:
                        interrupted.append(job)


def report(out):
    """What the example says, without what Ray itself prints."""
    lines = [line for line in out.splitlines() if "(raylet)" not in line and "(gcs_server)" not in line]
    return "\n".join(lines) + "\n"


def calls(text, header):
    return re.findall(rf"^\*\*Tool {header}:\*\* .*?`(toolu_\w+)`", text, re.MULTILINE)


def main():
    flemma, nvim, library = (Path(argument).resolve() for argument in sys.argv[1:4])
    seed = int(os.environ.get("FLEMMA_SEED") or random.randrange(1 << 32))
    print(f"FLEMMA_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="flemma-fleet-") as folder:
        test(Path(folder), flemma, nvim, library, random.Random(seed))


def test(home, flemma, nvim, library, chance):
    for name in ("bin", "chats", "effects", "config/nvim", "config/flemma"):
        (home / name).mkdir(parents=True)
    (home / "bin/flemma").symlink_to(flemma)
    address = model.start()
    (home / "config/nvim/init.lua").write_text(INIT.format(root=ROOT, address=address, effects=home / "effects"))
    (home / "config/flemma/config.toml").write_text(f"nvim = '{nvim}'\n")
    for job in range(CONVERSATIONS):
        (home / f"chats/{job}.chat").write_text(f"@You:\nJob {job}\n")
    environment = {
        "HOME": str(home), "PATH": f"{home / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
        "XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state"),
        "XDG_DATA_HOME": str(home / "data"), "XDG_CACHE_HOME": str(home / "cache"),
        "ANTHROPIC_API_KEY": "sk-test", "FLEMMA_NATIVE": str(library), "RAY_USAGE_STATS_ENABLED": "0",
    }
    processes, tally = Processes(home), collections.Counter()
    fleet = [sys.executable, ROOT / "examples/ray/fleet.py", home / "chats", "--local", str(CPUS), "--cpus", "1",
             "--attempts", "20", "--", "--timeout", "1200"]

    def start():
        return subprocess.Popen(fleet, env=environment, cwd=home, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    begin = time.monotonic()
    driver = start()
    killer = threading.Thread(target=kill_at_random, args=(chance, processes, driver, home / "effects", tally))
    interrupted = []
    aimed = threading.Thread(target=kill_in_once, args=(processes, driver, home / "effects", interrupted))
    killer.start()
    aimed.start()
    try:
        out, errors = driver.communicate(timeout=1500)
        killer.join()
        aimed.join()
        print(f"{time.monotonic() - begin:.0f} s, killed: {dict(tally)}, and in a call that is not idempotent: {interrupted}", flush=True)
        assert interrupted
        print(report(out), flush=True)
        check_first(home, driver.returncode, report(out), errors, environment, interrupted)
        driver = start()
        out, errors = driver.communicate(timeout=600)
        assert driver.returncode == 0 and report(out).startswith(f"{CONVERSATIONS} done, 0 wait"), (driver.returncode, out, errors)
        for job in range(CONVERSATIONS):
            check(home, job)
        print(f"all {CONVERSATIONS} conversations have ended exactly once", flush=True)
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
        for process in [*processes.ours("flemma", b"run"), *processes.ours("nvim", b"--embed")]:
            os.kill(process, signal.SIGKILL)


def check_first(home, code, out, errors, environment, interrupted):
    """What waits is what was interrupted and may not run again. A person rejects it."""
    assert sum(1 for _ in (home / "effects").iterdir()) == CONVERSATIONS, errors
    waiting = re.findall(r"^  (\S+\.chat):\d+: (.*)\n    flemma resolve \S+ (\S+) --(?:approve|again)", out, re.MULTILINE)
    assert code == (3 if waiting else 0), (code, out, errors)
    assert out.startswith(f"{CONVERSATIONS - len(waiting)} done, {len(waiting)} wait for a person, 0 failed, 0 held"), out
    assert set(interrupted) <= {int(Path(file).stem) for file, _, _ in waiting}, (interrupted, out)
    for file, about, call in waiting:
        job = int(Path(file).stem)
        assert about.startswith(("once interrupted", "once approval")) and model.is_once(job, 1), (file, about)
        # One that was stopped before its start was recorded has not begun.
        begun = (home / f"effects/{job}").read_text().split().count(call)
        assert begun <= (1 if about.startswith("once interrupted") else 0), (file, call)
        said = subprocess.run(["flemma", "resolve", file, call, "--reject", "leave it"], env=environment, capture_output=True,
                              text=True)
        assert said.returncode == 0, said


def check(home, job):
    """The last reply, and the calls on the way to it, are there once."""
    text = (home / f"chats/{job}.chat").read_text()
    effects = collections.Counter((home / f"effects/{job}").read_text().split())
    uses, results = calls(text, "Use"), calls(text, "Result")
    about = f"{job}.chat\n{effects}\n{text}"
    assert text.count(f"Job {job} is finished.") == 1, about
    assert len(uses) == model.STEPS and uses == results and set(effects) <= set(uses), about
    for step, call in enumerate(uses):
        is_taken = f"step {step} is taken" in text
        if model.is_once(job, step):
            # A call that did not go through is one that a person has rejected.
            assert effects[call] <= 1 and is_taken != ("leave it" in text) and (effects[call] or not is_taken), about
        else:
            assert is_taken and effects[call], about


if __name__ == "__main__":
    main()
