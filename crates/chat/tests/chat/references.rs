//! Files that the user names in a message.

use flemma_chat::{Document, NamedFile, read, render};
use flemma_model::{Attachment, Part};

use super::notation::screen;

const TEXT: &str = "
    @System:
    Never @./system.png.

    @You: see @./first.png;type=image/png
    and @./b%20c.pdf, `@./code.png` and @./first.png;type=image/png.

    ```
    @./fenced.png
    ```

    The end: @//abs/d.txt.

    @Assistant:
    <thinking>
    @./thought.png
    </thinking>
    I see @./model.png.

    **Tool Use:** `read` (`a`)

    ```json
    {\"path\":\"@./input.png\"}
    ```

    @You:
    **Tool Result:** `a`

    ```flemma:attachment type=image/png path=\"/shown.png\"
    @./output.png
    ```

    And @../e.png?
";

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn shown(path: &str, media_type: &str) -> Part {
    Part::Attachment(Attachment::unread(path, media_type))
}

#[test]
fn only_the_users_own_prose_shows_files_and_it_keeps_its_words() {
    let conversation = read(&screen(TEXT).join("\n")).unwrap();
    assert_eq!(conversation.system.as_deref(), Some("Never @./system.png."));
    let parts: Vec<_> = conversation.messages.iter().map(|message| message.parts.clone()).collect();
    assert_eq!(
        parts[0],
        [
            text(
                "see @./first.png;type=image/png\nand @./b%20c.pdf, `@./code.png` and @./first.png;type=image/png.\n\n\
                 ```\n@./fenced.png\n```\n\nThe end: @//abs/d.txt."
            ),
            shown("./first.png", "image/png"),
            shown("./b c.pdf", ""),
            shown("/abs/d.txt", ""),
        ]
    );
    assert!(parts[1].iter().all(|part| !matches!(part, Part::Attachment(_))), "{:?}", parts[1]);
    assert_eq!(parts[2][1..], [text("And @../e.png?"), shown("../e.png", "")]);
}

#[test]
fn files_are_found_with_their_places_and_only_where_one_looks() {
    let lines = screen(TEXT);
    let document = Document::parse(&lines);
    let files = flemma_chat::files(&document, 0..lines.len(), &lines);
    let named: Vec<_> = files.iter().map(|file| (file.line, file.path.to_str().unwrap())).collect();
    let expected = [
        (3, "./first.png"),
        (4, "./b c.pdf"),
        (4, "./first.png"),
        (10, "/abs/d.txt"),
        (27, "/shown.png"),
        (31, "../e.png"),
    ];
    assert_eq!(named, expected);
    for NamedFile { line, columns, path, .. } in &files {
        let Some(columns) = columns else { continue };
        let name = path.file_name().unwrap().to_str().unwrap().replace(' ', "%20");
        let there = &lines[*line][columns.clone()];
        assert!(there.starts_with('@') && there.contains(&name), "{there}");
    }
    for range in [0..4, 4..5, 5..11, 27..28, 28..32, 11..20] {
        let inside: Vec<_> = files.iter().filter(|file| range.contains(&file.line)).cloned().collect();
        assert_eq!(flemma_chat::files(&document, range.clone(), &lines), inside, "{range:?}");
    }
}

#[test]
fn what_is_rendered_names_each_file_once_and_reads_the_same() {
    let conversation = read(&screen(TEXT).join("\n")).unwrap();
    let rendered = render(&conversation);
    assert_eq!(rendered.iter().filter(|line| line.contains("@../e.png")).count(), 1);
    assert_eq!(read(&rendered.join("\n")).unwrap(), conversation);

    // A file that no text names gets its reference.
    let mut alone = conversation;
    let result = alone.messages[2].parts[0].clone();
    let parts = vec![result, shown("a (b).png", ""), shown("~/c.", "text/plain"), shown("/d", "")];
    std::sync::Arc::make_mut(&mut alone.messages[2]).parts = parts.clone();
    let again = read(&render(&alone).join("\n")).unwrap_or_else(|errors| panic!("{errors:?}"));
    let files: Vec<_> = again.messages[2].parts.iter().filter(|part| matches!(part, Part::Attachment(_))).collect();
    assert_eq!(files, [&shown("./a (b).png", ""), &parts[2], &parts[3]]);
}
