//! What was called, as a table for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::calls::Outcome;
use crate::known;

/// Families of documents by the start of their file names.
const FAMILIES: &[(&str, &str)] = &[
    ("apisguru-", "apis.guru: Microsoft Graph, EC2, Stripe, Jira, Kubernetes, …"),
    ("autorest-", "AutoRest test server"),
    ("heyapi-", "hey-api tests"),
    ("oai-", "OpenAPI Initiative examples"),
    ("pb33f-", "pb33f (libopenapi) tests"),
    ("readme-", "readme.com examples"),
    ("synth/", "made to be difficult"),
    ("tsp/", "TypeSpec scenarios, each in 3.0, 3.1 and 3.2"),
    ("twilio-", "Twilio"),
    ("xero-", "Xero"),
    ("", "vendors' own: GitHub, OpenAI, DigitalOcean, Box, Discord, Adyen, …"),
];

#[derive(Default)]
struct Sum {
    documents: usize,
    refused: usize,
    operations: usize,
    called: usize,
    calls: usize,
    skipped: usize,
}

impl Sum {
    fn add(&mut self, outcome: &Outcome) {
        self.documents += 1;
        self.refused += usize::from(outcome.refusal.is_some());
        self.operations += outcome.operations;
        self.called += outcome.called;
        self.calls += outcome.calls;
        self.skipped += outcome.operations - outcome.called;
    }

    fn row(&self, name: &str) -> String {
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} |\n",
            self.documents, self.refused, self.operations, self.called, self.skipped, self.calls
        )
    }
}

/// The whole page.
pub(crate) fn page(outcomes: &[Outcome]) -> String {
    let mut page = "# What was called\n\n\
        Written by `MCE_WRITE_COVERAGE=1 cargo test -p mce-broker --test corpus`. Each function was\n\
        called over HTTP with its required arguments and with all of them, once for each kind of body; each request was held\n\
        against the document, and each answer against what was sent.\n\n"
        .to_owned();
    page.push_str(&families(outcomes));
    page.push_str("\n## Not callable\n\n| document | operation | why |\n| --- | --- | --- |\n");
    for outcome in outcomes {
        if let Some(refusal) = &outcome.refusal {
            let _ = writeln!(page, "| {} | the whole document | {} |", outcome.file, cell(refusal));
        }
        for (operation, reason) in &outcome.skipped {
            let _ = writeln!(page, "| {} | `{operation}` | {} |", outcome.file, cell(reason));
        }
        for (file, operation, reason) in known::FAULTS.iter().filter(|fault| fault.0 == outcome.file) {
            let _ = writeln!(page, "| {file} | `{operation}` | {} |", cell(reason));
        }
    }
    page.push_str("\n## By document\n\n| document | version | operations | callable | calls |\n| --- | --- | ---: | ---: | ---: |\n");
    for outcome in outcomes.iter().filter(|outcome| outcome.refusal.is_none()) {
        let Outcome {
            file,
            version,
            operations,
            called,
            calls,
            ..
        } = outcome;
        let _ = writeln!(page, "| {file} | {version} | {operations} | {called} | {calls} |");
    }
    page
}

fn families(outcomes: &[Outcome]) -> String {
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    let mut total = Sum::default();
    for outcome in outcomes {
        let family = FAMILIES
            .iter()
            .position(|(start, _)| outcome.file.starts_with(start))
            .unwrap_or_default();
        sums.entry(family).or_default().add(outcome);
        total.add(outcome);
    }
    let mut table = "| documents of | documents | refused | operations | callable | not | calls |\n\
        | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (family, sum) in &sums {
        table.push_str(&sum.row(FAMILIES[*family].1));
    }
    table.push_str(&total.row("all"));
    table
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
