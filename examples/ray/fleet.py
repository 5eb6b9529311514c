#!/usr/bin/env python3
"""Carries the conversations of a folder on, on all machines of a Ray cluster, and says which of them wait for a person.

    python3 fleet.py FOLDER [--attempts N] [--cpus N] [--local N] -- [options of `flemma run`]

Run it again at any time: conversations that are done cost nothing, and the others go on where they stand. The exit code is
0 if all are done, 3 if some wait for a person, and 1 if some failed.
"""

import argparse
import heapq
import json
import random
import shlex
import subprocess
import sys
import time
from pathlib import Path

import ray

# What `flemma run` promises with its exit codes.
DONE, USAGE, WAITING, HELD = 0, 2, 3, 4

LONGEST_PAUSE = 300  # seconds
MEMORY = 200 * 1024 * 1024  # bytes of one run


# Ray does not retry by itself: it would do so at once, and the report would not know.
@ray.remote(max_retries=0, memory=MEMORY)
def carry_on(file, options):
    """Runs one conversation. Gives the exit code and what `flemma` says."""
    command = ["flemma", "run", "--json", *options, "--", file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            out, errors = process.communicate()
        except BaseException:
            process.terminate()  # It ends the turn cleanly, and `with` waits for that.
            raise
    try:
        return process.returncode, json.loads(out)
    except ValueError:
        return process.returncode, {"error": errors.strip() or f"flemma ended with {process.returncode}"}


def pause(attempt):
    """How long to wait before a conversation is handed out again: twice as long each time, and not all at once."""
    return min(2**attempt, LONGEST_PAUSE) * random.uniform(0.5, 1)


def run_all(files, options, attempts, cpus):
    """Hands the conversations out until each is done, waits for a person, or has failed. Gives code and words of each."""
    task = carry_on.options(num_cpus=cpus)
    queue = [(0.0, str(file), 0) for file in files]
    running, ended = {}, {}
    while queue or running:
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            _, file, attempt = heapq.heappop(queue)
            running[task.remote(file, options)] = (file, attempt)
        next_due = max(0.0, queue[0][0] - now) if queue else None
        if not running:
            time.sleep(next_due)
            continue
        ready, _ = ray.wait(list(running), timeout=next_due)
        for task_ref in ready:
            file, attempt = running.pop(task_ref)
            try:
                code, result = ray.get(task_ref)
            except ray.exceptions.RayError as error:
                # The worker or its machine is gone. What was under way may still be ending, and is held until then.
                code, result = None, {"error": f"the worker is gone: {type(error).__name__}"}
            if code in (DONE, WAITING, USAGE) or attempt + 1 >= attempts:
                ended[file] = (code, result)
            else:
                heapq.heappush(queue, (time.monotonic() + pause(attempt), file, attempt + 1))
    return ended


def report(ended):
    """Prints what waits for whom, and how to answer; then what failed. Gives the exit code."""
    by_code = {code: sorted(file for file, (its, _) in ended.items() if its == code) for code in (DONE, WAITING, HELD)}
    failed = sorted(set(ended) - {file for files in by_code.values() for file in files})
    print(f"{len(by_code[DONE])} done, {len(by_code[WAITING])} wait for a person, {len(failed)} failed, {len(by_code[HELD])} held")
    calls = [(call["kind"], file, call) for file in by_code[WAITING] for call in ended[file][1].get("waiting", [])]
    answers = {
        "approval": ("for somebody who may approve", "flemma resolve {file} {call} --{yes}   # or --reject 'why not'"),
        "elicitation": ("for somebody who knows the answer", "flemma resolve {file} {call} --result 'JSON'"),
        "trust": ("for somebody who has read the file", "flemma run {file} --trust"),
    }
    for kind, (whom, how) in answers.items():
        of_kind = [(file, call) for its, file, call in calls if its == kind]
        if of_kind:
            print(f"\nWaits {whom}:")
        for file, call in of_kind:
            about = " ".join(str(call[key]) for key in ("tool", "state", "question") if call.get(key))
            print(f"  {file}:{call['line']}: {about}".rstrip())
            # It was started before, and may have had an effect.
            yes = "again" if call.get("state") == "interrupted" else "approve"
            print("    " + how.format(file=shlex.quote(file), call=shlex.quote(call.get("call", "")), yes=yes))
    for file in by_code[HELD] + failed:
        print(f"\n{file}: {ended[file][1].get('error') or 'it is held by another process'}")
    return 1 if failed or by_code[HELD] else 3 if by_code[WAITING] else 0


def split_at_dashes(words):
    """The words before the first `--`, and those behind it."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]


def main():
    # argparse would give no option to `flemma run` that comes behind one of ours.
    ours, theirs = split_at_dashes(sys.argv[1:])
    usage = "fleet.py FOLDER [--attempts N] [--cpus N] [--local N] -- [options of `flemma run`]"
    parser = argparse.ArgumentParser(usage=usage, description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempts", type=int, default=8, help="how often a conversation is tried that fails or is held")
    parser.add_argument("--cpus", type=float, default=0.25, help="the share of a CPU that Ray reserves for one run")
    parser.add_argument("--local", type=int, metavar="N", help="start Ray here with N CPUs, instead of using a cluster")
    arguments = parser.parse_args(ours)
    files = sorted(arguments.folder.resolve().rglob("*.chat"))
    if arguments.local:
        ray.init(num_cpus=arguments.local, include_dashboard=False, logging_level="warning", log_to_driver=False)
    else:
        ray.init(address="auto", logging_level="warning", log_to_driver=False)
    sys.exit(report(run_all(files, theirs, arguments.attempts, arguments.cpus)))


if __name__ == "__main__":
    main()
