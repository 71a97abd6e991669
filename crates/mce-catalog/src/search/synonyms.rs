//! Words that mean the same in any API, short forms, and phrases. Nothing here is about one product's names, except for
//! the short names that people type for it.

use super::words::stem;

/// Groups of words with much the same meaning. Each word of a group finds the others, weaker than itself.
const GROUPS: &[&[&str]] = &[
    // Deeds.
    &["get", "fetch", "read", "retrieve", "show", "view", "list", "see", "display"],
    &["find", "search", "lookup", "query", "grep", "filter"],
    &["create", "add", "new", "make", "insert", "register", "provision"],
    &[
        "delete", "remove", "destroy", "erase", "drop", "purge", "clear", "flush", "unset", "detach",
    ],
    &[
        "update",
        "edit",
        "change",
        "modify",
        "patch",
        "alter",
        "set",
        "rename",
        "adjust",
        "configure",
        "mark",
    ],
    &["replace", "put", "overwrite", "set"],
    &["send", "post", "submit", "dispatch", "deliver", "publish"],
    &["start", "run", "launch", "begin", "trigger", "execute", "dispatch", "invoke"],
    &["stop", "end", "terminate", "kill", "halt", "cancel", "abort"],
    &["pause", "suspend", "hold", "snooze", "disable"],
    &["mute", "silence", "snooze", "restrict"],
    &["copy", "clone", "duplicate", "fork"],
    &["move", "transfer", "relocate", "migrate", "transition", "reassign"],
    &["upload", "attach", "attachment", "import"],
    &["push", "upload", "create", "put"],
    &["download", "export", "content"],
    &["schedule", "plan", "book"],
    &["reschedule", "update", "move"],
    &["undo", "revert", "rollback", "restore"],
    &["undelete", "restore", "recover", "untrash"],
    &["approve", "accept", "confirm"],
    &["approve", "review"],
    &["review", "reviewer"],
    &["accept", "merge", "approve"],
    &["reject", "decline", "deny", "dismiss"],
    &["invite", "guest", "attendee", "participant"],
    &["join", "attend", "participant", "attendee"],
    &["restart", "reboot", "reset", "redeploy"],
    &["preview", "upcoming", "draft"],
    &["ask", "chat", "prompt", "question", "completion", "response"],
    &["share", "permission", "collaboration", "shared"],
    &["buy", "purchase", "order", "acquire", "provision"],
    &["withdraw", "payout", "pay"],
    &["check", "validate", "verify", "lint", "test"],
    &["calculate", "compute", "calculation"],
    &["restrict", "limit", "policy"],
    &["extract", "parse", "structured"],
    &["unsend", "cancel", "delete", "recall"],
    &["react", "reaction", "emoji", "like"],
    &["forward", "redirect", "transfer"],
    &["assign", "assignee", "assignment"],
    &["whitelist", "allowlist", "allow"],
    &["blacklist", "blocklist", "block", "ban"],
    &["remind", "reminder"],
    // Things.
    &["user", "member", "person", "people", "account", "employee", "teammate", "colleague"],
    &["organization", "org", "company", "enterprise", "workspace"],
    &["collaborator", "collaboration", "member", "permission"],
    &["team", "group", "channel"],
    &["permission", "access", "role", "grant", "privilege"],
    &["delegate", "assistant", "access"],
    &["key", "token", "secret", "credential"],
    &["leak", "expose", "scan", "alert"],
    &["vulnerable", "vulnerability", "advisory", "security"],
    &["env", "environment", "variable"],
    &["config", "configuration", "settings", "preferences", "profile"],
    &["folder", "directory"],
    &["file", "document", "doc", "content"],
    &["trash", "bin", "recycle", "deleted"],
    &["version", "revision", "release"],
    &["history", "recent", "recently", "past", "log"],
    &["song", "track", "music"],
    &["listen", "play", "played", "player"],
    &["picture", "image", "photo", "screenshot"],
    &["draw", "generate", "generation"],
    &["speech", "audio", "voice"],
    &["email", "mail", "message"],
    &["mailbox", "inbox", "email"],
    &["sms", "text", "message"],
    &["call", "phone", "dial", "meeting"],
    &["ticket", "issue", "bug", "task"],
    &["comment", "note", "reply"],
    &["column", "field", "property"],
    &["row", "record", "entry", "item"],
    &["choice", "option", "value", "select"],
    &["dropdown", "select", "option"],
    &["site", "website", "url", "domain", "page"],
    &["url", "link", "permalink"],
    &["notification", "alert", "reminder"],
    &["log", "trace", "output", "worklog"],
    &["work", "time", "spent", "worklog"],
    &["job", "build", "run", "pipeline"],
    &["monitor", "check", "uptime", "alert"],
    &["shell", "exec", "console", "terminal", "attach"],
    &["appointment", "event", "meeting"],
    &["storage", "quota", "usage", "space"],
    &["bill", "cost", "billing", "invoice", "usage"],
    &["spend", "spending", "cost", "usage", "billing"],
    &["cap", "limit", "quota", "maximum", "threshold"],
    &["vector", "vectorize", "embedding"],
    &["train", "tuning", "tune", "training"],
    &["session", "device", "login"],
    &["contract", "agreement", "document"],
    &["banner", "announcement"],
    &["quiz", "poll", "survey"],
    &["private", "visibility", "visible", "public"],
    &["visible", "ephemeral", "visibility"],
    &["static", "reserved", "fixed", "floating"],
    &["picture", "avatar", "photo"],
    &["coupon", "discount", "promotion"],
    &["chargeback", "dispute"],
    &["tempo", "bpm", "beats"],
    &["change", "diff", "changes"],
    &["branch", "ref", "reference"],
    &["expiration", "expire", "expiry", "expires"],
    &["complete", "completed", "done", "finish", "close", "closed", "state", "status"],
    &["available", "availability", "free"],
];

