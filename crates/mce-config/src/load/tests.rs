//! `load` as its users see it: files in a directory, variables in a map, settings and report out.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::{Auth, Credential, HttpServer, HttpTransport, Location, Origin, Secret, SessionAuth, StdioServer, TokenPlace};

/// A working directory with files, and variables.
pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) options: LoadOptions,
}

/// Files by path, variables by name. `HOME` is `home` in the directory.
pub(crate) fn bench(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = directory.path().join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(file, text).unwrap();
    }
    let home = directory.path().join("home").display().to_string();
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let options = LoadOptions {
        config_file: None,
        env_file: None,
        working_dir: directory.path().to_owned(),
        environment: variables.chain([("HOME".to_owned(), home)]).collect(),
        arguments: BTreeMap::new(),
    };
    Bench { directory, options }
}

impl Bench {
    pub(crate) fn load(&self) -> (Settings, Report) {
        load(&self.options).unwrap()
    }

    /// The directory's own path is taken out of texts.
    pub(crate) fn relative(&self, text: &impl ToString) -> String {
        text.to_string().replace(&format!("{}/", self.directory.path().display()), "")
    }

    fn error(&self) -> String {
        self.relative(&load(&self.options).unwrap_err())
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let with_hint = |warning: &crate::Warning| match &warning.hint {
            Some(hint) => format!("{}; {hint}", self.relative(warning)),
            None => self.relative(warning),
        };
        self.load().1.warnings.iter().map(with_hint).collect()
    }

    pub(crate) fn shown(&self, key: &str) -> String {
        let (_, report) = self.load();
        let shown = report
            .shown
            .iter()
            .find(|shown| shown.key == key)
            .unwrap_or_else(|| panic!("`{key}` is not shown"));
        self.relative(&format!("{} <- {}", shown.value, shown.source))
    }
}

fn server(text: &str) -> String {
    format!("servers:\n  shop:\n    openapi: ./shop.yaml\n{text}")
}

#[test]
fn nothing_has_to_exist() {
    let bench = bench(&[], &[]);
    let (settings, report) = bench.load();
    assert!(settings.servers.is_empty() && report.warnings.is_empty());
    assert_eq!(settings.data_dir, bench.directory.path().join("home/.local/share/mce"));
    assert_eq!((settings.limits.wall.as_secs(), settings.serve.port), (30, 8000));
    assert_eq!(bench.shown("port"), "8000 <- default");
}

#[test]
fn every_setting_is_shown_and_has_a_variable() {
    let (_, report) = bench(&[], &[]).load();
    let mut shown: Vec<&str> = report.shown.iter().map(|shown| shown.key.as_str()).collect();
    shown.sort_unstable();
    let without_effect = ["compiled_output_dir", "sandbox_requirements_path"];
    let known: Vec<&str> = SETTING_KEYS.into_iter().filter(|key| !without_effect.contains(key)).collect();
    assert_eq!(shown, known);
}

#[test]
fn the_first_source_that_has_a_value_wins() {
    let yaml = "port: 4";
    for (arguments, environment, dotenv, yaml, expected) in [
        (Some("1"), "2", "MCE_PORT=3", yaml, "1 <- argument --port"),
        (None, "2", "MCE_PORT=3", yaml, "2 <- environment MCE_PORT"),
        (None, "", "MCE_PORT=3", yaml, "3 <- .env:MCE_PORT"),
        (None, "", "MCE_PORT=", yaml, "4 <- mce.yaml: port"),
        (None, "", "", "port:", "8000 <- default"),
    ] {
        let mut bench = bench(&[(".env", dotenv), ("mce.yaml", yaml)], &[("MCE_PORT", environment)]);
        bench.options.arguments = arguments.map(|value| ("port".to_owned(), value.to_owned())).into_iter().collect();
        assert_eq!(bench.shown("port"), expected);
    }
}

#[test]
fn variables_of_a_server_beat_its_file() {
    let yaml = "servers:\n  My Shop:\n    openapi: a.yaml\n    base_url: http://file\n    auth_header: Bearer ${NOBODY}\n    extra_headers: {A: b}\n";
    let base_url = "servers.my_shop.base_url";
    for (variables, key, expected) in [
        (vec![], base_url, "http://file <- mce.yaml: servers.My Shop.base_url"),
        (
            vec![("MCE_MY_SHOP_BASE_URL", "http://env/")],
            base_url,
            "http://env/ <- environment MCE_MY_SHOP_BASE_URL",
        ),
        (
            vec![("MCE_MY SHOP_BASE_URL", "http://env")],
            base_url,
            "http://env <- environment MCE_MY SHOP_BASE_URL",
        ),
        (
            vec![("MCE_MY_SHOP_AUTH", "Bearer x")],
            "servers.my_shop.auth.value",
            "*** <- environment MCE_MY_SHOP_AUTH",
        ),
        (
            vec![("MCE_MY_SHOP_COOKIE", "a=b")],
            "servers.my_shop.extra_headers.Cookie",
            "*** <- environment MCE_MY_SHOP_COOKIE",
        ),
    ] {
        assert_eq!(bench(&[("mce.yaml", yaml)], &variables).shown(key), expected);
    }
    let variables = [
        ("MCE_MY_SHOP_AUTH", "Authorization: Bearer ${TOKEN}"),
        ("MCE_MY_SHOP_BASE_URL", "http://env/"),
        ("MCE_MY_SHOP_EXTRA_HEADERS", "{\"X-Version\": \"v${TOKEN}\", \"N\": 1}"),
        ("TOKEN", "t"),
    ];
    let bench = bench(&[("mce.yaml", yaml)], &variables);
    let (settings, _) = bench.load();
    let server = settings.server("My Shop").unwrap();
    assert_eq!(server.base_url.as_deref(), Some("http://env"));
    assert!(
        server.auth
            == Auth::Static {
                value: Secret::new("Bearer t")
            }
    );
    assert_eq!(
        headers(server),
        [("X-Version", "vt"), ("N", "1")].map(|(name, value)| (name.to_owned(), Secret::new(value)))
    );
    assert!(server.unresolved.is_empty());
}

fn headers(server: &crate::ServerSettings) -> Vec<(String, Secret)> {
    server.extra_headers.clone()
}

