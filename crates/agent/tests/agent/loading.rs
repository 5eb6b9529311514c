//! Keys that are pressed before all tools are known.

use flemma_agent::{Activity, Input};
use flemma_model::StopReason;
use serde_json::json;

use super::harness::{Harness, call, prose};

fn loading(text: &str) -> Harness {
    let harness = Harness::new(text);
    harness.tools_ready.set(false);
    harness
}

fn load(harness: &Harness) {
    harness.tools_ready.set(true);
    harness.feed([Input::ToolsReady]);
}

#[test]
fn a_request_waits_for_the_tools_and_then_goes_out_by_itself() {
    let harness = loading("@You:\nHello");
    harness.go();
    assert_eq!((harness.requests(), harness.session.activity()), (0, Activity::Loading));
    assert!(harness.locked.get());
    load(&harness);
    assert_eq!(harness.requests(), 1);
    load(&harness);
    assert_eq!(harness.requests(), 1, "only once");
}

#[test]
fn ctrl_c_takes_it_back() {
    let harness = loading("@You:\nHello");
    harness.go();
    harness.stop();
    assert!(!harness.session.is_busy() && !harness.locked.get());
    load(&harness);
    assert_eq!(harness.requests(), 0);
    assert_eq!(harness.text(), "@You:\nHello");
}

#[test]
fn a_call_is_not_decided_on_before_its_tool_can_be_known() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.event(call("call_1", "read", json!({})));
    harness.reply([], StopReason::ToolUse);
    let text = harness.text().replace("```flemma:tool status=running\n```\n", "");
    let harness = loading(text.trim_end());
    harness.execute("call_1");
    assert_eq!((harness.running().len(), harness.session.activity()), (0, Activity::Loading));
    load(&harness);
    assert_eq!(harness.running(), ["call_1"]);
}

#[test]
fn autopilot_waits_as_well() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.reply([call("call_1", "read", json!({}))], StopReason::ToolUse);
    harness.tools_ready.set(false);
    harness.tool("call_1", "text");
    assert_eq!((harness.requests(), harness.session.activity()), (1, Activity::Loading));
    load(&harness);
    assert_eq!(harness.requests(), 2);
    harness.reply([prose("done")], StopReason::EndTurn);
    assert!(!harness.session.is_busy());
}
