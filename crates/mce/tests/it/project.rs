//! A folder with a configuration, and the program run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use mce_test::FakeApi;
use serde_json::{Value, json};

/// A folder of its own for each test; state and home lie in it.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error object on standard error.
    pub(crate) fn error(&self) -> Value {
        let lines = self.err.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        // Log messages are JSON, too.
        let mut errors = lines.map(|line| line["error"].clone()).filter(Value::is_object);
        errors.next().unwrap_or_else(|| panic!("no error on stderr: {self:?}"))
    }
}

impl Project {
    /// A project without any file.
    pub(crate) fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    /// One server `shop` on this API, with a token, compiled.
    pub(crate) fn shop(api: &FakeApi) -> Self {
        let project = Self::empty().with("SHOP_TOKEN", "shop-token-8842");
        project.write("shop.json", &shop_document().to_string());
        project.write("mce.yaml", &shop_config(api, ""));
        let ended = project.run(&["compile"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        project
    }

    /// Adds a variable of the environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.file(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// The program with these arguments, not yet started.
    #[expect(clippy::disallowed_methods, reason = "tests start the program as a person does")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mce"));
        command.args(args).current_dir(self.path()).env_clear().stdin(Stdio::null());
        for name in ["PATH", "PYENV_ROOT", "PYENV_VERSION", "MCE_PYTHON"] {
            if let Ok(value) = std::env::var(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", self.file("home")).env("MCE_DATA_DIR", self.file("data"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().unwrap())
    }
}

/// `mce.yaml` for the server `shop`, with further lines of the server.
pub(crate) fn shop_config(api: &FakeApi, more: &str) -> String {
    format!(
        "servers:\n  shop:\n    openapi: ./shop.json\n    base_url: {}/v1\n    auth: {{type: static, value: \"Bearer ${{SHOP_TOKEN}}\"}}\n{more}",
        api.origin()
    )
}

/// A small document: a read with path and query parameters, a write with a body, a delete.
pub(crate) fn shop_document() -> Value {
    let item = json!({"$ref": "#/components/schemas/Item"});
    let answer = json!({"description": "as asked", "content": {"application/json": {"schema": item}}});
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1", "description": "Items of a shop."},
        "paths": {
            "/items/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "get": {"operationId": "getItem", "summary": "Get one item", "responses": {"200": answer, "404": {"description": "no such item"}},
                    "parameters": [{"name": "fields", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                                   {"name": "currency", "in": "query", "schema": {"type": "string", "enum": ["EUR", "NOK"]}}]},
                "delete": {"operationId": "deleteItem", "summary": "Delete an item", "responses": {"204": {"description": "gone"}}},
            },
            "/items": {
                "post": {"operationId": "createItem", "summary": "Create an item", "responses": {"201": answer},
                    "requestBody": {"required": true, "content": {"application/json": {"schema": item}}}},
            },
        },
        "components": {"schemas": {"Item": {"type": "object", "required": ["name"],
            "properties": {"id": {"type": "string", "readOnly": true}, "name": {"type": "string"}, "price": {"type": "number"}}}}},
    })
}