#[test]
fn files_are_found_in_their_order() {
    let port = |number: u16| format!("port: {number}");
    let files = |names: &[&'static str]| -> Vec<(&'static str, String)> { names.iter().copied().zip((1..).map(port)).collect() };
    for (names, config, variable, expected) in [
        (
            vec!["mce.yaml", "a/x.yaml", "b/y.yaml"],
            Some("a/x.yaml"),
            "b/y.yaml",
            "2 <- a/x.yaml: port",
        ),
        (vec!["mce.yaml", "b/y.yaml"], None, "./b/y.yaml", "2 <- b/y.yaml: port"),
        (vec!["mce.yaml", "home/z.yaml"], None, "~/z.yaml", "2 <- home/z.yaml: port"),
        (vec!["mce.yaml", "mce.yml"], None, "", "1 <- mce.yaml: port"),
        (vec!["mce.yml", "home/.config/mce/mce.yaml"], None, "", "1 <- mce.yml: port"),
        (vec!["home/.config/mce/mce.yaml"], None, "", "1 <- home/.config/mce/mce.yaml: port"),
    ] {
        let files = files(&names);
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let mut bench = bench(&files, &[("MCE_CONFIG", variable)]);
        bench.options.config_file = config.map(PathBuf::from);
        assert_eq!(bench.shown("port"), expected);
    }
}

#[test]
fn a_named_file_that_is_missing_is_an_error() {
    let mut with_config = bench(&[], &[]);
    with_config.options.config_file = Some("no.yaml".into());
    let mut with_env_file = bench(&[], &[]);
    with_env_file.options.env_file = Some("no.env".into());
    for (bench, file) in [
        (with_config, "no.yaml"),
        (with_env_file, "no.env"),
        (bench(&[], &[("MCE_CONFIG", "no.yaml")]), "no.yaml"),
        (bench(&[], &[("MCE_SWAGGER_CONFIG_FILE", "no.yaml")]), "no.yaml"),
    ] {
        assert_eq!(bench.error(), format!("failed to read `{file}`"));
    }
}

#[test]
fn the_env_file_is_the_named_one_else_that_of_the_directory_else_that_beside_the_configuration() {
    let files = [
        ("named.env", "MCE_PORT=1"),
        (".env", "MCE_PORT=2"),
        ("etc/.env", "MCE_PORT=3"),
        ("etc/mce.yaml", ""),
    ];
    let mut named = bench(&files, &[]);
    named.options.env_file = Some("named.env".into());
    assert_eq!(named.shown("port"), "1 <- named.env:MCE_PORT");
    let mut found = bench(&files, &[]);
    found.options.config_file = Some("etc/mce.yaml".into());
    assert_eq!(found.shown("port"), "2 <- .env:MCE_PORT");
    let mut beside = bench(&files[2..], &[]);
    beside.options.config_file = Some("etc/mce.yaml".into());
    assert_eq!(beside.shown("port"), "3 <- etc/.env:MCE_PORT");
}

#[test]
fn paths_are_relative_to_what_holds_them() {
    let yaml = "data_dir: ./state\nservers: {shop: {openapi: ../docs/shop.yaml, skills_url: ~/shop.md}}";
    let swaggers = "servers: [{name: old, swagger_url: ./old.yaml}, {name: far, swagger_url: 'https://h/far.json'}]";
    let files = [
        ("etc/mce.yaml", yaml),
        ("etc/config/swaggers.yaml", swaggers),
        ("env/x.env", "MCE_CACHE_DB_PATH=./c.db"),
    ];
    let mut bench = bench(&files, &[("MCE_PYTHON", "./bin/python3")]);
    bench.options.config_file = Some("etc/mce.yaml".into());
    bench.options.env_file = Some("env/x.env".into());
    let (settings, _) = bench.load();
    let path = |name: &str| bench.directory.path().join(name);
    let origins: Vec<Origin> = settings.servers.iter().map(|server| server.origin.clone()).collect();
    let file = |name: &str| Origin::OpenApi(Location::File(path(name)));
    let far = Origin::OpenApi(Location::Url("https://h/far.json".to_owned()));
    assert!(origins == [file("docs/shop.yaml"), file("etc/config/old.yaml"), far]);
    assert_eq!(settings.servers[0].skills, Some(Location::File(path("home/shop.md"))));
    assert_eq!(settings.data_dir, path("etc/state"));
    assert_eq!(settings.recipes.file, Some(path("env/c.db")));
    assert_eq!(settings.sandbox.python, path("bin/python3").display().to_string());
    assert_eq!((settings.base_dir, settings.config_file), (path("etc"), Some(path("etc/mce.yaml"))));
}

#[test]
fn paths_in_a_swaggers_file_may_be_relative_to_the_working_directory() {
    let swaggers =
        "servers:\n- {name: a, swagger_url: ./docs/a.yaml}\n- {name: b, swagger_url: ./docs/b.yaml}\n- {name: c, swagger_url: c.yaml}\n";
    let files = [
        ("docs/a.yaml", ""),
        ("docs/b.yaml", ""),
        ("config/docs/b.yaml", ""),
        ("config/swaggers.yaml", swaggers),
    ];
    let bench = bench(&files, &[]);
    let origins: Vec<Origin> = bench.load().0.servers.into_iter().map(|server| server.origin).collect();
    let file = |name: &str| Origin::OpenApi(Location::File(bench.directory.path().join(name)));
    assert!(origins == [file("docs/a.yaml"), file("config/docs/b.yaml"), file("config/c.yaml")]);
    let expected = "config/swaggers.yaml:2: servers.a.swagger_url: the file was found relative to another directory; write it relative to the file it stands in";
    assert_eq!(bench.warnings(), [expected]);
}

#[test]
fn data_lies_beside_a_projects_configuration_and_else_in_the_persons_own_directory() {
    for (file, variable, expected) in [
        ("mce.yaml", "", "data"),
        ("config/swaggers.yaml", "", "data"),
        ("home/.config/mce/mce.yaml", "", "home/.local/share/mce"),
        ("other", "", "home/.local/share/mce"),
        ("mce.yaml", "./there", "there"),
    ] {
        let bench = bench(&[(file, "")], &[("MCE_DATA_DIR", variable)]);
        assert_eq!(bench.relative(&bench.load().0.data_dir.display()), expected, "{file}");
    }
}

#[test]
fn both_files_give_servers_and_the_first_wins() {
    let yaml = "servers:\n  b: {openapi: 1.yaml}\n  A b: {openapi: 2.yaml}\n";
    let swaggers = "servers:\n  - name: a-b\n    swagger_url: 3.yaml\n  - name: c\n    swagger_url: 4.yaml\n";
    let bench = bench(&[("mce.yaml", yaml), ("config/swaggers.yaml", swaggers)], &[]);
    let names: Vec<String> = bench.load().0.servers.into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["b", "a_b", "c"]);
    let expected = "config/swaggers.yaml:2: servers.a-b: server `a-b` is ignored, because mce.yaml:3: servers.A b has it too";
    assert_eq!(bench.warnings(), [expected]);
}

