use super::*;

#[test]
fn a_status_block_reads_back() {
    let block = StatusBlock {
        status: Status::Running,
        attributes: vec![
            ("executor".to_owned(), "human".to_owned()),
            ("kind".to_owned(), "a `b` \"c\"".to_owned()),
            ("expires".to_owned(), "2026-12-01T10:00:00Z".to_owned()),
        ],
    };
    let info = block.info();
    assert_eq!(
        info,
        "flemma:tool status=running executor=human kind=\"a \\u0060b\\u0060 \\\"c\\\"\" expires=2026-12-01T10:00:00Z"
    );
    assert_eq!(StatusBlock::parse(&info), Some(block));
}

#[test]
fn what_nobody_knows_is_a_fault_and_reads_as_pending() {
    let read = |info: &str| StatusBlock::read(info).map(|(block, fault)| (block.status, fault));
    for (info, fault) in [
        ("flemma:tool", StatusFault::Missing),
        ("flemma:tool status", StatusFault::Missing),
        ("flemma:tool status=aproved", StatusFault::Unknown("aproved".to_owned())),
        ("flemma:tool status=", StatusFault::Unknown(String::new())),
        ("flemma:tool status=approved status=approved", StatusFault::Twice),
        ("flemma:later status=approved", StatusFault::Word("flemma:later".to_owned())),
    ] {
        assert_eq!(read(info), Some((Status::Pending, Some(fault))), "{info}");
    }
    assert_eq!(read("flemma:tool status=APPROVED"), Some((Status::Approved, None)));
    assert_eq!(read("flemma:tool status=reject"), Some((Status::Rejected, None)));
    assert_eq!(read("flemma:tool status=Deny"), Some((Status::Denied, None)));
    assert_eq!(StatusBlock::parse("json"), None);
}
