//! Notes in the place of files that a host has refused.

use flemma_chat::{Document, diagnostics, leave_out, read, unsent};
use flemma_model::{AttachmentContent, Part};

use super::notation::screen;

const TEXT: &str = "
    @You:
    See @./a.png and @./notes.md, then @./a.png
    again.

    And @./b%20c.pdf;type=application/pdf

    @Assistant:
    **Tool Use:** `read` (`x`)

    ```json
    {}
    ```

    @You:
    **Tool Result:** `x`

    ```flemma:attachment type=image/png path=\"/tmp/a.png\"
    a.png
    ```

    @You:
    Once more: @./a.png";

const NOTED: &str = "
    @You:
    See @./a.png and @./notes.md, then @./a.png
    again.

    ```flemma:captured of=\"@./a.png\"
    [./a.png was left out: h takes \"no\" images]
    ```

    And @./b%20c.pdf;type=application/pdf

    ```flemma:captured of=\"@./b%20c.pdf;type=application/pdf\"
    [./b c.pdf was left out: h takes \"no\" images]
    ```

    @Assistant:
    **Tool Use:** `read` (`x`)

    ```json
    {}
    ```

    @You:
    **Tool Result:** `x`

    ```flemma:attachment type=image/png path=\"/tmp/a.png\" left_out=\"h takes \\\"no\\\" images\"
    a.png
    ```

    @You:
    Once more: @./a.png

    ```flemma:captured of=\"@./a.png\"
    [./a.png was left out: h takes \"no\" images]
    ```";

fn noted(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    let files = ["./a.png", "./b c.pdf", "/tmp/a.png"].map(Into::into);
    for edit in leave_out(&Document::parse(&lines), &lines.clone(), &files, "h takes \"no\" images") {
        edit.apply(&mut lines);
    }
    lines
}

/// The files that are shown, and why the others are not.
fn shown(lines: &[String]) -> Vec<String> {
    let conversation = read(&lines.join("\n")).unwrap();
    let parts = conversation.messages.iter().flat_map(|message| &message.parts).flat_map(Part::attachments);
    let shown = parts.map(|attachment| match &attachment.content {
        AttachmentContent::LeftOut(why) => why.clone(),
        _ => attachment.path.display().to_string(),
    });
    shown.collect()
}

#[test]
fn a_refused_file_is_noted_wherever_it_is_shown() {
    let lines = screen(TEXT);
    assert_eq!(shown(&lines), ["./a.png", "./notes.md", "./b c.pdf", "/tmp/a.png", "./a.png"]);
    let after = noted(&lines);
    assert_eq!(after, screen(NOTED));
    assert_eq!(shown(&after), ["./notes.md", "h takes \"no\" images"]);
    let document = Document::parse(&after);
    assert_eq!(diagnostics(&document, &after), [], "the notes belong there");
    assert_eq!(unsent(document.messages(), &after), []);
    assert_eq!(noted(&after), after, "once");
}

#[test]
fn a_note_that_is_deleted_shows_the_file_again() {
    let mut lines = noted(&screen(TEXT));
    let note = lines.iter().position(|line| line.starts_with("```flemma:captured")).unwrap();
    lines.drain(note..note + 3);
    assert_eq!(shown(&lines)[..2], ["./a.png", "./notes.md"]);
    // Nor is a reference below a note the one that it is about.
    let mut lines = noted(&screen("@You:\nSee @./a.png"));
    assert_eq!(shown(&lines), [""; 0]);
    lines.push("and @./a.png".to_owned());
    assert_eq!(shown(&lines), ["./a.png"]);
}