#[test]
fn every_kind_of_server_is_read() {
    let yaml = r#"
servers:
  full:
    openapi: http://h/x.json
    base_url: http://127.0.0.1:9000/v1/
    credentials: {key: "${K}", user: {username: u, password: "${P}"}}
    extra_headers: {X-A: 1.10, X-B: "b: c"}
    headers: "[x-a:2, X-C: 3:4]"
    is_read_only: yes
    top_level_functions: [getForecast, search]
  files:
    type: stdio
    command: npx
    args: ["-y", "@scope/server", "${K}", 8]
    env: {TOKEN: "${P}"}
  crm: {type: http, url: "https://crm/mcp", headers: {A: b}}
"#;
    let bench = bench(&[("mce.yaml", yaml)], &[("K", "k"), ("P", "p")]);
    let (settings, _) = bench.load();
    let [full, files, crm] = settings.servers.as_slice() else {
        panic!("three servers")
    };
    let secret = |text: &str| Secret::new(text);
    let user = Credential::Basic {
        username: "u".to_owned(),
        password: secret("p"),
    };
    assert!(full.origin == Origin::OpenApi(Location::Url("http://h/x.json".to_owned())));
    assert_eq!(full.base_url.as_deref(), Some("http://127.0.0.1:9000/v1"));
    assert!(full.credentials == BTreeMap::from([("key".to_owned(), Credential::Token(secret("k"))), ("user".to_owned(), user)]));
    let expected = [("X-A", "1.10"), ("X-B", "b: c"), ("X-C", "3:4")].map(|(name, value)| (name.to_owned(), secret(value)));
    assert!(full.extra_headers == expected);
    assert!(full.is_read_only);
    assert_eq!(full.top_level_functions, ["getForecast", "search"]);
    let stdio = Origin::McpStdio(StdioServer {
        command: "npx".to_owned(),
        args: ["-y", "@scope/server", "k", "8"].map(str::to_owned).to_vec(),
        env: BTreeMap::from([("TOKEN".to_owned(), secret("p"))]),
        cwd: None,
    });
    assert!(files.origin == stdio);
    let http = HttpServer {
        url: "https://crm/mcp".to_owned(),
        transport: HttpTransport::Auto,
    };
    assert!(crm.origin == Origin::McpHttp(http) && crm.extra_headers == [("A".to_owned(), secret("b"))]);
}

#[test]
fn every_type_of_auth_is_read() {
    let secret = || Secret::new("s3cr3t");
    let session = |is_form, cookie_name: &str, seconds| {
        Auth::Session(Box::new(SessionAuth {
            login_url: "https://h/login".to_owned(),
            username: "u".to_owned(),
            password: secret(),
            username_field: "username".to_owned(),
            password_field: "password".to_owned(),
            is_form,
            cookie_name: cookie_name.to_owned(),
            token_field: String::new(),
            expires: std::time::Duration::from_secs(seconds),
        }))
    };
    for (text, expected) in [
        ("auth_header: '${S}'", Auth::Static { value: secret() }),
        ("auth_header: ''", Auth::None),
        ("auth:", Auth::None),
        ("auth: {type: none}", Auth::None),
        ("auth: {type: static, value: '${S}'}", Auth::Static { value: secret() }),
        ("auth: {type: JWT, token: '${S}'}", Auth::Jwt { token: secret() }),
        (
            "auth: {type: basic, username: '${U}', password: '${S}'}",
            Auth::Basic {
                username: "u".to_owned(),
                password: secret(),
            },
        ),
        (
            "auth: {type: oauth2, token_url: https://h/t, client_id: '${U}', client_secret: '${S}', scope: api}",
            Auth::OAuth2 {
                place: TokenPlace::Url("https://h/t".to_owned()),
                client_id: "u".to_owned(),
                client_secret: secret(),
                scope: "api".to_owned(),
            },
        ),
        (
            "auth: {type: oauth2, issuer: https://h/realm, client_id: u, client_secret: '${S}'}",
            Auth::OAuth2 {
                place: TokenPlace::Issuer("https://h/realm".to_owned()),
                client_id: "u".to_owned(),
                client_secret: secret(),
                scope: String::new(),
            },
        ),
        (
            "auth: {type: keycloak, base_url: https://h/auth/, realm: r, client_id: u, client_secret: '${S}'}",
            Auth::Keycloak {
                base_url: "https://h/auth".to_owned(),
                realm: "r".to_owned(),
                client_id: "u".to_owned(),
                client_secret: secret(),
                scope: String::new(),
            },
        ),
        (
            "auth: {type: session, login_url: https://h/login, username: u, password: '${S}'}",
            session(false, "", 3600),
        ),
        (
            "auth: {type: session, login_url: https://h/login, username: u, password: '${S}', content_type: form, cookie_name: J, expires_seconds: 60}",
            session(true, "J", 60),
        ),
    ] {
        let bench = bench(&[("mce.yaml", &server(&format!("    {text}")))], &[("S", "s3cr3t"), ("U", "u")]);
        let (settings, report) = bench.load();
        assert!(settings.servers[0].auth == expected, "{text}: {:?}", settings.servers[0].auth);
        assert!(report.warnings.is_empty(), "{text}: {:?}", report.warnings);
    }
}

#[test]
fn what_nothing_defines_is_kept_with_variable_file_and_key() {
    let yaml = server("    base_url: http://${HOST_NAME}/\n    auth: {type: static, value: 'Bearer ${TOKEN}'}\n    is_read_only: ${RO}\n");
    let swaggers = "servers:\n  - {name: old, swagger_url: '${DIR}/x.yaml'}";
    let files = [("mce.yaml", yaml.as_str()), ("config/swaggers.yaml", swaggers)];
    let bench = bench(&files, &[("TOKEN", ""), ("MCE_OLD_AUTH", "Bearer ${OLD}")]);
    let (settings, _) = bench.load();
    let unresolved = settings.servers.iter().flat_map(|server| &server.unresolved);
    let found: Vec<String> = unresolved
        .map(|u| format!("{} {} {}", u.variable, bench.relative(&u.file), u.key))
        .collect();
    let expected = [
        "HOST_NAME mce.yaml servers.shop.base_url",
        "TOKEN mce.yaml servers.shop.auth.value",
        "RO mce.yaml servers.shop.is_read_only",
        "DIR config/swaggers.yaml servers.old.swagger_url",
        "OLD environment MCE_OLD_AUTH",
    ];
    assert_eq!(found, expected);
    assert!(settings.servers[0].is_read_only);
}

