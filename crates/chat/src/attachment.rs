//! Attachments of a tool result: a fence whose info string names the files that are sent with it.
//!
//! ````text
//! ```flemma:attachment type=image/png path="/home/me/pic.png"
//! pic.png: PNG image, 640x480 pixels, 12.3 KB
//! ```
//! ````
//!
//! The fence contains the text of the result. Each file is a pair of `type` and `path`; `left_out` says why none is shown. Only
//! Flemma writes this info string, for files that a tool shows; the output of a tool is inside a fence that it cannot close.
//! What is sent depends on the content of the file, not on `type`: see `provider::attachment`.

use super::{Diagnostic, attributes, left_out::LEFT_OUT};
use flemma_model::{Attachment, AttachmentContent};

/// The first word of the info string.
pub(super) const INFO: &str = "flemma:attachment";

/// The files that an info string names, in order; `None` if it is not an attachment's. Words that cannot be read are
/// skipped.
pub(super) fn parse(info: &str) -> Option<Vec<Attachment>> {
    let (word, words) = attributes::split(info);
    if word != INFO {
        return None;
    }
    let (mut media_type, mut left_out) = (None, None);
    let mut found = Vec::new();
    for attribute in attributes::read(words).into_iter().filter(|attribute| attribute.sound) {
        match (attribute.key, attribute.value) {
            ("type", Some(value)) => media_type = Some(value.into_owned()),
            ("path", Some(path)) if !path.is_empty() => {
                found.push(Attachment::unread(path.into_owned(), media_type.take().unwrap_or_default()));
            }
            (LEFT_OUT, Some(why)) => left_out = Some(why.into_owned()),
            _ => {}
        }
    }
    if let Some(why) = left_out {
        found.iter_mut().for_each(|attachment| attachment.content = AttachmentContent::LeftOut(why.clone()));
    }
    Some(found)
}

/// The info string of a result with these files. Paths must be valid UTF-8, which the caller ensures.
pub fn attachment_info(attachments: &[Attachment]) -> String {
    let mut info = INFO.to_owned();
    for Attachment { path, media_type, .. } in attachments {
        if !media_type.is_empty() {
            info.push_str(" type=");
            info.push_str(&attributes::write(media_type));
        }
        info.push_str(" path=");
        info.push_str(&attributes::quote(&path.to_string_lossy()));
    }
    info
}

/// The problems of the info string of such a fence at `line`.
pub(super) fn check(line: usize, info: &str, found: &mut Vec<Diagnostic>) {
    let (_, words) = attributes::split(info);
    let mut warn = |note: String| found.push(Diagnostic::warning(line, note));
    let (mut paths, mut types) = (0, 0);
    for attribute in attributes::read(words) {
        let key = attribute.key;
        match &attribute.value {
            None => warn(attributes::lacks_value(key)),
            Some(_) if !attribute.sound => {
                let written = &words[attribute.at];
                warn(format!(
                    "`{key}={written}` is not valid and is ignored. Write the value as one word, or in double quotes."
                ));
            }
            Some(value) if key == "path" && value.is_empty() => {
                warn("`path` is empty, so no file is shown to the model.".to_owned());
                paths += 1;
            }
            Some(_) if key == "path" => {
                if types == 0 {
                    warn(
                        "A `path` has no `type` before it. The content of the file decides its type anyway.".to_owned(),
                    );
                }
                (paths, types) = (paths + 1, 0);
            }
            Some(_) if key == "type" => types += 1,
            Some(_) if key == LEFT_OUT => {}
            Some(_) => warn(format!("`{key}` is not known here and is ignored. Use `type` and `path`.")),
        }
    }
    if paths == 0 {
        warn("This attachment names no file, so only its text is sent. Name one with `path=\"…\"`.".to_owned());
    }
}
