//! The limits of frontmatter code: it ends soon, and uses little memory.

use std::{fs, time::Duration};

use serde_json::json;

use super::support::{Nvim, Options};

fn editor() -> Nvim {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    nvim.lua("require('flemma').setup({})", &[]);
    nvim
}

/// The time for which a process has worked so far: on a busy machine, others work as well.
fn worked(pid: u64) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11);
    Duration::from_millis(fields.take(2).map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
}

/// The most memory that a process has had, in MB.
fn peak(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

/// Code that would take for ever, or all of the memory.
fn excesses() -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    // Growth, by every function that makes something longer.
    let seeds = ["local s = 'x'", "local s = ('x'):rep(1e6)", "local s = ('%%'):rep(3e5)"];
    let grows = [
        "s = s .. s",
        "s = s .. s .. s .. s .. s .. s .. s .. s",
        "s = s:rep(2)",
        "s = s:format() .. s",
        "s = ('%s%s'):format(s, s)",
        "s = ('%q'):format(s)",
        "s = s:gsub('.', '%0%0')",
        "s = table.concat({ s, s })",
        "s = s:upper():lower():reverse()",
        "s = vim.inspect(s)",
        "s = vim.inspect({ s, s })",
        "s = tostring(s) .. s",
    ];
    for seed in seeds {
        codes.extend(grows.iter().map(|grow| format!("{seed} while true do {grow} end")));
    }
    // Tables.
    codes.extend(
        [
            "local t = {} while true do t[#t + 1] = {} end",
            "local t = { 1 } while true do vim.list_extend(t, t) end",
            "local t = { 1 } for i = 1, 1e9 do vim.list_extend(t, { 1 }, 1, 2e9) end",
            "for i = 1, 1e9 do vim.list_slice({ 1 }, -2e9, 2e9) end",
            "local t = {} for i = 1, 5e4 do t[i] = i end while true do t = vim.deepcopy(t) end",
            "local t = {} for i = 1, 40 do t = { a = t, b = t } end vim.tbl_deep_extend('force', t, t)",
            "local t = {} t.t = t vim.tbl_deep_extend('force', t, t)",
            "local t = {} for i = 1, 1e5 do t[i] = 1e5 - i end while true do table.sort(t, function(a, b) return a < b end) end",
            "local a = ('x'):rep(4e5) local t = {} for i = 1, 2e4 do t[i] = a .. (i % 2) end while true do table.sort(t) end",
            "local t = {} for i = 1, 1e9 do t[i] = i end",
            "local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
            "local function f() return f() end f()",
            "local function f() return 1 + f() end while true do pcall(f) end",
            "while true do pcall(error, ('x'):rep(1e5)) end",
            "while true do pcall(function() while true do end end) end",
            "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end",
            "for i = 1, 1e9 do math.random() end",
            "repeat until false",
            "::a:: goto a",
        ]
        .map(str::to_owned),
    );
    codes
}

#[test]
fn whatever_the_code_does_it_ends_soon_and_takes_little_memory() {
    let mut nvim = editor();
    nvim.command("edit notes.chat");
    let pid = nvim.lua("return vim.uv.os_getpid()", &[]).as_u64().unwrap();
    let codes = excesses();
    assert!(codes.len() > 50, "{}", codes.len());
    for code in codes {
        let before = peak(pid);
        let began = worked(pid);
        let answer = nvim.lua(
            "local code = ...
             local ok, problem = require('flemma.frontmatter').run(code, {})
             local strings = getmetatable('').__index == string
             return { ok, problem or '', strings and debug.gethook() == nil }",
            &[json!(code)],
        );
        let (took, grew) = (worked(pid) - began, peak(pid).saturating_sub(before));
        assert_eq!(answer[0], false, "{code}");
        let problem = answer[1].as_str().unwrap();
        assert!(!problem.is_empty(), "{code}: {problem}");
        assert_eq!(answer[2], true, "what was lent is given back: {code}");
        // A quarter of a second, and what one step may take beyond.
        assert!(took < Duration::from_secs(20), "{code}: {took:?} ({problem})");
        // A single step may double what there is.
        assert!(grew < 400, "{code}: {grew} MB ({problem})");
        nvim.lua("collectgarbage()", &[]);
    }
}

#[test]
fn ordinary_frontmatter_stays_far_below_the_limits() {
    let mut nvim = editor();
    nvim.command("edit notes.chat");
    for code in [
        "local t = {} for i = 1, 2000 do t[i] = ('line %d'):format(i) end local s = table.concat(t, '\\n')
         assert(#vim.split(s, '\\n') == 2000) assert(s:find('line 1999', 1, true))",
        "local s = '' for i = 1, 2000 do s = s .. 'line ' .. i .. '\\n' end assert(select(2, s:gsub('%d+', '<%0>')) == 2000)",
        "local s = ('word '):rep(20000) assert(not s:match('rm %-rf')) assert(#vim.trim(s) == 99999)",
        "local t = {} for w in ('the quick brown fox'):gmatch('%a+') do t[#t + 1] = w:upper() end
         table.sort(t) assert(table.concat(t, ' ') == 'BROWN FOX QUICK THE')",
    ] {
        let answer = nvim.lua("return { require('flemma.frontmatter').run((...), {}) }", &[json!(code)]);
        assert_eq!(answer[0], true, "{code}: {answer}");
    }
}