#[test]
fn variables_of_both_kinds_are_put_into_texts_once() {
    let files = [
        (".env", "A=from file\nB=${C}\n"),
        ("mce.yaml", "llm_model: ${A}/${B}/${D:-d}\nhost: ${E}"),
    ];
    let bench = bench(&files, &[("C", "no"), ("E", "from environment")]);
    let (settings, _) = bench.load();
    assert_eq!(settings.enhance.model, "from file/${C}/d");
    assert_eq!(settings.serve.host, "from environment");
    assert_eq!(bench.shown("llm_model"), "***/***/d <- mce.yaml: llm_model");
}

#[test]
fn unknown_names_give_a_warning_with_the_nearest_known_one() {
    let swaggers = "servers: [{name: old, swagger_url: x, base_ulr: 1}]\nport: 1";
    let files = [
        (
            "mce.yaml",
            "prot: 1\nservers:\n  shop:\n    openapi: x\n    readonly: true\n    auth:\n      type: jwt\n      token: ${MCE_MY_T}\n      tokn: x\n",
        ),
        ("config/swaggers.yaml", swaggers),
        (".env", "MCE_LOG_LEVLE=debug\nMCE_TEST_X=1\nPATH=x\nMCE_MY_T=hunter2\n"),
    ];
    let variables = [
        ("MCE_CANARY_SECRET", "hunter2"),
        ("MCE_SHOB_AUTH", "hunter2"),
        ("MCE_OLD_COOKIE", "a"),
        ("T", "t"),
    ];
    let expected = [
        "mce.yaml:1: prot: there is no setting `prot`; did you mean `port`?",
        "config/swaggers.yaml:2: port: there is no setting `port`",
        "mce.yaml:5: servers.shop.readonly: a server has no key `readonly`",
        "mce.yaml:9: servers.shop.auth.tokn: `jwt` has no key `tokn`; did you mean `token`?",
        "config/swaggers.yaml:1: servers.old.base_ulr: a server has no key `base_ulr`; did you mean `base_url`?",
        "environment MCE_CANARY_SECRET: there is no such setting",
        "environment MCE_SHOB_AUTH: there is no such server; the name must be one of `shop`, `old`",
        ".env:MCE_LOG_LEVLE: there is no such setting; did you mean `MCE_LOG_LEVEL`?",
    ];
    assert_eq!(bench(&files, &variables).warnings(), expected);
}

#[test]
fn secrets_in_files_and_settings_without_effect_give_a_warning() {
    let yaml = server("    auth: {type: jwt, token: hunter2}\n    credentials: {k: hunter2}\n");
    let bench = bench(
        &[("mce.yaml", &yaml)],
        &[("MCE_COMPILED_OUTPUT_DIR", "./compiled"), ("MCE_LLM_API_KEY", "x")],
    );
    let hint = "write `${VAR}` instead and set `VAR` in the environment or in `.env`";
    let expected = [
        "environment MCE_COMPILED_OUTPUT_DIR: has no effect; compiled functions are kept in the data directory, see `data_dir`".to_owned(),
        "environment MCE_LLM_API_KEY: has no effect; texts come from the documents alone".to_owned(),
        format!("mce.yaml:4: servers.shop.auth.token: a secret stands in the file itself; {hint}"),
        format!("mce.yaml:5: servers.shop.credentials.k: a secret stands in the file itself; {hint}"),
    ];
    assert_eq!(bench.warnings(), expected);
}

#[test]
fn secrets_too_short_to_be_cut_out_give_a_warning() {
    let short = "a secret of fewer than 4 characters is not cut out of answers; use a longer one";
    for (line, key) in [
        ("auth_header: Bearer ${S}", "auth_header"),
        ("auth: {type: static, value: 'Token token=\"${S}\"'}", "auth.value"),
        ("auth: {type: basic, username: long-name, password: '${S}'}", "auth.password"),
        ("credentials: {k: '${S}'}", "credentials.k"),
    ] {
        let bench = |secret| bench(&[("mce.yaml", &server(&format!("    {line}")))], &[("S", secret)]);
        assert_eq!(bench("abc").warnings(), [format!("mce.yaml:4: servers.shop.{key}: {short}")]);
        assert!(bench("abcd").warnings().is_empty(), "{line}");
    }
}

#[test]
fn values_of_variables_are_secrets_by_themselves() {
    let yaml = server(
        "    auth: {type: static, value: 'Authorization: Token token=\"${T}\"'}\n    extra_headers: {X-Part: 'hdr-${H}', X-Version: v1}\n",
    );
    let bench = bench(&[("mce.yaml", &yaml)], &[("T", "t0ken"), ("H", "h3ader")]);
    let shop = bench.load().0.servers.remove(0);
    let Auth::Static { value } = shop.auth else { panic!("static") };
    assert!(value == Secret::new("Token token=\"t0ken\""));
    assert!(value.has_parts(&["t0ken"]) && shop.extra_headers[0].1.has_parts(&["h3ader"]));
    assert_eq!(
        bench.shown("servers.shop.extra_headers.X-Part"),
        "*** <- mce.yaml: servers.shop.extra_headers.X-Part"
    );
    assert_eq!(
        bench.shown("servers.shop.extra_headers.X-Version"),
        "v1 <- mce.yaml: servers.shop.extra_headers.X-Version"
    );
}

