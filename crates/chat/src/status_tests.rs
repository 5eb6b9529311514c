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
    for (info, expected) in [
        ("flemma:tool", "This block has no status."),
        ("flemma:tool status", "This block has no status."),
        ("flemma:tool status=aproved", "There is no status `aproved`. Did you mean `approved`?"),
        ("flemma:tool status=", "There is no status ``."),
        ("flemma:tool status=approved status=approved", "This block has more than one `status=`."),
        ("flemma:later status=approved", "There is no block `flemma:later`."),
    ] {
        let (status, fault) = read(info).unwrap();
        assert!(status == Status::Pending && fault.unwrap().starts_with(expected), "{info}");
    }
    assert_eq!(read("flemma:tool status=APPROVED"), Some((Status::Approved, None)));
    assert_eq!(read("flemma:tool status=reject"), Some((Status::Rejected, None)));
    assert_eq!(read("flemma:tool status=Deny"), Some((Status::Denied, None)));
    assert_eq!(StatusBlock::parse("json"), None);
}