/// Short forms and the words that they stand for; all of these words together are one thing.
const SHORT_FORMS: &[(&str, &[&str])] = &[
    ("2fa", &["two", "factor", "authentication", "mfa"]),
    ("addr", &["address"]),
    ("admin", &["administrator"]),
    ("api", &["endpoint"]),
    ("app", &["application"]),
    ("attr", &["attribute"]),
    ("auth", &["authentication", "authorization"]),
    ("bpm", &["tempo"]),
    ("cal", &["calendar"]),
    ("ci", &["pipeline", "build", "continuous"]),
    ("cm", &["configmap"]),
    ("cms", &["content"]),
    ("crd", &["custom", "resource", "definition"]),
    ("db", &["database", "data"]),
    ("desc", &["description"]),
    ("dir", &["directory"]),
    ("dm", &["direct", "message"]),
    ("doc", &["document"]),
    ("env", &["environment", "variable"]),
    ("gdpr", &["personal", "data", "privacy"]),
    ("gha", &["github", "actions"]),
    ("gpt", &["chat", "completion", "model"]),
    ("hpa", &["horizontal", "pod", "autoscaler"]),
    ("img", &["image"]),
    ("info", &["information", "details"]),
    ("k8s", &["kubernetes"]),
    ("kubectl", &["kubernetes"]),
    ("lb", &["load", "balancer"]),
    ("loc", &["location"]),
    ("md", &["markdown"]),
    ("mfa", &["factor", "authentication"]),
    ("mr", &["merge", "request"]),
    ("msg", &["message"]),
    ("ns", &["namespace"]),
    ("num", &["number"]),
    ("org", &["organization"]),
    ("param", &["parameter"]),
    ("pic", &["picture", "image"]),
    ("pr", &["pull", "request"]),
    ("pvc", &["persistent", "volume", "claim"]),
    ("pw", &["password"]),
    ("qos", &["quality", "service"]),
    ("repo", &["repository"]),
    ("sa", &["service", "account"]),
    ("stt", &["transcription", "audio"]),
    ("svc", &["service"]),
    ("tag", &["label"]),
    ("tts", &["speech", "audio"]),
    ("txn", &["transaction"]),
    ("var", &["variable"]),
    ("vat", &["tax"]),
    ("vm", &["virtual", "machine", "instance"]),
    ("whoami", &["myself", "current", "me", "user"]),
];

/// Phrases and the words that they stand for; the phrase's own words are not looked for, unless they are listed.
const PHRASES: &[(&[&str], &[&str])] = &[
    (&["clean", "up"], &["delete", "garbage", "collection", "prune"]),
    (&["credit", "card"], &["card", "payment"]),
    (&["end", "date"], &["expiration", "end"]),
    (&["how", "many"], &["count"]),
    (&["how", "much"], &["usage", "quota", "about"]),
    (&["log", "in"], &["login", "session"]),
    (&["log", "out"], &["logout", "session", "revoke"]),
    (&["pull", "request"], &["pull"]),
    (&["recycle", "bin"], &["trash"]),
    (&["set", "up"], &["create"]),
    (&["sign", "out"], &["logout", "session", "terminate", "reset"]),
    (&["speech", "to", "text"], &["transcription"]),
    (&["spin", "up"], &["create"]),
    (&["stop", "sharing"], &["delete", "unshare", "revoke"]),
    (&["take", "away"], &["remove"]),
    (&["take", "out"], &["remove"]),
    (&["text", "to", "speech"], &["speech"]),
    (&["to", "do"], &["todo"]),
    (&["turn", "off"], &["disable"]),
    (&["turn", "on"], &["enable"]),
    (&["work", "out"], &["calculate"]),
];

/// How well a word of the same group stands for another.
const GROUP_WEIGHT: f32 = 0.55;
/// How well the words of a short form stand for it.
const SHORT_FORM_WEIGHT: f32 = 0.9;

/// Stems that mean much the same as `word`, with how well they stand for it (0 to 1).
pub(super) fn synonyms(word: &str) -> Vec<(String, f32)> {
    let own = stem(word);
    let mut found: Vec<(String, f32)> = Vec::new();
    let mut add = |other: &str, weight| {
        let other = stem(other);
        if other != own && found.iter().all(|(known, _)| *known != other) {
            found.push((other, weight));
        }
    };
    for (short, words) in SHORT_FORMS {
        if stem(short) == own {
            words.iter().for_each(|other| add(other, SHORT_FORM_WEIGHT));
        } else if let [long] = words
            && stem(long) == own
        {
            add(short, SHORT_FORM_WEIGHT);
        }
    }
    for group in GROUPS {
        if group.iter().any(|other| stem(other) == own) {
            group.iter().for_each(|other| add(other, GROUP_WEIGHT));
        }
    }
    found
}

/// The phrase that `words` begin with: how many words it has, and what it stands for.
pub(super) fn phrase(words: &[String]) -> Option<(usize, &'static [&'static str])> {
    let fits = |phrase: &&[&str]| words.len() >= phrase.len() && phrase.iter().zip(words).all(|(a, b)| a == b);
    PHRASES
        .iter()
        .find(|(phrase, _)| fits(phrase))
        .map(|(phrase, words)| (phrase.len(), *words))
}
