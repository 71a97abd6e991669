//! The programs whose configuration is read: where their files are, and how they write what our keys say.

/// A program that has MCP servers in its configuration.
#[derive(Debug)]
pub(crate) struct Client {
    /// As `discover` names it and `config show` tells it.
    pub(crate) name: &'static str,
    /// Files of a project, relative to its directory; the first that exists in a directory is read.
    pub(crate) project: &'static [&'static str],
    /// Files of a person; each that exists is read. Those of other systems cost nothing, since they do not exist here.
    pub(crate) user: &'static [(Root, &'static str)],
    /// Where in a file the servers are; the first path that leads to something counts.
    pub(crate) keys: &'static [&'static [&'static str]],
    pub(crate) dialect: Dialect,
}

/// What files of a person are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    /// `~`.
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    Config,
    /// `~/Library/Application Support`, of macOS.
    Support,
    /// `%APPDATA%`, of Windows.
    AppData,
    /// `$CLAUDE_CONFIG_DIR`, else `~`.
    Claude,
    /// `$CODEX_HOME`, else `~/.codex`.
    Codex,
}

/// How values are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// The unit of `timeout`.
    pub(crate) timeout: TimeoutUnit,
    /// How variables are written besides `${VAR}`, `${VAR:-default}` and `${env:VAR}`, which are read everywhere.
    pub(crate) variables: VariableForm,
}

/// What a number at `timeout` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeoutUnit {
    /// Of a call, in whole seconds; our own key, which is checked as it stands.
    Ours,
    /// Of a call, in seconds.
    Seconds,
    /// Of a call, in milliseconds.
    Milliseconds,
    /// Of a call: milliseconds up to Zed 0.20x, seconds since then; nobody means less than a second or more than a quarter of an hour.
    Either,
    /// Until a server has told its tools, in milliseconds; a mapping has `startup` and `request`.
    StartMilliseconds,
    /// The client has no such key.
    None,
}

/// Other forms of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableForm {
    /// None.
    Braces,
    /// `$VAR` and `%VAR%`.
    Shell,
    /// `{env:VAR}` and `{file:path}`.
    Prefixed,
    /// `${workspaceFolder}` and the like.
    Editor,
    /// `${CLAUDE_PROJECT_DIR}`.
    ProjectDir,
}

const MCP_SERVERS: &[&[&str]] = &[&["mcpServers"]];

/// In the order in which they are read. The first is Claude Code, which has settings in further files.
pub(crate) const CLIENTS: [Client; 10] = [
    // https://code.claude.com/docs/en/mcp: `timeout` is MCP_TOOL_TIMEOUT of one server, in milliseconds.
    Client {
        name: "claude-code",
        project: &[".mcp.json"],
        user: &[(Root::Claude, ".claude.json")],
        keys: MCP_SERVERS,
        dialect: Dialect {
            timeout: TimeoutUnit::Milliseconds,
            variables: VariableForm::ProjectDir,
        },
    },
    // https://cursor.com/docs/context/mcp
    Client {
        name: "cursor",
        project: &[".cursor/mcp.json"],
        user: &[(Root::Home, ".cursor/mcp.json")],
        keys: MCP_SERVERS,
        dialect: Dialect {
            timeout: TimeoutUnit::None,
            variables: VariableForm::Editor,
        },
    },
    // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
    Client {
        name: "vscode",
        project: &[".vscode/mcp.json"],
        user: &[
            (Root::Config, "Code/User/mcp.json"),
            (Root::Support, "Code/User/mcp.json"),
            (Root::AppData, "Code/User/mcp.json"),
        ],
        keys: &[&["servers"], &["mcpServers"]],
        dialect: Dialect {
            timeout: TimeoutUnit::None,
            variables: VariableForm::Editor,
        },
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp
    Client {
        name: "windsurf",
        project: &[".windsurf/mcp_config.json"],
        user: &[
            (Root::Home, ".codeium/windsurf/mcp_config.json"),
            (Root::Home, ".codeium/mcp_config.json"),
        ],
        keys: MCP_SERVERS,
        dialect: Dialect {
            timeout: TimeoutUnit::None,
            variables: VariableForm::Braces,
        },
    },
    // https://developers.openai.com/codex/mcp: the unit is in the names, `tool_timeout_sec` and `startup_timeout_sec`.
    Client {
        name: "codex",
        project: &[".codex/config.toml"],
        user: &[(Root::Codex, "config.toml")],
        keys: &[&["mcp_servers"]],
        dialect: Dialect {
            timeout: TimeoutUnit::None,
            variables: VariableForm::Braces,
        },
    },
    // https://geminicli.com/docs/tools/mcp-server: `timeout` of a request in milliseconds, 600,000 if there is none.
    Client {
        name: "gemini",
        project: &[".gemini/settings.json"],
        user: &[(Root::Home, ".gemini/settings.json")],
        keys: MCP_SERVERS,
        dialect: Dialect {
            timeout: TimeoutUnit::Milliseconds,
            variables: VariableForm::Shell,
        },
    },
    // https://opencode.ai/docs/mcp-servers: `timeout` for fetching the tools, in milliseconds; since version 2 a mapping.
    Client {
        name: "opencode",
        project: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        user: &[(Root::Config, "opencode/opencode.json"), (Root::Config, "opencode/opencode.jsonc")],
        keys: &[&["mcp", "servers"], &["mcp"]],
        dialect: Dialect {
            timeout: TimeoutUnit::StartMilliseconds,
            variables: VariableForm::Prefixed,
        },
    },
    // https://zed.dev/docs/ai/mcp
    Client {
        name: "zed",
        project: &[".zed/settings.json"],
        user: &[(Root::Config, "zed/settings.json"), (Root::AppData, "Zed/settings.json")],
        keys: &[&["context_servers"]],
        dialect: Dialect {
            timeout: TimeoutUnit::Either,
            variables: VariableForm::Braces,
        },
    },
    // https://block.github.io/goose/docs/guides/config-files: `timeout` in seconds, 300 if there is none.
    Client {
        name: "goose",
        project: &[],
        user: &[
            (Root::Config, "goose/config.yaml"),
            (Root::AppData, "Block/goose/config/config.yaml"),
        ],
        keys: &[&["extensions"]],
        dialect: Dialect {
            timeout: TimeoutUnit::Seconds,
            variables: VariableForm::Braces,
        },
    },
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    Client {
        name: "claude-desktop",
        project: &[],
        user: &[
            (Root::Config, "Claude/claude_desktop_config.json"),
            (Root::Support, "Claude/claude_desktop_config.json"),
            (Root::AppData, "Claude/claude_desktop_config.json"),
        ],
        keys: MCP_SERVERS,
        dialect: Dialect {
            timeout: TimeoutUnit::None,
            variables: VariableForm::Braces,
        },
    },
];

/// A file that `MCP_CONFIG_PATH` names: of the form of `.mcp.json`, but the servers may be where any client has them.
pub(crate) const NAMED: Client = Client {
    name: "MCP_CONFIG_PATH",
    project: &[],
    user: &[],
    keys: &[
        &["mcpServers"],
        &["servers"],
        &["context_servers"],
        &["mcp_servers"],
        &["mcp", "servers"],
        &["mcp"],
        &["extensions"],
    ],
    dialect: Dialect {
        timeout: TimeoutUnit::Milliseconds,
        variables: VariableForm::ProjectDir,
    },
};

/// Our own files.
pub(crate) const OURS: Dialect = Dialect {
    timeout: TimeoutUnit::Ours,
    variables: VariableForm::Braces,
};