#[test]
fn auth_in_a_variable_may_be_an_object() {
    let basic = Auth::Basic {
        username: "ann".to_owned(),
        password: Secret::new("hunter22"),
    };
    let load = |value| bench(&[("mce.yaml", &server(""))], &[("MCE_SHOP_AUTH", value)]);
    let auth = r#"{"type": "basic", "username": "ann", "password": "hunter22"}"#;
    assert!(load(auth).load().0.servers[0].auth == basic);
    assert_eq!(
        load(r#"{"type": "basic"}"#).error(),
        "environment MCE_SHOP_AUTH: `username` is missing"
    );
    let expected = "expected the value of an `Authorization` header, or a JSON object with `type`, found a text";
    assert_eq!(load("{hunter22").error(), format!("environment MCE_SHOP_AUTH: {expected}"));
}

#[test]
fn all_ways_to_a_configuration_give_the_same_paths() {
    let yaml = "servers: {shop: {openapi: ./shop.yaml}, far: {openapi: ../docs/far.yaml}}";
    let files = [("c/mce.yaml", yaml), ("c/shop.yaml", ""), ("docs/far.yaml", ""), ("other/x", "")];
    let mut bench = bench(&files, &[]);
    let root = bench.directory.path().to_owned();
    std::os::unix::fs::symlink(root.join("c"), root.join("link")).unwrap();
    let expected = |name: &str| Origin::OpenApi(Location::File(root.join(name)));
    for (directory, config) in [
        ("c", None),
        ("other", Some("../c/mce.yaml")),
        ("c", Some("./../c//mce.yaml")),
        ("", Some("link/mce.yaml")),
    ] {
        bench.options.working_dir = root.join(directory);
        bench.options.config_file = config.map(Into::into);
        let (settings, _) = bench.load();
        assert_eq!(
            (settings.data_dir, settings.config_file),
            (root.join("c/data"), Some(root.join("c/mce.yaml")))
        );
        assert!(settings.servers[0].origin == expected("c/shop.yaml") && settings.servers[1].origin == expected("docs/far.yaml"));
    }
}

#[test]
fn advice_on_a_file_that_cannot_be_read_fits_its_fault() {
    for (file, text, expected) in [
        (".env", "hunter2", "each line is `NAME=value`, empty, or a comment after `#`"),
        ("mce.yaml", "port: 1\nport: 2", "remove one of them"),
        ("mce.yaml", "port: 1\n---\nport: 2", "keep one, without `---`"),
        (
            "mce.yaml",
            "host: @x",
            "put a value that holds one of `: # & * ! % @ { } [ ]` in quotes",
        ),
    ] {
        let error = load(&bench(&[(file, text)], &[]).options).unwrap_err();
        assert_eq!(error.hint().as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn a_server_has_a_name() {
    for yaml in ["servers: {\"\": {openapi: x}}", "servers: [{name: ' ', openapi: x}]"] {
        let error = bench(&[("mce.yaml", yaml)], &[]).error();
        assert!(error.ends_with("expected a server's name, found an empty text"), "{error}");
    }
}

#[test]
fn bad_values_name_place_value_and_what_is_allowed() {
    for (yaml, variable, expected) in [
        (
            "port: x",
            ("", ""),
            "mce.yaml:1: port: expected a whole number from 0 to 65535, found `x`",
        ),
        (
            "port: 1.5",
            ("", ""),
            "mce.yaml:1: port: expected a whole number from 0 to 65535, found `1.5`",
        ),
        (
            "port: ${P}",
            ("P", "x"),
            "mce.yaml:1: port: expected a whole number from 0 to 65535, found `***`",
        ),
        ("port: ${P}", ("", ""), "mce.yaml:1: port: variable `P` is not defined"),
        (
            "swagger_config_file: ${P}/x.yaml",
            ("", ""),
            "mce.yaml:1: swagger_config_file: variable `P` is not defined",
        ),
        (
            "port: [1]",
            ("", ""),
            "mce.yaml:1: port: expected a whole number from 0 to 65535, found a list",
        ),
        (
            "",
            ("MCE_EXECUTION_TIMEOUT_SECONDS", "601"),
            "environment MCE_EXECUTION_TIMEOUT_SECONDS: expected a whole number from 1 to 600, found `601`",
        ),
        (
            "",
            ("MCE_EXECUTION_TIMEOUT_SECONDS", "-1"),
            "environment MCE_EXECUTION_TIMEOUT_SECONDS: expected a whole number from 1 to 600, found `-1`",
        ),
        (
            "",
            ("MCE_SANDBOX_MODE", "hot"),
            "environment MCE_SANDBOX_MODE: expected one of `warm`, `cold`, found `hot`",
        ),
        (
            "",
            ("MCE_DEBUG", "maybe"),
            "environment MCE_DEBUG: expected `true` or `false`, found `maybe`",
        ),
        (
            "",
            ("MCE_JAIL_WITHOUT", "seccomp,walls"),
            "environment MCE_JAIL_WITHOUT: expected one of `namespaces`, `landlock`, `seccomp`, `rlimits`, found `walls`",
        ),
    ] {
        assert_eq!(bench(&[("mce.yaml", yaml)], &[variable]).error(), expected);
    }
}

#[test]
fn files_of_the_wrong_shape_are_refused_with_place_and_what_is_expected() {
    for (yaml, expected) in [
        ("- 1", "mce.yaml:1: expected a mapping such as `servers: …`, found a list"),
        ("a: 1\na: 2", "mce.yaml:2: key `a` is given twice"),
        (
            "servers: 1",
            "mce.yaml:1: servers: expected a mapping of server names, or a list of servers with `name`, found a text",
        ),
        (
            "servers:\n  shop:",
            "mce.yaml:2: servers.shop: expected a mapping with `openapi`, `command` or `url`, found nothing",
        ),
        ("servers: [{swagger_url: x}]", "mce.yaml:1: servers.0: `name` is missing"),
        (
            "servers: {shop: {base_url: 'http://h'}}",
            "mce.yaml:1: servers.shop: `openapi` is missing",
        ),
        (
            "servers: {shop: {openapi: x, url: y}}",
            "mce.yaml:1: servers.shop: `openapi` and `url` cannot both be given",
        ),
        (
            "servers: {a b: {openapi: x}, A-B: {openapi: x}}",
            "mce.yaml:1: servers.A-B: servers `a b` and `A-B` are both named `a_b` in code",
        ),
    ] {
        assert_eq!(bench(&[("mce.yaml", yaml)], &[]).error(), expected);
    }
}

/// `line` is the fourth of `mce.yaml`, in the server `shop`.
fn check_server_error(line: &str, expected: &str) {
    let bench = bench(&[("mce.yaml", &server(&format!("    {line}")))], &[]);
    assert_eq!(bench.error(), format!("mce.yaml:4: servers.shop.{expected}"));
    let error = format!("{:?}", load(&bench.options).unwrap_err());
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn bad_values_of_a_server_name_place_and_what_is_allowed_and_no_secret() {
    let url = "base_url: expected an absolute http(s) URL, found";
    for (line, expected) in [
        ("base_url: /v1", &format!("{url} `/v1`")),
        ("base_url: ftp://u:hunter2@h", &format!("{url} `ftp://***@h`")),
        ("base_url: u:hunter2@h", &format!("{url} a text")),
        ("base_url: {a: b}", &format!("{url} a mapping")),
    ] {
        check_server_error(line, expected);
    }
    for (line, expected) in [
        (
            "base_url: http://h/?a=b",
            "base_url: expected a URL without query and fragment, found one with",
        ),
        (
            "skills_url: ftp://h/x",
            "skills_url: expected a file or an http(s) URL, found `ftp://h/x`",
        ),
        ("is_read_only: maybe", "is_read_only: expected `true` or `false`, found `maybe`"),
        (
            "top_level_functions: a",
            "top_level_functions: expected a list of texts, found a text",
        ),
        (
            "credentials: hunter2",
            "credentials: expected a mapping of security schemes to secrets, found a text",
        ),
        ("credentials: {k: {password: hunter2}}", "credentials.k: `username` is missing"),
        (
            "extra_headers: {'a b': hunter2}",
            "extra_headers.a b: expected a header name, found `a b`",
        ),
        (
            "headers: hunter2",
            "headers: expected a mapping of header names to texts, or a text such as `[name: value, name: value]`, found a text",
        ),
    ] {
        check_server_error(line, expected);
    }
}

#[test]
fn bad_values_of_auth_name_place_and_what_is_allowed_and_no_secret() {
    for (line, expected) in [
        ("auth: Bearer hunter2", "auth: expected a mapping with `type`, found a text"),
        ("auth: {value: hunter2}", "auth: `type` is missing"),
        (
            "auth: {type: oauth, client_secret: hunter2}",
            "auth.type: expected one of `none`, `static`, `jwt`, `basic`, `oauth2`, `keycloak`, `session`, found `oauth`",
        ),
        ("auth: {type: basic, password: hunter2}", "auth: `username` is missing"),
        ("auth: {type: jwt, token: [hunter2]}", "auth.token: expected a text, found a list"),
        (
            "auth: {type: jwt, token: ''}",
            "auth.token: expected a text that is not empty, found an empty text",
        ),
        (
            "auth_header: \"hunter2\\nX: y\"",
            "auth_header: expected one line, as it is sent in a header, found a text with a line break or another control character",
        ),
    ] {
        check_server_error(line, expected);
    }
}

#[test]
fn bad_values_of_oauth_name_what_is_allowed_and_no_secret() {
    let check = |oauth: &str, expected: &str| {
        let text = format!("servers: {{s: {{url: 'https://h/mcp', oauth: {oauth}}}}}");
        let error = bench(&[("mce.yaml", &text)], &[]).error();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{oauth}: {error}");
    };
    check("[hunter2]", "`false`, or a mapping such as `client_id: …`");
    check("{client_secret: [hunter2]}", "oauth.client_secret: expected a text");
    check("{client_metadata_url: 'http://h/x'}", "an https URL with a path");
    check("{redirect_uri: 'https://h/callback'}", "a URL of this machine");
    check("{callback_port: 0}", "a whole number from 1 to 65535");
}

#[test]
fn bad_variables_of_a_server_name_the_variable_and_no_secret() {
    for (variable, value, expected) in [
        ("MCE_SHOP_BASE_URL", "h", "an absolute http(s) URL, found `h`"),
        (
            "MCE_SHOP_AUTH",
            "hunter2\nX: y",
            "one line, as it is sent in a header, found a text with a line break or another control character",
        ),
        (
            "MCE_SHOP_EXTRA_HEADERS",
            "hunter2",
            "a JSON object of header names and texts, found a text",
        ),
        (
            "MCE_SHOP_EXTRA_HEADERS",
            "{\"A\": [\"hunter2\"]}",
            "a JSON object of header names and texts, found a text",
        ),
    ] {
        let bench = bench(&[("mce.yaml", &server(""))], &[(variable, value)]);
        assert_eq!(bench.error(), format!("environment {variable}: expected {expected}"));
    }
}

#[test]
fn domains_are_a_list_a_text_with_commas_or_a_json_list() {
    for (yaml, variable) in [
        ("allowed_domains: [a.com, b.com]", ""),
        ("allowed_domains: a.com,b.com", ""),
        ("", "a.com, b.com,"),
        ("", "[\"a.com\", \"b.com\"]"),
    ] {
        let (settings, _) = bench(&[("mce.yaml", yaml)], &[("MCE_ALLOWED_DOMAINS", variable)]).load();
        assert_eq!(settings.allowed_domains, ["a.com", "b.com"]);
    }
}

#[test]
fn limits_of_calls_have_bounds() {
    let seconds = std::time::Duration::from_secs;
    let (settings, _) = bench(&[], &[]).load();
    assert_eq!((settings.calls.total, settings.calls.answer_bytes), (seconds(30), 16 << 20));
    let variables = [("MCE_CALL_TIMEOUT_SECONDS", "600"), ("MCE_MAX_ANSWER_SIZE_BYTES", "2048")];
    let (settings, _) = bench(&[], &variables).load();
    assert_eq!((settings.calls.total, settings.calls.answer_bytes), (seconds(600), 2048));
    for (variable, value) in [
        ("MCE_CALL_TIMEOUT_SECONDS", "601"),
        ("MCE_CALL_TIMEOUT_SECONDS", "0"),
        ("MCE_MAX_ANSWER_SIZE_BYTES", "1"),
    ] {
        assert!(
            bench(&[], &[(variable, value)])
                .error()
                .starts_with(&format!("environment {variable}: "))
        );
    }
}

#[test]
fn all_variables_of_existing_installations_are_read() {
    let variables = [
        ("MCE_LOG_LEVEL", "WARNING"),
        ("MCE_DEBUG", "true"),
        ("MCE_HOST", "0.0.0.0"),
        ("MCE_PORT", "9"),
        ("MCE_COMPILE_ON_STARTUP", "false"),
        ("MCE_LLM_ENHANCE", "1"),
        ("MCE_LLM_MODEL", "openai/x"),
        ("MCE_LLM_API_KEY", "k"),
        ("MCE_ENABLE_ADDITIONAL_TOOLS", "True"),
        ("MCE_LINT_ENABLED", "on"),
        ("MCE_DOCKER_IMAGE", "i"),
        ("MCE_DOCKER_HOST", "unix:///s"),
        ("MCE_EXECUTION_TIMEOUT_SECONDS", "5"),
        ("MCE_MAX_OUTPUT_SIZE_BYTES", "4096"),
        ("MCE_NETWORK_MODE", "n"),
        ("MCE_SANDBOX_MODE", "cold"),
        ("MCE_WARM_POOL_SIZE", "0"),
        ("MCE_CACHE_ENABLED", "no"),
        ("MCE_CACHE_TTL_SECONDS", "7"),
        ("MCE_CACHE_MAX_ENTRIES", "3"),
        ("MCE_MAX_CODE_SIZE_BYTES", "100"),
    ];
    let (settings, report) = bench(&[], &variables).load();
    let told: Vec<_> = report.warnings.iter().map(ToString::to_string).collect();
    let without_effect = [
        "DOCKER_HOST",
        "DOCKER_IMAGE",
        "LLM_API_KEY",
        "LLM_ENHANCE",
        "LLM_MODEL",
        "NETWORK_MODE",
    ];
    assert_eq!(told, without_effect.map(|name| format!("environment MCE_{name}: has no effect")));
    assert_eq!(settings.log_level, "warn");
    assert!(settings.is_debug && settings.is_lint_enabled && settings.serve.has_additional_tools && settings.enhance.is_enabled);
    assert!(!settings.serve.compiles_on_startup && !settings.sandbox.is_warm && !settings.recipes.is_enabled);
    assert_eq!((settings.serve.host.as_str(), settings.serve.port), ("0.0.0.0", 9));
    let limits = &settings.limits;
    assert_eq!((limits.wall.as_secs(), limits.output_bytes, limits.code_bytes), (5, 4096, 100));
    assert_eq!(
        (
            settings.recipes.ttl.as_secs(),
            settings.recipes.max_entries,
            settings.sandbox.pool_size
        ),
        (7, 3, 0)
    );
    let docker = &settings.docker;
    assert_eq!(
        (docker.image.as_str(), docker.host.as_deref(), docker.network.as_str()),
        ("i", Some("unix:///s"), "n")
    );
    assert!(settings.enhance.api_key == Some(Secret::new("k")) && settings.enhance.model == "openai/x");
}

#[test]
fn the_report_is_a_list_of_key_value_and_source_as_json() {
    let (_, report) = bench(&[], &[("MCE_PORT", "9")]).load();
    let json = serde_json::to_value(&report.shown).unwrap();
    let port = json.as_array().unwrap().iter().find(|shown| shown["key"] == "port").unwrap();
    assert_eq!(
        *port,
        serde_json::json!({"key": "port", "value": "9", "source": "environment MCE_PORT"})
    );
}

#[test]
fn a_file_that_is_too_large_or_not_text_is_refused() {
    let large = "#".repeat(usize::try_from(crate::MAX_FILE_BYTES).unwrap() + 1);
    assert_eq!(
        bench(&[("mce.yaml", &large)], &[]).error(),
        "`mce.yaml` has more than 4194304 bytes"
    );
    let bench = bench(&[], &[]);
    fs_err::write(Path::new(&bench.options.working_dir).join("mce.yaml"), b"a: \xff").unwrap();
    assert_eq!(bench.error(), "failed to read `mce.yaml`");
}

/// `SECRET` is one in the file, the variable `HIDDEN` holds one.
const WITH_SECRETS: [&str; 6] = [
    "llm_api_key: ${HIDDEN}\nservers: {s: {openapi: 'http://u:SECRET@h/x', base_url: 'http://SECRET:@h', auth: {type: basic, username: '${HIDDEN}', password: 'SECRET'}}}",
    "servers: {s: {openapi: '${HIDDEN}/x', auth_header: 'Bearer SECRET', extra_headers: {X: 'SECRET'}, credentials: {k: 'SECRET', l: {username: '${HIDDEN}', password: 'SECRET'}}}}",
    "servers: {s: {command: '${HIDDEN}', args: ['${HIDDEN}', 'postgres://u:SECRET@h/db'], env: {A: 'SECRET', B: '${HIDDEN}'}}}",
    "servers: {s: {url: 'https://${HIDDEN}@h/mcp', headers: '[A: SECRET]', auth: {type: oauth2, token_url: 'https://h/${HIDDEN}', client_id: '${HIDDEN}', client_secret: 'SECRET'}}}",
    "servers: {s: {openapi: x, base_url: '${HIDDEN}'}}",
    "servers: {s: {openapi: x, auth: {type: static, value: 'SECRET', vlaue: 'SECRET'}, top_level_functions: ['${HIDDEN}']}}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_loading_panic(yaml in "[a-z:{}\\[\\]\"'$ \n&*!|>#-]{0,60}", dotenv in "\\PC{0,40}", known in 0..4_usize) {
        let yaml = ["", "servers:\n  a: ", "servers:\n  a:\n    openapi: x\n    auth: ", "servers:\n  a:\n    headers: "][known].to_owned() + &yaml;
        let bench = bench(&[("mce.yaml", &yaml), (".env", &dotenv)], &[("MCE_A_AUTH", &dotenv), ("MCE_A_EXTRA_HEADERS", &yaml)]);
        let _ = load(&bench.options);
    }

    #[test]
    fn no_secret_is_in_anything_that_is_printed(
        template in prop::sample::select(&WITH_SECRETS[..]),
        secret in "zq[a-z0-9/+=_.~-]{6,20}",
        kind in 0..4_usize,
    ) {
        let yaml = template.replace("SECRET", &secret);
        let auth = ["Bearer ".to_owned() + &secret, format!("{secret}\n"), String::new(), String::new()];
        let headers = [format!("{{\"A\":\"{secret}\"}}"), secret.clone(), format!("{{\"A\":[\"{secret}\"]}}"), String::new()];
        let variables = [
            ("HIDDEN", secret.as_str()),
            ("MCE_S_AUTH", &auth[kind]),
            ("MCE_S_EXTRA_HEADERS", &headers[kind]),
            ("MCE_T_AUTH", &secret),
            ("MCE_UNKNOWN", &secret),
        ];
        let bench = bench(&[("mce.yaml", &yaml)], &variables);
        let printed = match load(&bench.options) {
            Ok((settings, report)) => format!("{settings:?}\n{report:?}\n{}", serde_json::to_string(&report.shown).unwrap()),
            Err(error) => format!("{error}\n{error:?}\n{:?}", error.hint()),
        };
        prop_assert!(!printed.contains(&secret), "{}\n{}", yaml, printed);
        let options = format!("{:?}", bench.options);
        prop_assert!(!options.contains(&secret));
    }

    #[test]
    fn the_winner_is_the_first_of_the_sources_that_have_a_value(present in prop::array::uniform4(any::<bool>())) {
        let [argument, environment, dotenv, yaml] = present;
        let pick = |is_there: bool, text: &'static str| if is_there { text } else { "" };
        let mut bench = bench(
            &[(".env", pick(dotenv, "MCE_PORT=3")), ("mce.yaml", pick(yaml, "port: 4"))],
            &[("MCE_PORT", pick(environment, "2"))],
        );
        bench.options.arguments = argument.then(|| ("port".to_owned(), "1".to_owned())).into_iter().collect();
        let first = present.iter().zip(1..).find(|(is_there, _)| **is_there).map_or(8000, |(_, port)| port);
        prop_assert_eq!(bench.load().0.serve.port, first);
    }
}

const RULES: &str = "    description: All that is for sale.
    include:
      - {tag: items, method: GET}
      - POST /items
    exclude: [{path: '/admin/**'}, {operation: deleteItem}]
    rename: {getItem: look_up}
    functions:
      GET /items:
        description: Prices are net.
        effect: destructive
        defaults:
          per_page: 100
          quoted: '100'
          deep: {on: true, list: [1.5, ~, '${WORD}']}
          tenant: {value: '${TENANT}', hidden: true}
    overlay: [./a.yaml, 'https://h/b.yaml']
";

#[test]
fn rules_of_a_server_are_read_and_shown() {
    let bench = bench(&[("mce.yaml", &server(RULES))], &[("WORD", "w"), ("TENANT", "acme")]);
    let (settings, report) = bench.load();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let shop = &settings.servers[0];
    let view = &shop.view;
    let selectors = |list: &[crate::FunctionSelector]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(selectors(&view.include), ["tag: items, method: GET", "operation: POST /items"]);
    assert_eq!(selectors(&view.exclude), ["path: /admin/**", "operation: deleteItem"]);
    assert_eq!(view.rename["getItem"], "look_up");
    let function = &view.functions["GET /items"];
    assert_eq!(function.effect, Some(crate::EffectSetting::Destructive));
    let value = |name: &str| function.defaults[name].value.to_string();
    assert_eq!((value("per_page"), value("quoted")), ("100".to_owned(), "\"100\"".to_owned()));
    assert_eq!(value("deep"), r#"{"on":true,"list":[1.5,null,"w"]}"#);
    assert!(function.defaults["tenant"].is_hidden && !function.defaults["deep"].is_hidden);
    assert!(!format!("{view:?}").contains("acme"));
    let directory = bench.directory.path();
    assert_eq!(
        shop.overlays,
        [
            Location::File(directory.join("a.yaml")),
            Location::Url("https://h/b.yaml".to_owned())
        ]
    );
    for (key, expected) in [
        ("description", "All that is for sale."),
        ("include.0.tag", "items"),
        ("include.1", "POST /items"),
        ("exclude.0.path", "/admin/**"),
        ("rename.getItem", "look_up"),
        ("functions.GET /items.effect", "destructive"),
        ("functions.GET /items.defaults.per_page", "100"),
        ("functions.GET /items.defaults.tenant", "\"***\""),
        ("functions.GET /items.defaults.tenant.hidden", "true"),
        ("overlay.1", "https://h/b.yaml"),
    ] {
        let shown = bench.shown(&format!("servers.shop.{key}"));
        assert_eq!(shown.split(" <- ").next(), Some(expected), "{key}");
    }
}

#[test]
fn pagination_is_read_for_a_server_and_for_a_function() {
    let text = "    pagination: {by: cursor, parameter: body.cursor, next: meta.next, items: ''}\n    functions: {a: {pagination: {by: page, parameter: \
                pageNo, first: 0, items: [data.of, list]}}}\n";
    let bench = bench(&[("mce.yaml", &server(text))], &[]);
    let (settings, report) = bench.load();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let view = &settings.servers[0].view;
    let way = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let of_server = view.pagination.as_ref().unwrap();
    let next = way(&["meta", "next"]).unwrap();
    assert_eq!(of_server.by, crate::PaginationWay::Cursor { next });
    assert_eq!((&of_server.parameter, &of_server.items), (&way(&["body", "cursor"]), &way(&[])));
    let of_function = view.functions["a"].pagination.as_ref().unwrap();
    assert_eq!(of_function.by, crate::PaginationWay::Page { first: 0 });
    assert_eq!(
        (&of_function.parameter, &of_function.items),
        (&way(&["pageNo"]), &way(&["data.of", "list"]))
    );
    assert!(bench.shown("servers.shop.pagination.next").starts_with("meta.next"));
}

#[test]
fn rules_that_mean_nothing_are_refused_or_warned_of() {
    let long = format!("description: {}", "x".repeat(301));
    for (text, expected) in [
        (
            "include: []",
            "include: expected a list with at least one entry, found an empty list",
        ),
        (
            "include: x",
            "include: expected a list of operations or of mappings with `tag`, `path`, `method`, `operation`, found a text",
        ),
        (
            "exclude: [{}]",
            "exclude.0: expected one of `tag`, `path`, `method`, `operation`, found an empty mapping",
        ),
        (
            "exclude: [{pth: /x}]",
            "exclude.0.pth: expected one of `tag`, `path`, `method`, `operation`, found the key `pth`",
        ),
        (
            "exclude: [{path: ''}]",
            "exclude.0.path: expected a text that is not empty, found an empty text",
        ),
        (
            "rename: {a: 'b c'}",
            "rename.a: expected a name of letters, digits and `_`, at most 64, a letter first, found `b c`",
        ),
        (
            "functions: {a: {effect: wirte}}",
            "functions.a.effect: expected one of `read`, `write`, `destructive`, found `wirte`",
        ),
        (
            "functions: {a: {defaults: 1}}",
            "functions.a.defaults: expected a mapping of arguments to values, found a text",
        ),
        (
            "functions: {a: {defaults: {b: {value: 1, hidden: maybe}}}}",
            "expected `true` or `false`, found `maybe`",
        ),
        (
            "pagination: {by: magic}",
            "pagination.by: expected one of `links`, `cursor`, `last_item`, `page`, `offset`, found `magic`",
        ),
        ("pagination: {parameter: page}", "pagination: expected `by`, found no such key"),
        (
            "pagination: {by: cursor, parameter: c}",
            "pagination: expected `next` beside `by: cursor`, found no such key",
        ),
        (
            "functions: {a: {pagination: {by: page, paramter: c}}}",
            "functions.a.pagination.paramter: expected one of `by`, `parameter`, `next`, `first`, `items`, found the key `paramter`",
        ),
        (
            "pagination: {by: page}",
            "pagination: expected `parameter`, the argument that leads to the next page, found no such key",
        ),
        (
            "pagination: {by: page, parameter: a.b}",
            "pagination: expected an argument, or a property of the body such as `body.cursor`, found a longer way in `parameter`",
        ),
        (
            long.as_str(),
            "description: expected a text of at most 300 characters, found one of 301",
        ),
    ] {
        let error = bench(&[("mce.yaml", &server(&format!("    {text}\n")))], &[]).error();
        assert!(error.ends_with(expected), "{error}");
    }
    for (text, expected) in [
        (
            "functions: {a: {efect: read}}",
            "a function has no key `efect`; did you mean `effect`?",
        ),
        ("exlude: [a]", "a server has no key `exlude`; did you mean `exclude`?"),
    ] {
        let warnings = bench(&[("mce.yaml", &server(&format!("    {text}\n")))], &[]).warnings();
        assert!(matches!(warnings.as_slice(), [one] if one.ends_with(expected)), "{warnings:?}");
    }
}
