//! TypeScript becomes JavaScript: read, checked, rewritten for the program contract, stripped of types, written. Pure.
//!
//! All rewriting happens on the syntax tree, whose nodes keep the places of the program's own text; inputs are looked up as
//! objects, never written as text.

mod contract;
mod facts;
mod inputs;
mod nesting;
mod noted;
mod outline;
mod positions;
mod uses;
mod written;

use std::path::Path;

use oxc::allocator::Allocator;
use oxc::ast::ast::Program;
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::diagnostics::{Diagnostics, OxcDiagnostic};
use oxc::parser::{ParseOptions, Parser};
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{DecoratorOptions, HelperLoaderMode, TransformOptions, Transformer};
use serde_json::{Map, Value};

pub(super) use self::facts::{Argument, Arguments, Call, Facts, Import, Receiver};
pub(super) use self::inputs::faults as faults_of_inputs;
pub(super) use self::outline::outline;
pub(super) use self::positions::Positions;
pub(super) use self::uses::Used;
pub(super) use self::written::pointer;
use crate::ErrorKind;

/// The name of the program's module, as it stands in stack traces.
pub(super) const FILE: &str = "program.ts";

/// Names under which the compiled program exports what it calls `main` and `result`.
const EXPORTS: [(&str, &str); 2] = [("main", "__mce_main__"), ("result", "__mce_result__")];

/// A program as JavaScript.
#[derive(Debug)]
pub(super) struct Compiled {
    /// The text of a module.
    pub(super) javascript: String,
    /// Where its places come from.
    pub(super) positions: Positions,
    /// What the text uses and defines.
    pub(super) facts: Facts,
}

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    /// From 1.
    pub(super) line: Option<u32>,
    pub(super) hint: Option<String>,
    /// The function that is meant, if one is.
    pub(super) function: Option<String>,
}

impl Refusal {
    pub(super) const fn new(kind: ErrorKind, message: String, line: Option<u32>, hint: Option<String>) -> Self {
        let function = None;
        Self {
            kind,
            message,
            line,
            hint,
            function,
        }
    }
}

/// The tree of a program.
///
/// # Errors
///
/// [`ErrorKind::Syntax`].
fn parse<'a>(allocator: &'a Allocator, source: &'a str) -> Result<Program<'a>, Refusal> {
    if let Some(offset) = nesting::too_deep(source) {
        return Err(syntax("the text is nested too deep", source, Some(offset), None));
    }
    let options = ParseOptions {
        preserve_parens: false,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(allocator, source, SourceType::ts().with_module(true))
        .with_options(options)
        .parse();
    refuse_errors(&parsed.diagnostics, source)?;
    Ok(parsed.program)
}

/// Compiles a program. `params` replace the initial values of top-level variables.
///
/// # Errors
///
/// [`ErrorKind::Syntax`].
pub(super) fn compile(source: &str, params: &Map<String, Value>) -> Result<Compiled, Refusal> {
    let allocator = Allocator::default();
    let mut program = parse(&allocator, source)?;
    let has_own_default = contract::apply(&mut program, params, &allocator);
    noted::apply(&mut program, &allocator);
    let analysed = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_excess_capacity(2.0)
        .with_enum_eval(true)
        .build(&program);
    refuse_errors(&analysed.diagnostics, source)?;
    let scoping = analysed.semantic.into_scoping();
    let facts = facts::collect(&program, &scoping, source, has_own_default);
    let options = TransformOptions {
        decorator: DecoratorOptions {
            legacy: true,
            ..DecoratorOptions::default()
        },
        ..transform_options()
    };
    let transformed = Transformer::new(&allocator, Path::new(FILE), &options).build_with_scoping(scoping, &mut program);
    refuse_errors(&transformed.diagnostics, source)?;
    let written = Codegen::new()
        .with_options(CodegenOptions {
            source_map_path: Some(FILE.into()),
            ..CodegenOptions::default()
        })
        .with_source_text(source)
        .build(&program);
    let places = written.map.map(|map| {
        let tokens = map.get_tokens();
        tokens
            .map(|token| positions::Place {
                compiled: (token.get_dst_line(), token.get_dst_col()),
                own: (token.get_src_line(), token.get_src_col()),
            })
            .collect()
    });
    let positions = Positions(places.unwrap_or_default());
    Ok(Compiled {
        javascript: with_exports(written.code, &facts),
        positions,
        facts,
    })
}

fn transform_options() -> TransformOptions {
    let mut options = TransformOptions::default();
    options.helper_loader.mode = HelperLoaderMode::External;
    options
}

/// Adds exports by which the worker finds `main` and `result`. These are fixed texts, and both names are bound.
fn with_exports(mut code: String, facts: &Facts) -> String {
    for ((name, exported), is_bound) in EXPORTS.into_iter().zip([facts.has_main, facts.has_result]) {
        if is_bound {
            code.extend(["\nexport { ", name, " as ", exported, " };"]);
        }
    }
    code
}

fn refuse_errors(diagnostics: &Diagnostics, source: &str) -> Result<(), Refusal> {
    let first = diagnostics
        .iter()
        .find(|diagnostic| diagnostic.severity == oxc::diagnostics::Severity::Error);
    first.map_or(Ok(()), |diagnostic| Err(refusal(diagnostic, source)))
}

fn refusal(diagnostic: &OxcDiagnostic, source: &str) -> Refusal {
    let message = diagnostic.message.as_ref().trim_end_matches('.').to_owned();
    // Of two declarations of a name the second one is the wrong one.
    let is_second = message.contains("already been declared");
    let label = if is_second {
        diagnostic.labels.last()
    } else {
        diagnostic.labels.first()
    };
    let offset = label.map(oxc::diagnostics::LabeledSpan::offset);
    let hint = if message.contains("'return'") || message.contains("`return`") {
        Some("assign to `result`, or put the code into `function main() {}`".to_owned())
    } else {
        diagnostic.help.as_ref().map(|help| help.trim_end_matches('.').to_owned())
    };
    syntax(&message, source, offset.and_then(|offset| usize::try_from(offset).ok()), hint)
}

fn syntax(message: &str, source: &str, offset: Option<usize>, hint: Option<String>) -> Refusal {
    let line = offset.map(|offset| line_of(source, offset));
    Refusal::new(ErrorKind::Syntax, format!("SyntaxError: {message}"), line, hint)
}

/// The line of a byte, from 1.
fn line_of(source: &str, offset: usize) -> u32 {
    let before = source.get(..source.floor_char_boundary(offset)).unwrap_or_default();
    let lines = before.matches('\n').count();
    u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1)
}
