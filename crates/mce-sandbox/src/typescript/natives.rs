//! What the guest's own scripts can do beyond the language: frames, clock, chance, texts. Programs cannot reach these.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Instant;

use rquickjs::function::Func;
use rquickjs::{Ctx, Exception, Function, Object, Value};

use super::channel::Channel;
use super::compile::Positions;
use super::failure::{map_stack, similar};
use super::values::{self, Problem};
use super::web;

/// Characters of a log frame, which may take four times as many bytes, and six times as JSON.
const LOG_CHARS: usize = 8 << 10;

/// What native functions and the run share.
pub(super) struct Link {
    /// None before the worker has its socket.
    channel: RefCell<Option<Channel>>,
    /// Of the program that runs.
    pub(super) positions: RefCell<Rc<Positions>>,
    started: Cell<Instant>,
    random: Cell<u64>,
    /// The host has closed the run.
    pub(super) is_closed: Cell<bool>,
}

impl Link {
    pub(super) fn new() -> Self {
        Self {
            channel: RefCell::new(None),
            positions: RefCell::default(),
            started: Cell::new(Instant::now()),
            random: Cell::new(1),
            is_closed: Cell::new(false),
        }
    }

    /// Begins a run: chance and clock are its own, not those of the fork server.
    pub(super) fn open(&self, channel: Channel) -> io::Result<()> {
        *self.channel.borrow_mut() = Some(channel);
        self.started.set(Instant::now());
        let seed = web::random_bytes(8)?;
        self.random.set(seed.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)) | 1);
        Ok(())
    }

    /// Uses the channel; an error means that the host has closed the run.
    pub(super) fn with_channel<T>(&self, work: impl FnOnce(&mut Channel) -> io::Result<T>) -> io::Result<T> {
        let result = self
            .channel
            .borrow_mut()
            .as_mut()
            .map_or_else(|| Err(io::ErrorKind::NotConnected.into()), work);
        if result.is_err() {
            self.is_closed.set(true);
        }
        result
    }

    fn log(&self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(LOG_CHARS));
            rest = after;
            let frame = serde_json::to_vec(&serde_json::json!({ "op": "log", "text": piece }))?;
            self.with_channel(|channel| channel.send(&frame))?;
        }
        Ok(())
    }

    fn now_ms(&self) -> f64 {
        self.started.get().elapsed().as_secs_f64() * 1000.0
    }

    /// The next number of a xorshift generator, from 0 to below 1.
    fn random(&self) -> f64 {
        let mut state = self.random.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.random.set(state);
        let [a, b, c, d, ..] = state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_be_bytes();
        f64::from(u32::from_be_bytes([a, b, c, d])) / 4_294_967_296.0
    }
}

/// The object of native functions. `shared` holds what the scripts have defined for each other.
pub(super) fn object<'js>(ctx: &Ctx<'js>, link: &Rc<Link>, shared: &Object<'js>) -> rquickjs::Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    add_channel(ctx, &native, link)?;
    add_values(ctx, &native, link, shared)?;
    web::add(&native)?;
    Ok(native)
}

fn add_channel<'js>(ctx: &Ctx<'js>, native: &Object<'js>, link: &Rc<Link>) -> rquickjs::Result<()> {
    let shared = Rc::clone(link);
    let send = move |ctx: Ctx<'js>, body: String| closed(&ctx, shared.with_channel(|channel| channel.send(body.as_bytes())));
    native.set("send", Function::new(ctx.clone(), send)?)?;
    let shared = Rc::clone(link);
    let receive = move |ctx: Ctx<'js>| closed(&ctx, shared.with_channel(Channel::receive));
    native.set("receive", Function::new(ctx.clone(), receive)?)?;
    let shared = Rc::clone(link);
    let log = move |ctx: Ctx<'js>, text: String| closed(&ctx, shared.log(&text));
    native.set("log", Function::new(ctx.clone(), log)?)?;
    let shared = Rc::clone(link);
    native.set("now", Function::new(ctx.clone(), move || shared.now_ms())?)?;
    let shared = Rc::clone(link);
    native.set("random", Function::new(ctx.clone(), move || shared.random())?)
}

fn add_values<'js>(ctx: &Ctx<'js>, native: &Object<'js>, link: &Rc<Link>, shared: &Object<'js>) -> rquickjs::Result<()> {
    let helpers = shared.clone();
    let encode = move |ctx: Ctx<'js>, value: Value<'js>, limit: usize, name: String| {
        values::encode(&helpers, value, limit, &name).map_err(|problem| thrown(&ctx, &helpers, problem, limit, &name))
    };
    native.set("encode", Function::new(ctx.clone(), encode)?)?;
    native.set("hasLongInteger", Func::from(|text: String| values::has_long_integer(&text)))?;
    let find = |name: String, names: Vec<String>| similar(&name, names.iter().map(String::as_str)).map(str::to_owned);
    native.set("similar", Func::from(find))?;
    let link = Rc::clone(link);
    let map = move |stack: String| map_stack(&stack, &link.positions.borrow());
    native.set("mapStack", Function::new(ctx.clone(), map)?)
}

/// A problem of a value as an exception of the guest.
fn thrown<'js>(ctx: &Ctx<'js>, shared: &Object<'js>, problem: Problem, limit: usize, name: &str) -> rquickjs::Error {
    let (message, hint) = match problem {
        Problem::Thrown(error) => return error,
        Problem::TooLarge => (
            format!(
                "the {name} {} larger than {limit} bytes",
                if name.ends_with('s') { "are" } else { "is" }
            ),
            None,
        ),
        Problem::NoJson { message, hint } => (message, Some(hint)),
    };
    let made = shared
        .get::<_, rquickjs::function::Constructor<'js>>("ValueProblem")
        .and_then(|kind| kind.construct::<_, Value<'js>>((message, hint)));
    match made {
        Ok(problem) => ctx.throw(problem),
        Err(error) => error,
    }
}

fn closed<T>(ctx: &Ctx<'_>, result: io::Result<T>) -> rquickjs::Result<T> {
    result.map_err(|_| Exception::throw_internal(ctx, "the host has closed the run"))
}
