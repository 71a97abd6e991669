//! The runtime that all workers share until they are forked: QuickJS with the guest's own scripts, and its modules.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::object::Filter;
use rquickjs::{CatchResultExt as _, Context, Ctx, Exception, Function, Module, Object, Persistent, Runtime};

use super::channel::Channel;
use super::check::MODULES;
use super::natives::{self, Link};
use super::run;

/// The name of the guest's scripts, as it stands in stack traces.
const GUEST_FILE: &str = "mce:guest";

/// Of the 64 MiB of a worker's stack, so much is for the program's own recursion. It also fits where stacks have 8 MiB.
const STACK_BYTES: usize = 4 << 20;

/// Scripts in the order in which they build on each other.
const SCRIPTS: [(&str, &str); 17] = [
    ("inspect", include_str!("../../guest/typescript/inspect.js")),
    ("errors", include_str!("../../guest/typescript/errors.js")),
    ("text", include_str!("../../guest/typescript/text.js")),
    ("values", include_str!("../../guest/typescript/values.js")),
    ("host", include_str!("../../guest/typescript/host.js")),
    ("servers", include_str!("../../guest/typescript/servers.js")),
    ("console", include_str!("../../guest/typescript/console.js")),
    ("timers", include_str!("../../guest/typescript/timers.js")),
    ("events", include_str!("../../guest/typescript/events.js")),
    ("url", include_str!("../../guest/typescript/url.js")),
    ("crypto", include_str!("../../guest/typescript/crypto.js")),
    ("fetch", include_str!("../../guest/typescript/fetch.js")),
    ("paging", include_str!("../../guest/typescript/paging.js")),
    ("models", include_str!("../../guest/typescript/models.js")),
    ("intl", include_str!("../../guest/typescript/intl.js")),
    ("decorators", include_str!("../../guest/typescript/decorators.js")),
    ("program", include_str!("../../guest/typescript/program.js")),
];

/// All that a worker needs, made in the fork server so that each worker finds it ready.
pub(super) struct Guest {
    context: Context,
    link: Rc<Link>,
    shared: Persistent<Object<'static>>,
    /// Names that every program finds defined.
    globals: BTreeSet<String>,
    /// Names that the module `mce` exports.
    exports: Vec<String>,
    // Last, because the others hold objects of it.
    _runtime: Runtime,
}

/// Why a guest cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("the script `{script}` of the guest failed: {reason}")]
pub(super) struct GuestError {
    script: &'static str,
    reason: String,
}

