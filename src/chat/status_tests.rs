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
fn what_nobody_knows_reads_as_pending() {
    for info in ["flemma:tool", "flemma:tool status=aproved", "flemma:tool status=", "flemma:later status"] {
        assert_eq!(StatusBlock::parse(info), Some(StatusBlock::new(Status::Pending)), "{info}");
    }
    assert_eq!(StatusBlock::parse("flemma:tool status=APPROVED").map(|b| b.status), Some(Status::Approved));
    assert_eq!(StatusBlock::parse("json"), None);
}
