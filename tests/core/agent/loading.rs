//! Keys that are pressed before all tools are known.

use flemma::{
    agent::{Activity, Input},
    model::StopReason,
};
use serde_json::json;

use super::desk::{Desk, call, prose};

fn loading(text: &str) -> Desk {
    let desk = Desk::new(text);
    desk.tools_ready.set(false);
    desk
}

fn load(desk: &Desk) {
    desk.tools_ready.set(true);
    desk.feed([Input::ToolsReady]);
}

#[test]
fn a_request_waits_for_the_tools_and_then_goes_out_by_itself() {
    let desk = loading("@You:\nHello");
    desk.go();
    assert_eq!((desk.requests(), desk.session.activity()), (0, Activity::Loading));
    assert!(desk.locked.get());
    load(&desk);
    assert_eq!(desk.requests(), 1);
    load(&desk);
    assert_eq!(desk.requests(), 1, "only once");
}

#[test]
fn ctrl_c_takes_it_back() {
    let desk = loading("@You:\nHello");
    desk.go();
    desk.stop();
    assert!(!desk.session.is_busy() && !desk.locked.get());
    load(&desk);
    assert_eq!(desk.requests(), 0);
    assert_eq!(desk.text(), "@You:\nHello");
}

#[test]
fn a_call_is_not_decided_on_before_its_tool_can_be_known() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.event(call("call_1", "read", json!({})));
    desk.reply([], StopReason::ToolUse);
    let text = desk.text().replace("```flemma:tool status=running\n```\n", "");
    let desk = loading(text.trim_end());
    desk.execute("call_1");
    assert_eq!((desk.running().len(), desk.session.activity()), (0, Activity::Loading));
    load(&desk);
    assert_eq!(desk.running(), ["call_1"]);
}

#[test]
fn autopilot_waits_as_well() {
    let desk = Desk::new("@You:\nHello");
    desk.go();
    desk.reply([call("call_1", "read", json!({}))], StopReason::ToolUse);
    desk.tools_ready.set(false);
    desk.tool("call_1", "text");
    assert_eq!((desk.requests(), desk.session.activity()), (1, Activity::Loading));
    load(&desk);
    assert_eq!(desk.requests(), 2);
    desk.reply([prose("done")], StopReason::EndTurn);
    assert!(!desk.session.is_busy());
}
