//! Searching, viewing, archives, data, documents and media, and built-in commands of the shell.

use super::guard::{Guard, NONE};

#[rustfmt::skip]
pub(super) const GUARDS: &[Guard] = &[
    Guard {
        programs: &["find", "bfs", "gfind"],
        long: &["delete", "exec", "execdir", "files0-from", "fls", "fprint", "fprint0", "fprintf", "ok", "okdir"],
        ..NONE
    },
    Guard { programs: &["fd", "fdfind"], short: "xX", long: &["exec", "exec-batch"], ..NONE },
    Guard { programs: &["sort", "gsort"], short: "oT", long: &["output", "compress-program", "temporary-directory", "random-source"], ..NONE },
    Guard { programs: &["shuf", "sdiff"], short: "o", long: &["output", "diff-program"], ..NONE },
    Guard { programs: &["diff3", "merge"], long: &["diff-program"], ..NONE },
    Guard { programs: &["diff", "colordiff", "difft", "icdiff", "wdiff", "git-delta"], long: &["difftype", "difftool", "auto-page", "avoid-wraps-cmd"], ..NONE },
    Guard { programs: &["split", "csplit"], long: &["filter"], ..NONE },
    Guard { programs: &["install"], long: &["strip-program"], ..NONE },
    Guard { programs: &["tree"], short: "oR", long: &["output", "infofile"], ..NONE },
    Guard { programs: &["eza", "exa", "lsd"], long: &["config-file"], ..NONE },
    Guard {
        programs: &["tar", "bsdtar", "gtar", "star"],
        short: "IFTXg",
        long: &[
            "checkpoint-action", "exclude-from", "files-from", "index-file", "info-script", "listed-incremental", "new-volume-script", "options",
            "rmt-command", "rsh-command", "to-command", "use-compress-program", "volno-file",
        ],
        prefixes: &["@"],
        // A colon in the archive's name means another machine, which is reached with a program.
        parts: &[":"],
        ..NONE
    },
    Guard {
        programs: &["cpio", "pax"],
        short: "EFHIOMRs",
        long: &["file", "message", "pattern-file", "rsh-command", "rmt-command"],
        ..NONE
    },
    Guard { programs: &["zip"], short: "TO@", long: &["test", "test-command", "unzip-command", "output-file", "out"], ..NONE },
    Guard { programs: &["unzip", "unar", "unrar", "rar", "7z", "7za", "7zz", "bsdunzip"], short: "od", long: &["output-directory", "sfx"], prefixes: &["@", "-i@", "-sfx"], ..NONE },
    Guard { programs: &["xz", "zstd", "gzip", "bzip2", "lz4", "pigz", "brotli", "lzma"], short: "oDT", long: &["files", "files0", "filelist", "output", "output-dir-flat", "output-dir-mirror", "patch-from", "trace"], ..NONE },
    Guard {
        programs: &["rg", "ripgrep", "rga", "ripgrep-all"],
        long: &["pre", "hostname-bin", "search-zip", "rga-config-file", "rga-cache-path"],
        short: "z",
        ..NONE
    },
    Guard {
        programs: &["ug", "ugrep", "ug+", "ugrep+", "zgrep"],
        short: "QZz",
        long: &["config", "filter", "filter-magic-label", "pager", "query", "save-config", "view", "decompress", "file-magic"],
        prefixes: &["---"],
        ..NONE
    },
    Guard {
        programs: &["ag", "ack", "bat", "batcat", "delta", "pt", "sift", "glow", "mdcat"],
        short: "p",
        long: &["ackrc", "config", "config-file", "diff-args", "git-dir", "output", "pager", "source", "target", "conf", "write-config"],
        words: &["cache"],
        ..NONE
    },
    Guard {
        programs: &["less", "more", "most", "pg", "lv"],
        short: "koOTt",
        long: &["lesskey-file", "lesskey-src", "lesskey-content", "log-file", "LOG-FILE", "tag", "tag-file"],
        prefixes: &["+"],
        ..NONE
    },
    Guard {
        programs: &["man", "mandoc", "apropos", "whatis", "info", "pinfo"],
        short: "PHCBXTpRMoO",
        long: &["browser", "config-file", "dribble", "gxditview", "html", "init-file", "manpath", "output", "pager", "path", "preprocessor", "raw-filter", "recode", "restore", "ditroff", "troff-device"],
        ..NONE
    },
    Guard { programs: &["file", "ctags", "etags", "cscope", "global", "gtags"], short: "CofmLt", long: &["compile", "magic-file", "options", "options-maybe", "output", "etags-include", "extras-cmd", "kinds-file", "config-data", "optlib-dir", "data-dir", "gtagsconf", "files-from", "mode", "_interactive"], ..NONE },
    Guard { programs: &["jq", "gojq", "jaq"], short: "L", long: &["library-path"], ..NONE },
    Guard {
        programs: &["yq", "xq", "dasel", "fx", "jo", "tomlq", "gron"],
        short: "isw",
        long: &["inplace", "in-place", "security-enable-system-operator", "split-exp", "split-exp-file", "write"],
        ..NONE
    },
    Guard { programs: &["xmllint", "xsltproc", "xmlstarlet", "tidy", "saxon"], short: "om", long: &["output", "catalogs", "load-trace", "modify", "path", "shell", "writesubtree", "xinclude", "profile", "config", "o", "init"], words: &["ed", "edit"], ..NONE },
    Guard { programs: &["iconv"], short: "o", long: &["output"], ..NONE },
    Guard {
        programs: &["cloc"],
        long: &[
            "categorized", "config", "counted", "diff-list-file", "extract-with", "force-lang-def", "found", "ignored", "list-file", "out", "read-lang-def",
            "report-file", "sql", "vcs", "write-lang-def",
        ],
        ..NONE
    },
    Guard { programs: &["dd"], prefixes: &["of="], ..NONE },
    Guard { programs: &["date"], short: "s", long: &["set"], ..NONE },
    Guard { programs: &["gawk", "awk"], prefixes: &["@"], ..NONE },
    Guard { programs: &["patch", "ed", "quilt"], short: "obBrdi", long: &["output", "directory", "reject-file", "ed", "quiltrc"], ..NONE },
    Guard {
        programs: &[
            "tex", "latex", "pdftex", "pdflatex", "xetex", "xelatex", "luatex", "lualatex", "luahbtex", "lualatex-dev", "pdflatex-dev", "dviluatex", "etex", "pdfetex",
            "ptex", "uptex", "platex", "uplatex", "aleph", "mf", "mpost", "latexmk", "context", "tectonic", "arara", "texi2any", "texi2dvi", "texi2pdf", "texfot",
        ],
        // Text with this beginning is a TeX program, or the name of a format.
        prefixes: &["\\", "&", "*", "|", "%"],
        parts: &["\\", "|"],
        ..NONE
    },
    Guard {
        programs: &["bibtex", "biber", "makeindex", "xindy", "dvips", "dvipdfm", "dvipdfmx", "xdvipdfmx", "dvisvgm", "kpsewhich", "texdoc", "tlmgr", "updmap", "fmtutil", "mktexlsr"],
        short: "oDRtsplLCcM",
        long: &["configfile", "output", "output-directory", "output-file", "output-format", "cnf-line", "mktex", "module", "logfile", "log-file", "noconf", "convert-control", "input-directory", "just-view", "repository", "progname", "output_directory", "output_file"],
        parts: &["!", "|", "`"],
        ..NONE
    },
    Guard {
        programs: &["pandoc", "rst2html", "rst2pdf", "asciidoctor", "asciidoctor-pdf", "asciidoc", "kramdown", "markdown", "quarto", "hugo", "jekyll", "zola", "mdbook", "typst"],
        short: "dFLoHABrIaTEBfsC",
        long: &[
            "abbreviations", "attribute", "backend", "base-dir", "bibliography", "config", "conf-file", "csl", "data-dir", "defaults", "destination", "destination-dir",
            "dest-dir", "extract-media", "execute", "eruby", "filter", "include-after-body", "include-before-body", "include-in-header", "ipynb-output", "katex", "layout-dir", "layouts",
            "load-path", "log", "lua-filter", "metadata-file", "metadata-files", "out-file", "output", "pdf-engine", "pdf-engine-opt", "plugins", "reader", "reference-doc", "require",
            "safe-mode", "source", "stylesheet", "template", "template-dir", "template-engine", "themes", "themesDir", "syntax-definition", "verbose-log", "profile-cpu", "open", "font-path",
            "profile", "trace", "resource-path", "mathjax", "webtex", "writer", "root", "package-path", "package-cache-path", "make-deps",
        ],
        words: &["run", "serve", "server", "init", "new", "preview", "watch"],
        parts: &[".lua", ".py", ".rb", ".js"],
        ..NONE
    },
    Guard { programs: &["groff", "troff", "nroff", "gpic", "pic", "soelim", "grap", "ditroff"], short: "UpPLXTMdFm", long: &["run"], parts: &["|"], ..NONE },
    Guard { programs: &["dot", "neato", "fdp", "sfdp", "circo", "twopi", "osage", "patchwork", "gvpr"], short: "oOcPlf", ..NONE },
    Guard { programs: &["plantuml", "mmdc", "ditaa", "d2", "svgo", "inkscape", "rsvg-convert"], short: "ocpCfsI", long: &["config", "output", "o", "theme", "include", "graphvizdot", "puppeteerConfigFile", "configFile", "cssFile", "actions", "actions-file", "export-filename", "action-list", "shell", "verb", "pipe", "browser", "D", "P", "preproc"], ..NONE },
    Guard {
        programs: &["convert", "magick", "identify", "mogrify", "composite", "montage", "compare", "conjure", "gm", "display", "animate", "import", "stream"],
        long: &["authenticate", "clip-path", "debug", "define", "log", "path", "script", "write", "write-mask", "format-file", "process", "print", "set", "fx", "draw", "profile"],
        prefixes: &["@", "|", "-script"],
        parts: &[":", "@", "|", "%["],
        ..NONE
    },
    Guard {
        programs: &["ffmpeg", "ffprobe", "ffplay", "sox", "play", "rec", "mpv", "vlc", "mplayer", "gst-launch-1.0", "gst-launch", "exiftool"],
        short: "wW@x",
        long: &[
            "config", "dump_attachment", "execute", "filter_complex_script", "filter_script", "fpre", "include", "input-conf", "input-ipc-server", "init_hw_device", "i", "load-scripts", "o",
            "passlogfile", "plugin", "record-file", "report", "script", "scripts", "sdp_file", "stream-dump", "stats-file", "vstats", "vstats_file", "ytdl-raw-options", "progress",
            "tagsFromFile", "if", "srcfile", "stay_open", "common_args", "p", "fmt", "argfile", "userParam", "geotag", "restore_original", "overwrite_original", "delete_original", "y",
        ],
        prefixes: &["@", "|"],
        parts: &["|", ":", "="],
        ..NONE
    },
    Guard { programs: &["test", "["], words: &["-v", "-R"], ..NONE },
    Guard { programs: &["jobs"], short: "x", ..NONE },
];