impl Guest {
    /// Makes a runtime whose objects may take `memory_bytes` and runs the guest's scripts in it. It is never taken apart:
    /// its process ends instead.
    ///
    /// # Errors
    ///
    /// [`GuestError`] for a fault of ours.
    pub(super) fn new(memory_bytes: usize) -> Result<&'static Self, GuestError> {
        let fault = |script, error: rquickjs::Error| GuestError {
            script,
            reason: error.to_string(),
        };
        let runtime = Runtime::new().map_err(|error| fault("runtime", error))?;
        runtime.set_memory_limit(memory_bytes);
        runtime.set_max_stack_size(STACK_BYTES);
        let context = Context::full(&runtime).map_err(|error| fault("context", error))?;
        let link = Rc::new(Link::new());
        let (shared, globals, exports) = context.with(|ctx| prepare(&ctx, &link))?;
        set_hooks(&runtime, &shared);
        let guest = Self {
            context,
            link,
            shared,
            globals,
            exports,
            _runtime: runtime,
        };
        Ok(Box::leak(Box::new(guest)))
    }

    /// One run on a frame socket. The result is the worker's exit code.
    pub(super) fn serve(&self, socket: OwnedFd) -> i32 {
        let opened = Channel::open(socket).and_then(|channel| self.link.open(channel));
        let ready = opened.and_then(|()| self.link.with_channel(|channel| channel.send(br#"{"op":"ready"}"#)));
        let request = ready.and_then(|()| self.link.with_channel(Channel::receive));
        let Ok(request) = request else {
            return 0;
        };
        let frame = self.context.with(|ctx| {
            let shared = self.shared.clone().restore(&ctx).ok()?;
            let stage = run::Stage {
                ctx: ctx.clone(),
                link: &self.link,
                shared,
                globals: &self.globals,
                exports: &self.exports,
            };
            Some(run::run(&stage, &request))
        });
        let Some(frame) = frame else {
            return super::role::GUEST_FAILED;
        };
        // A host that has closed the run learns nothing more.
        let _ = self.link.with_channel(|channel| channel.send(&frame));
        0
    }
}

type Prepared = (Persistent<Object<'static>>, BTreeSet<String>, Vec<String>);

fn prepare(ctx: &Ctx<'_>, link: &Rc<Link>) -> Result<Prepared, GuestError> {
    let internal = |error: rquickjs::Error| GuestError {
        script: "natives",
        reason: error.to_string(),
    };
    let shared = Object::new(ctx.clone()).map_err(internal)?;
    let native = natives::object(ctx, link, &shared).map_err(internal)?;
    for (script, text) in SCRIPTS {
        let mut options = EvalOptions::default();
        options.filename = Some(GUEST_FILE.to_owned());
        let run = || -> rquickjs::Result<()> {
            let function: Function<'_> = ctx.eval_with_options(text, options)?;
            function.call((native.clone(), shared.clone()))
        };
        run().catch(ctx).map_err(|error| GuestError {
            script,
            reason: error.to_string(),
        })?;
    }
    let names = |object: &Object<'_>| -> rquickjs::Result<Vec<String>> { object.own_keys::<String>(Filter::new().string()).collect() };
    let globals = names(&ctx.globals()).map_err(internal)?;
    let exports = shared
        .get::<_, Object<'_>>("moduleExports")
        .and_then(|exports| names(&exports))
        .map_err(internal)?;
    Ok((Persistent::save(ctx, shared), globals.into_iter().collect(), exports))
}

fn set_hooks(runtime: &Runtime, shared: &Persistent<Object<'static>>) {
    runtime.set_loader(Modules, ModuleTexts { shared: shared.clone() });
    let shared = shared.clone();
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, is_handled| {
        let track = shared
            .clone()
            .restore(&ctx)
            .and_then(|shared| shared.get::<_, Function<'_>>("trackRejection"));
        // What cannot be tracked, because memory is gone, ends the program in another way.
        let _ = track.and_then(|track| track.call::<_, ()>((promise, reason, is_handled)));
    })));
}

/// Finds the two modules that there are.
struct Modules;

impl Resolver for Modules {
    fn resolve<'js>(&mut self, ctx: &Ctx<'js>, _: &str, name: &str, _: Option<ImportAttributes<'js>>) -> rquickjs::Result<String> {
        if MODULES.contains(&name) {
            return Ok(name.to_owned());
        }
        let shown: String = name.chars().take(100).collect();
        Err(Exception::throw_type(
            ctx,
            &format!("there is no module `{shown}`: import servers from \"mce:servers\" and helpers from \"mce\""),
        ))
    }
}

/// Makes the modules when they are first imported.
struct ModuleTexts {
    shared: Persistent<Object<'static>>,
}

impl Loader for ModuleTexts {
    fn load<'js>(&mut self, ctx: &Ctx<'js>, name: &str, _: Option<ImportAttributes<'js>>) -> rquickjs::Result<Module<'js, Declared>> {
        let shared = self.shared.clone().restore(ctx)?;
        let exports: Object<'js> = if name == MODULES[0] {
            shared.get::<_, Function<'js>>("allServers")?.call(())?
        } else {
            shared.get("moduleExports")?
        };
        let names: Vec<String> = exports
            .own_keys::<String>(Filter::new().string())
            .collect::<rquickjs::Result<_>>()?;
        let module = Module::declare(ctx.clone(), name, module_text(&names))?;
        module.meta()?.set("exports", exports)?;
        Ok(module)
    }
}

/// A module whose exports are the members of `import.meta.exports`. Names are written as JSON texts, which no name can leave.
fn module_text(names: &[String]) -> String {
    let mut text = "const all = import.meta.exports;\ndelete import.meta.exports;\nexport default all;\n".to_owned();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| *name != "default") {
        let quoted = serde_json::to_string(name).unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "const e{index} = all[{quoted}];\nexport {{ e{index} as {quoted} }};");
    }
    text
}
