//! Version control, transfers, containers, clusters, systems and keys.

use super::guard::{Guard, NONE};

#[rustfmt::skip]
pub(super) const GUARDS: &[Guard] = &[
    Guard {
        programs: &["git"],
        long: &[
            "config", "config-env", "exec", "exec-path", "ext-diff", "extcmd", "git-dir", "open-files-in-pager",
            "output", "output-directory", "receive-pack", "separate-git-dir", "template", "textconv", "trailer-command",
            "upload-archive", "upload-pack", "work-tree",
        ],
        ..NONE
    },
    Guard { programs: &["git"], subcommand: "grep", short: "O", ..NONE },
    Guard { programs: &["git"], subcommand: "rebase", short: "x", ..NONE },
    Guard { programs: &["git"], subcommand: "difftool", short: "x", ..NONE },
    Guard { programs: &["git"], subcommand: "archive", short: "o", long: &["remote"], ..NONE },
    Guard { programs: &["git"], subcommand: "format-patch", short: "o", ..NONE },
    Guard { programs: &["git"], subcommand: "clone", short: "uc", ..NONE },
    Guard { programs: &["git"], subcommand: "fetch-pack", short: "u", ..NONE },
    Guard { programs: &["git"], subcommand: "cat-file", long: &["filters"], ..NONE },
    Guard { programs: &["git"], subcommand: "apply", long: &["unsafe-paths", "directory", "build-fake-ancestor"], ..NONE },
    Guard { programs: &["git"], subcommand: "merge", short: "s", long: &["strategy"], ..NONE },
    Guard { programs: &["git"], subcommand: "pull", short: "so", long: &["server-option", "strategy"], ..NONE },
    Guard { programs: &["git"], subcommand: "rebase", short: "s", long: &["strategy"], ..NONE },
    Guard { programs: &["git"], subcommand: "cherry-pick", long: &["strategy"], ..NONE },
    Guard { programs: &["git"], subcommand: "revert", long: &["strategy"], ..NONE },
    Guard { programs: &["git"], subcommand: "push", short: "o", long: &["push-option", "repo"], ..NONE },
    Guard { programs: &["git"], subcommand: "fetch", short: "oj", long: &["multiple", "server-option"], ..NONE },
    Guard { programs: &["git"], subcommand: "bisect", words: &["run"], ..NONE },
    Guard { programs: &["git"], subcommand: "submodule", words: &["foreach", "add", "update"], ..NONE },
    Guard { programs: &["git"], subcommand: "remote", words: &["add", "set-url"], ..NONE },
    Guard {
        programs: &["hg", "svn", "jj", "fossil", "bzr", "p4", "cvs", "darcs", "sl"],
        short: "Red",
        long: &[
            "config", "config-dir", "config-file", "config-option", "config-toml", "cwd", "debugger", "diff-cmd", "diff3-cmd",
            "editor-cmd", "merge-cmd", "output", "pager", "profile", "remotecmd", "repository", "ssh", "tool", "internal-diff-with", "chdir",
        ],
        words: &["extdiff", "serve", "shell", "config"],
        ..NONE
    },
    Guard {
        programs: &["curl"],
        short: "oOJKcDETQ",
        long: &[
            "alt-svc", "cert", "config", "cookie-jar", "create-dirs", "create-file-mode", "dump-ca-embed", "dump-header", "engine",
            "etag-save", "ftp-create-dirs", "hsts", "key", "libcurl", "output", "output-dir", "quote", "remote-header-name",
            "data-urlencode", "remote-name", "remote-name-all", "stderr", "url-query", "trace", "trace-ascii", "trace-config", "upload-file", "ssl-sessions", "upload-flags", "unix-socket", "abstract-unix-socket",
            "variable", "xattr",
        ],
        prefixes: &["@", "--expand", "-expand", "---"],
        parts: &["%output", "=@", "=<", "%{output", ";type=@"],
        ..NONE
    },
    Guard {
        programs: &["wget", "wget2", "aria2c", "http", "https", "httpie", "xh", "lftp", "axel", "yt-dlp", "youtube-dl"],
        short: "oOPeaidKDrxNm",
        long: &[
            "append-output", "body-file", "ca-certificate", "config", "content-disposition", "force-directories", "mirror", "recursive", "timestamping",
            "trust-server-names", "config-path", "conf-path", "cookies", "directory-prefix", "exec", "execute",
            "external-downloader", "hsts-file", "input-file", "log", "netrc-cmd", "on-bt-download-complete", "on-bt-download-error",
            "on-download-complete", "on-download-error", "on-download-pause", "on-download-start", "on-download-stop", "output", "output-document",
            "output-file", "plugin", "plugin-dirs", "plugin-opt", "post-file", "postprocessor", "ppa", "postprocessor-args", "use-postprocessor",
            "rejected-log", "save-cookies", "save-session", "session", "use-askpass", "warc-dedup", "warc-file", "warc-tempdir", "download",
            "dir", "ffmpeg-location", "batch-file", "load-info-json", "config-locations", "cache-dir", "stats-site", "stats-server", "stats-tls",
            "cert-key", "private-key", "input-metalink", "alias",
        ],
        prefixes: &["@"],
        parts: &["=@", ":=@"],
        ..NONE
    },
    Guard {
        programs: &["ssh", "scp", "sftp", "slogin", "autossh", "mosh", "sshfs", "pscp", "plink"],
        short: "oFSEIDJbwLRWi",
        long: &["ssh", "server", "client", "predict", "local"],
        ..NONE
    },
    Guard {
        programs: &["ssh-keygen", "ssh-add", "ssh-keyscan", "ssh-copy-id"],
        short: "DwsfOIeMPSoi",
        ..NONE
    },
    Guard {
        programs: &["rsync", "rclone", "unison", "rdiff-backup", "restic", "borg", "duplicity"],
        short: "eMTro",
        long: &[
            "backup-dir", "config", "copy-dest-cmd", "daemon", "early-input", "files-from", "log-file", "only-write-batch", "partial-dir",
            "password-command", "remote-option", "remote-schema", "rsh", "rsync-path", "sshcmd", "servercmd", "ssh", "temp-dir", "write-batch",
            "sftp-ssh", "sftp-server-command", "metadata-mapper", "rc", "repository-file", "option", "files-from-raw", "remote-path", "bwlimit-file",
            "cache-dir", "memprofile", "cpuprofile", "remote-cmd",
        ],
        ..NONE
    },
    Guard {
        programs: &["docker", "podman", "nerdctl", "buildah", "docker-compose", "podman-compose"],
        short: "Hcf",
        long: &[
            "config", "conmon", "connection", "context", "file", "hooks-dir", "host", "identity", "project-directory", "root", "runtime", "url",
            "tlscacert", "tlscert", "tlskey", "cni-config-dir", "network-cmd-path", "module", "storage-opt", "env-file", "cgroup-manager",
        ],
        words: &[
            "attach", "build", "buildx", "commit", "compose", "context", "cp", "create", "exec", "import", "load", "plugin", "rename", "restart",
            "run", "save", "export", "start", "update", "up", "play", "kube", "checkpoint", "unshare", "from", "mount",
        ],
        ..NONE
    },
    Guard {
        programs: &["kubectl", "oc", "k9s", "kustomize", "minikube", "kind", "k3s", "eksctl", "argocd", "flux", "istioctl", "stern"],
        short: "sf",
        long: &[
            "cache-dir", "certificate-authority", "client-certificate", "client-key", "config", "enable-alpha-plugins", "enable-exec", "enable-helm",
            "filename", "fn-path", "helm-command", "kubeconfig", "kuberc", "log-dir", "log-file", "output-directory", "password-cmd",
            "profile", "profile-output", "raw", "server", "tls-server-name", "token", "vmodule-file", "log_dir", "load-restrictor",
        ],
        words: &["attach", "config", "cp", "debug", "edit", "exec", "kustomize", "plugin", "proxy", "run", "rsh", "rsync", "ssh", "kubectl"],
        ..NONE
    },
    Guard {
        programs: &["helm", "helmfile", "helm3"],
        short: "fbe",
        long: &[
            "ca-file", "cert-file", "file", "helm-binary", "key-file", "keyring", "kube-apiserver", "kube-ca-file", "kubeconfig", "output-dir",
            "post-renderer", "post-renderer-args", "registry-config", "repo", "repository-cache", "repository-config", "state-values-file",
            "environment", "kustomize-binary", "output-dir-template", "content-cache",
        ],
        words: &["plugin", "repo", "registry", "pull", "package", "push", "dependency", "dep"],
        ..NONE
    },
    Guard {
        programs: &["terraform", "tofu", "terragrunt", "packer", "vault", "nomad", "consul", "pulumi", "cdk", "vagrant"],
        short: "C",
        long: &[
            "app", "backend-config", "backup", "chdir", "cwd", "cli-config-file", "config", "from-module", "generate-config-out", "out", "output",
            "plugin", "plugin-cache-dir", "plugin-dir", "pluginsdir", "state", "state-out", "terragrunt-config", "terragrunt-source", "terragrunt-tfpath",
            "terragrunt-working-dir", "tf-path", "working-dir", "source", "address", "log-file", "exec-agent", "json-into", "junit-xml",
            "test-directory", "download-dir", "feature", "inputs-debug", "auth-provider-cmd", "graph-root", "build",
        ],
        words: &["apply", "console", "destroy", "import", "init", "login", "push", "exec", "run", "ssh", "up", "plugin", "run-all", "build", "deploy"],
        ..NONE
    },
    Guard {
        programs: &["gh", "glab", "hub", "tea"],
        short: "DOow",
        long: &["dir", "output", "output-file", "recurse-submodules", "template-file", "web", "cert-identity", "bundle"],
        words: &["alias", "api", "auth", "browse", "clone", "codespace", "co", "download", "sync", "config", "create", "ext", "extension", "extensions", "fork", "ssh-key", "gpg-key", "--"],
        ..NONE
    },
    Guard {
        programs: &["aws", "gcloud", "gsutil", "az", "doctl", "heroku", "fly", "flyctl", "bq"],
        short: "oFm",
        long: &[
            "access-token-file", "account", "ca-bundle", "cli-input-json", "cli-input-yaml", "configuration", "credential-file-override", "endpoint-url",
            "flags-file", "impersonate-service-account", "log-http", "plugin", "profile", "ssh-flag", "ssh-key-file", "template-file", "outfile", "command",
            "cli-binary-format", "bigqueryrc", "flagfile", "output-template-file",
        ],
        words: &[
            "configure", "config", "ssh", "scp", "run", "exec", "ssm", "extension", "plugins", "plugin", "execute-command", "start-session", "run:detached",
            "ps:exec", "alias", "rsync", "interactive", "init", "source", "ecs-exec", "console",
        ],
        parts: &["file://", "fileb://"],
        ..NONE
    },
    Guard {
        programs: &["ansible", "ansible-playbook", "ansible-galaxy", "ansible-pull", "salt", "salt-call", "puppet", "chef-client", "knife"],
        short: "aeiMmcFu",
        long: &[
            "args", "become-exe", "become-password-file", "config", "config-dir", "connection", "connection-password-file", "environment-path", "extra-vars",
            "inventory", "inventory-file", "module-name", "module-path", "modulepath", "playbook-dir", "private-key", "roles-path", "scp-extra-args",
            "sftp-extra-args", "ssh-common-args", "ssh-extra-args", "tree", "vault-id", "vault-password-file", "file-root", "pillar-root", "local",
            "external_nodes", "ssh-args", "execute", "require", "collections-path", "token-path",
        ],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["ip", "tc", "bridge", "ss", "nft", "iptables", "iptables-restore", "iptables-apply"],
        short: "bfKDNcwMI",
        words: &["netns", "exec", "vrf"],
        long: &["b", "batch", "kill", "diag", "net", "file", "include-path", "modprobe", "define", "includepath", "command", "write"],
        ..NONE
    },
    Guard {
        programs: &["systemctl", "loginctl", "hostnamectl", "busctl", "machinectl", "timedatectl"],
        short: "HM",
        long: &["host", "machine", "root", "image", "image-policy", "property"],
        words: &["edit", "set-environment", "import-environment", "link", "enable", "shell", "login", "start", "bind", "copy-to", "call"],
        ..NONE
    },
    Guard {
        programs: &["journalctl", "dmesg", "coredumpctl"],
        short: "oCcDF",
        long: &[
            "cursor-file", "debugger", "debugger-arguments", "directory", "file", "flush", "image", "output", "relinquish-var", "rotate", "root",
            "setup-keys", "sync", "update-catalog", "vacuum-files", "vacuum-size", "vacuum-time", "clear", "read-clear", "console-level",
        ],
        words: &["debug", "gdb", "dump"],
        ..NONE
    },
    Guard { programs: &["tcpdump", "tshark", "dumpcap"], short: "zwCXo", long: &["write", "config-profile"], ..NONE },
    Guard {
        programs: &["nmap", "ncat"],
        long: &[
            "append-output", "datadir", "exec", "iL", "lua-exec", "oA", "oG", "oN", "oS", "oX", "resume", "script", "script-args-file", "script-updatedb",
            "servicedb", "sh-exec", "stylesheet", "versiondb", "excludefile",
        ],
        prefixes: &["-sC", "-A", "-o"],
        ..NONE
    },
    Guard {
        programs: &["nc", "ncat", "netcat"],
        short: "eco",
        long: &["exec", "sh-exec", "lua-exec", "output", "hex-dump"],
        ..NONE
    },
    Guard {
        programs: &["openssl"],
        long: &[
            "CAcreateserial", "CAserial", "caps", "config", "dump", "engine", "engine_impl", "keyform", "keylogfile", "keyout", "msgfile", "out", "outdir",
            "path", "pkeyopt", "pre", "post", "provider", "provider-path", "provparam", "psk_session", "sess_out", "ssl_client_engine", "startdate-file", "t", "WWW", "HTTP",
            "writerand", "cert_out", "certsout", "keygen_engine", "rspout", "respout", "reqout", "signer_out", "econtent_out", "tgt", "cmd", "pass", "passin",
        ],
        words: &["engine", "rehash", "s_server", "ca", "CA.pl", "tsget"],
        ..NONE
    },
    Guard {
        programs: &["gpg", "gpgv", "gpgsm", "gpgconf", "sq", "age", "sops", "pass"],
        short: "odi",
        long: &[
            "agent-program", "attribute-file", "attribute-fd", "auto-key-locate", "command-file", "default-keyserver", "dirmngr-program", "edit-key",
            "exec-path", "homedir", "in-place", "keyboxd-program", "keyring", "keyserver", "keyserver-options", "load-extension", "log-file", "logger-file",
            "logger-fd", "no-default-keyring", "options", "output", "passphrase-file", "photo-viewer", "pinentry-mode", "pinentry-program", "protect-tool-program", "secret-keyring",
            "status-file", "primary-keyring", "trustdb-name", "show-photos", "debug-allow", "p12-charset-program", "prefer-system-dirmngr", "identity", "config", "in-file",
            "list-options", "verify-options", "default-cert-options", "try-all", "change-options", "apply-defaults", "launch", "create-socketdir", "build-prefix",
            "keyservice", "plugin",
        ],
        plain: &["verify"],
        words: &["exec-env", "exec-file", "edit", "git", "extension", "-j"],
        ..NONE
    },
    Guard {
        programs: &["apt", "apt-get", "apt-cache", "aptitude", "apt-file", "dpkg", "dpkg-query", "dpkg-deb"],
        short: "oc",
        long: &[
            "admindir", "auto-deconfigure", "config-file", "host-architecture", "instdir", "log", "option", "path-include", "post-invoke", "pre-invoke", "root",
            "status-logger", "status-fd", "triggers-only", "download-only-to", "target-release-file", "planner", "solver", "hookdir", "force-all",
        ],
        parts: &["::", "/"],
        ..NONE
    },
    Guard {
        programs: &["rpm", "rpmbuild", "rpm2cpio", "dnf", "yum", "zypper", "microdnf", "rpmspec", "rpmkeys"],
        short: "EDcrx",
        long: &[
            "config", "dbpath", "define", "disableplugin", "enableplugin", "eval", "installroot", "load", "macros", "pipe", "plus-repo", "rcfile", "releasever", "reposd-dir", "root",
            "setopt", "triggers", "undefine", "use-host-config", "comment", "forcearch", "predefine", "plus-content", "solver-test-dir", "cache-dir", "raw-cache-dir", "destdir", "downloaddir",
            "queryformat-file", "rpmverbosity", "repofrompath", "nodbpath",
        ],
        words: &["shell", "install", "localinstall", "config-manager", "-i", "alias"],
        parts: &["%("],
        ..NONE
    },
    Guard {
        programs: &["pacman", "yay", "paru", "apk", "emerge", "xbps-install", "xbps-query", "opkg"],
        short: "bUrpCcSRX",
        long: &[
            "arch", "cachedir", "config", "dbpath", "gpgdir", "hookdir", "keys-dir", "logfile", "makepkg", "mflags", "overwrite", "pacman", "print-format-file", "repositories-file",
            "root", "sudo", "sudoflags", "sysroot", "editor", "git", "gpg", "save", "config-root", "prefix", "repository", "rootdir", "add-arch", "conf",
        ],
        words: &["add", "install", "-S"],
        ..NONE
    },
    Guard {
        programs: &["nix", "nix-build", "nix-env", "nix-instantiate", "nix-store", "nixos-rebuild", "home-manager", "guix"],
        short: "cEoIfLeACi",
        long: &[
            "argstr", "builders", "command", "expr", "expression", "extra-experimental-features", "file", "flake", "impure", "include", "option", "override-flake", "override-input",
            "plugin-files", "post-build-hook", "pre-build-hook", "profile", "store", "system-features", "use-sqlite-wal", "diff-hook", "eval", "load-path", "with-source", "out-link", "run",
            "sandbox-build-dir", "manifest", "build-hook", "inputs-from", "arg", "load",
        ],
        words: &["run", "shell", "develop", "repl", "eval", "fmt", "bundle", "copy", "daemon", "install", "profile", "environment", "home", "system", "time-machine", "pull", "package"],
        ..NONE
    },
    Guard {
        programs: &["brew"],
        words: &["sh", "edit", "create", "tap", "install", "reinstall", "extract", "ruby", "irb", "services", "bundle", "style", "audit", "test", "link", "upgrade", "--eval"],
        ..NONE
    },
];
