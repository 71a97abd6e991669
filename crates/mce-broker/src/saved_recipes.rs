//! Recipes that a person has saved: a folder of programs, `NAME.py` or `NAME.ts`, that a person can read and keep in git. Each may
//! begin with a block of comments that says what its text does not. They neither expire nor go for others.

use std::collections::BTreeMap;
use std::fs::{Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Recipes that are read; more are a mistake.
const MAX_RECIPES: usize = 1_000;
/// Bytes of a file.
const MAX_BYTES: u64 = 256 << 10;
/// Bytes of a name.
const MAX_NAME: usize = 60;
/// How the block begins and ends, after the sign of a comment.
const BLOCK: (&str, &str) = (" /// mce", " ///");

/// What a program is written in, as the name of its file ends, and how a comment begins.
const LANGUAGES: [(&str, &str, &str); 2] = [("python", "py", "#"), ("typescript", "ts", "//")];

/// A saved recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedRecipe {
    /// The name of its file, without the ending: `[a-z][a-z0-9_]*`.
    pub name: String,
    /// `python` or `typescript`.
    pub language: &'static str,
    /// Its file.
    pub file: PathBuf,
    /// The whole text, the block too: lines are those of the file.
    pub source: String,
    /// When it was last written.
    pub changed: SystemTime,
    /// What the block says.
    pub notes: RecipeNotes,
}

/// What the block of a recipe says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeNotes {
    /// What the program does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Functions that it uses, with their signatures as they were when it was saved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uses: BTreeMap<String, String>,
}

/// Why a recipe cannot be had, or saved.
#[derive(Debug, Error)]
pub enum SavedRecipeError {
    /// Not a name of a file and of a function in both languages.
    #[error("`{name}` cannot be the name of a recipe")]
    Name {
        /// As given, at most 100 characters.
        name: String,
    },
    /// No file of this name.
    #[error("no recipe is saved as `{name}`")]
    Unknown {
        /// As given, at most 100 characters.
        name: String,
    },
    /// There is one, and it was not to be replaced.
    #[error("a recipe is saved as `{name}` already: `{}`", file.display())]
    Taken {
        /// Its name.
        name: String,
        /// Its file.
        file: PathBuf,
    },
    /// The block is not what it should be.
    #[error("`{}`: its block of comments `/// mce` cannot be read: {reason}", file.display())]
    Block {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Larger than the limit.
    #[error("`{}` has more than {MAX_BYTES} bytes", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// More files than are read.
    #[error("`{}` has {count} recipes, and only the first {MAX_RECIPES} by name are read", folder.display())]
    TooMany {
        /// The folder.
        folder: PathBuf,
        /// Its files of programs.
        count: usize,
    },
    /// The folder or the file cannot be read or written.
    #[error("failed to use a recipe's file")]
    File {
        /// Names the file.
        #[from]
        source: io::Error,
    },
}

impl SavedRecipeError {
    /// What to do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Name { .. } => {
                Some("use lower-case letters, digits and `_`, a letter first, at most 60, and no word of Python or TypeScript")
            }
            Self::Unknown { .. } => Some("`mce recipes list` shows all"),
            Self::Taken { .. } => Some("`--replace` writes it anew"),
            Self::Block { .. } => Some("`mce recipes save NAME --replace FILE` writes it anew"),
            Self::TooLarge { .. } | Self::TooMany { .. } | Self::File { .. } => None,
        }
    }
}

/// The folder of saved recipes. It need not exist.
#[derive(Debug, Clone)]
pub struct SavedRecipes {
    folder: PathBuf,
}

impl SavedRecipes {
    /// Recipes of this folder.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// All recipes by name, or why one of these files is none. The last is why there are not more of them, if there could be.
    pub fn all(&self) -> Vec<Result<SavedRecipe, SavedRecipeError>> {
        let (mut files, mut fault) = match self.files() {
            Ok(files) => (files, None),
            Err(source) => (Vec::new(), Some(SavedRecipeError::File { source })),
        };
        files.sort();
        if files.len() > MAX_RECIPES {
            fault = Some(SavedRecipeError::TooMany {
                folder: self.folder.clone(),
                count: files.len(),
            });
            files.truncate(MAX_RECIPES);
        }
        let mut seen: Vec<String> = Vec::new();
        let read = files.iter().map(|file| {
            let recipe = read(file)?;
            if seen.contains(&recipe.name) {
                return Err(SavedRecipeError::Taken {
                    name: recipe.name,
                    file: file.clone(),
                });
            }
            seen.push(recipe.name.clone());
            Ok(recipe)
        });
        read.chain(fault.map(Err)).collect()
    }

    /// Files of programs. A folder that is not there has none.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs_err::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        // What cannot be looked at is told when it is read.
        let is_file = |file: &Path| fs_err::metadata(file).map_or(true, |facts| facts.is_file());
        let files = entries.map(|entry| entry.map(|entry| entry.path()));
        files
            .filter(|file| file.as_ref().map_or(true, |file| language_of(file).is_some() && is_file(file)))
            .collect()
    }

    /// The recipe of this name.
    ///
    /// # Errors
    ///
    /// [`SavedRecipeError::Unknown`], [`SavedRecipeError::Block`], [`SavedRecipeError::TooLarge`], [`SavedRecipeError::File`].
    pub fn get(&self, name: &str) -> Result<SavedRecipe, SavedRecipeError> {
        let unknown = || SavedRecipeError::Unknown { name: short(name) };
        if !is_name(name) {
            return Err(unknown());
        }
        read(&self.file(name).ok_or_else(unknown)?)
    }

    /// Writes a recipe. A block of comments that the text begins with goes.
    ///
    /// # Errors
    ///
    /// [`SavedRecipeError::Name`]; [`SavedRecipeError::Taken`], if `replaces` is false; [`SavedRecipeError::TooLarge`];
    /// [`SavedRecipeError::File`].
    pub fn save(
        &self,
        name: &str,
        (language, text): (&str, &str),
        notes: &RecipeNotes,
        replaces: bool,
    ) -> Result<PathBuf, SavedRecipeError> {
        let Some((_, ending, comment)) = LANGUAGES.into_iter().find(|(known, ..)| *known == language && is_name(name)) else {
            return Err(SavedRecipeError::Name { name: short(name) });
        };
        let known = self.file(name);
        if let Some(file) = known.clone().filter(|_| !replaces) {
            let name = name.to_owned();
            return Err(SavedRecipeError::Taken { name, file });
        }
        let file = self.folder.join(format!("{name}.{ending}"));
        let whole = format!("{}{}", block_of(notes, comment), without_block(text, comment));
        if whole.len() as u64 > MAX_BYTES {
            return Err(SavedRecipeError::TooLarge { file });
        }
        fs_err::create_dir_all(&self.folder)?;
        match write(&file, known.as_deref(), &whole, replaces) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let name = name.to_owned();
                return Err(SavedRecipeError::Taken { name, file });
            }
            written => written?,
        }
        if let Some(other) = known.filter(|known| *known != file) {
            fs_err::remove_file(other)?;
        }
        Ok(file)
    }

    /// Removes a recipe's file, and says which.
    ///
    /// # Errors
    ///
    /// [`SavedRecipeError::Unknown`], [`SavedRecipeError::File`].
    pub fn remove(&self, name: &str) -> Result<PathBuf, SavedRecipeError> {
        let file = self.file(name).filter(|_| is_name(name));
        let file = file.ok_or_else(|| SavedRecipeError::Unknown { name: short(name) })?;
        fs_err::remove_file(&file)?;
        Ok(file)
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        let files = LANGUAGES.map(|(_, ending, _)| self.folder.join(format!("{name}.{ending}")));
        files.into_iter().find(|file| file.is_file())
    }
}

impl SavedRecipe {
    /// What the program does, by the comment that it begins with; empty if there is none.
    pub fn comment(&self) -> String {
        let sign = comment_of(self.language);
        let text = without_block(&self.source, sign).trim_start();
        if let Some((inner, _)) = text
            .strip_prefix("/*")
            .filter(|_| sign == "//")
            .and_then(|rest| rest.split_once("*/"))
        {
            let lines = inner.lines().map(|line| line.trim().trim_start_matches('*').trim());
            return lines.collect::<Vec<_>>().join("\n").trim().to_owned();
        }
        let lines = text.lines().take_while(|line| line.starts_with(sign) && !line.starts_with("#!"));
        let lines = lines.map(|line| line.trim_start_matches(sign).trim());
        lines.collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}

/// Whether this can be the name of a recipe, but for words of the languages.
pub(crate) fn is_name(name: &str) -> bool {
    let is_of_names = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_';
    name.len() <= MAX_NAME && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_of_names)
}

fn short(name: &str) -> String {
    name.chars().take(100).collect()
}

fn language_of(file: &Path) -> Option<&'static str> {
    let ending = file.extension()?.to_str()?;
    LANGUAGES
        .iter()
        .find(|(_, known, _)| *known == ending)
        .map(|(language, ..)| *language)
}

fn comment_of(language: &str) -> &'static str {
    let known = LANGUAGES.iter().find(|(known, ..)| *known == language);
    known.map_or("#", |(_, _, comment)| comment)
}

/// Writes a recipe's file as a whole, through symbolic links, with mode and owner of the one that was there.
fn write(file: &Path, known: Option<&Path>, text: &str, replaces: bool) -> io::Result<()> {
    let target = fs_err::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().ok_or_else(|| io::Error::other("the file has no folder"))?;
    // Without what the process's mask takes away.
    let mode = Permissions::from_mode(0o666);
    let mut written = tempfile::Builder::new().prefix(".mce-").permissions(mode).tempfile_in(folder)?;
    written.write_all(text.as_bytes())?;
    if let Some(known) = known {
        let facts = fs_err::metadata(known)?;
        keep_owner(&written, &facts)?;
        written.as_file().set_permissions(facts.permissions())?;
    }
    written.as_file().sync_all()?;
    let persisted = if replaces {
        written.persist(&target)
    } else {
        written.persist_noclobber(&target)
    };
    persisted.map(drop).map_err(|error| error.error)
}

/// Only the administrator may give files away, and only then it is needed.
fn keep_owner(file: &tempfile::NamedTempFile, facts: &Metadata) -> io::Result<()> {
    let own = file.as_file().metadata()?;
    if (own.uid(), own.gid()) != (facts.uid(), facts.gid()) {
        fchown(file.as_file(), Some(facts.uid()), Some(facts.gid()))?;
    }
    Ok(())
}

fn read(file: &Path) -> Result<SavedRecipe, SavedRecipeError> {
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let (Some(language), true) = (language_of(file), is_name(name)) else {
        return Err(SavedRecipeError::Name { name: short(name) });
    };
    let facts = fs_err::metadata(file)?;
    if facts.len() > MAX_BYTES {
        return Err(SavedRecipeError::TooLarge { file: file.to_owned() });
    }
    let source = fs_err::read_to_string(file)?;
    let notes = notes_in(&source, comment_of(language)).map_err(|reason| SavedRecipeError::Block {
        file: file.to_owned(),
        reason,
    })?;
    Ok(SavedRecipe {
        name: name.to_owned(),
        language,
        file: file.to_owned(),
        changed: facts.modified()?,
        source,
        notes,
    })
}

/// The lines of the block, without the signs of comments, and what follows it.
fn split<'a>(text: &'a str, comment: &str) -> Option<(Vec<&'a str>, &'a str)> {
    let mut rest = text;
    let mut next = || {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        line.trim_end().strip_prefix(comment)
    };
    next().filter(|line| *line == BLOCK.0)?;
    let mut lines = Vec::new();
    loop {
        match next()? {
            end if end == BLOCK.1 => return Some((lines, rest)),
            line => lines.push(line),
        }
    }
}

fn notes_in(text: &str, comment: &str) -> Result<RecipeNotes, String> {
    match split(text, comment) {
        Some((lines, _)) => serde_json::from_str(&lines.join("\n")).map_err(|error| error.to_string()),
        None if text.starts_with(&format!("{comment}{}\n", BLOCK.0)) => Err("it does not end".to_owned()),
        None => Ok(RecipeNotes::default()),
    }
}

fn without_block<'a>(text: &'a str, comment: &str) -> &'a str {
    split(text, comment).map_or(text, |(_, rest)| rest)
}

fn block_of(notes: &RecipeNotes, comment: &str) -> String {
    if *notes == RecipeNotes::default() {
        return String::new();
    }
    let json = serde_json::to_string_pretty(notes).unwrap_or_default();
    // These end a line of TypeScript, and with it the comment.
    let json = json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let lines = json.lines().map(|line| format!("{comment} {line}\n"));
    format!("{comment}{}\n{}{comment}{}\n", BLOCK.0, lines.collect::<String>(), BLOCK.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> RecipeNotes {
        RecipeNotes {
            description: "sums\u{2028}process.exit()\nall".to_owned(),
            uses: BTreeMap::from([("shop.get".to_owned(), "get(id: str) -> Item".to_owned())]),
        }
    }

    fn folder() -> (tempfile::TempDir, SavedRecipes) {
        let folder = tempfile::tempdir().unwrap();
        let recipes = SavedRecipes::new(folder.path().join("recipes"));
        (folder, recipes)
    }

    #[test]
    fn a_saved_recipe_comes_back_with_its_notes_and_its_text() {
        let (_folder, recipes) = folder();
        for (language, ending, text) in [
            ("python", "py", "# Adds.\nresult = 1\n"),
            ("typescript", "ts", "/** Adds. */\nexport default 1;\n"),
        ] {
            let name = format!("add_{ending}");
            let file = recipes.save(&name, (language, text), &notes(), false).unwrap();
            assert!(file.ends_with(format!("recipes/{name}.{ending}")));
            let recipe = recipes.get(&name).unwrap();
            assert_eq!(
                (recipe.language, recipe.notes.clone(), recipe.comment().as_str()),
                (language, notes(), "Adds.")
            );
            assert!(recipe.source.ends_with(text), "{}", recipe.source);
            let comment = comment_of(language);
            let block = recipe.source.strip_suffix(text).unwrap();
            assert!(
                block.lines().all(|line| line.starts_with(comment)) && !block.contains('\u{2028}'),
                "{block}"
            );
            // Saved once more, it has one block; without notes it has none.
            recipes.save(&name, (language, &recipe.source), &notes(), true).unwrap();
            assert_eq!(recipes.get(&name).unwrap().source, recipe.source);
            recipes
                .save(&name, (language, &recipe.source), &RecipeNotes::default(), true)
                .unwrap();
            assert_eq!(recipes.get(&name).unwrap().source, text);
        }
        let names: Vec<_> = recipes.all().into_iter().map(|recipe| recipe.unwrap().name).collect();
        assert_eq!(names, ["add_py", "add_ts"]);
        recipes.remove("add_py").unwrap();
        assert!(matches!(recipes.get("add_py"), Err(SavedRecipeError::Unknown { .. })));
    }

    #[test]
    fn a_name_is_that_of_a_file_and_of_one_recipe() {
        let (_folder, recipes) = folder();
        let long = "a".repeat(MAX_NAME + 1);
        for name in ["", "../a", "a/b", "A", "1a", "_a", "a-b", "a.b", "ä", &long] {
            let saved = recipes.save(name, ("python", "1"), &notes(), false);
            assert!(matches!(saved, Err(SavedRecipeError::Name { .. })), "{name}");
            assert!(recipes.get(name).is_err() && recipes.remove(name).is_err());
        }
        recipes.save("a", ("python", "1"), &notes(), false).unwrap();
        assert!(matches!(
            recipes.save("a", ("typescript", "1"), &notes(), false),
            Err(SavedRecipeError::Taken { .. })
        ));
        recipes.save("a", ("typescript", "1"), &notes(), true).unwrap();
        assert_eq!(recipes.all().len(), 1);
        assert_eq!(recipes.get("a").unwrap().language, "typescript");
    }

    #[test]
    fn files_that_a_person_wrote_need_no_block_and_a_broken_one_is_told() {
        let (folder, recipes) = folder();
        let write = |name: &str, text: &str| {
            fs_err::create_dir_all(folder.path().join("recipes")).unwrap();
            fs_err::write(folder.path().join("recipes").join(name), text).unwrap();
        };
        write("plain.py", "result = 1");
        write("broken.py", "# /// mce\n# {\n# ///\nresult = 1");
        write("endless.ts", "// /// mce\n// {}\nresult = 1");
        write("notes.txt", "");
        let told: Vec<_> = recipes.all().iter().map(Result::is_ok).collect();
        assert_eq!(told, [false, false, true]);
        assert_eq!(recipes.get("plain").unwrap().notes, RecipeNotes::default());
    }

    #[test]
    fn a_folder_that_cannot_be_read_or_has_too_many_files_is_told() {
        let (folder, recipes) = folder();
        assert!(recipes.all().is_empty());
        fs_err::write(folder.path().join("recipes"), "no folder").unwrap();
        assert!(matches!(recipes.all().as_slice(), [Err(SavedRecipeError::File { .. })]));
        fs_err::remove_file(folder.path().join("recipes")).unwrap();
        fs_err::create_dir(folder.path().join("recipes")).unwrap();
        for number in 0..=MAX_RECIPES {
            fs_err::write(folder.path().join(format!("recipes/r{number}.py")), "").unwrap();
        }
        let all = recipes.all();
        assert!(all[..MAX_RECIPES].iter().all(Result::is_ok));
        assert!(matches!(&all[MAX_RECIPES..], [Err(SavedRecipeError::TooMany { count, .. })] if *count == MAX_RECIPES + 1));
    }

    #[test]
    fn mode_and_links_of_a_file_stay_and_saves_at_the_same_time_do_not_mix() {
        let (folder, recipes) = folder();
        let file = recipes.save("a", ("python", "1"), &notes(), false).unwrap();
        assert_ne!(
            fs_err::metadata(&file).unwrap().permissions().mode() & 0o044,
            0,
            "others may read it"
        );
        let real = folder.path().join("real.py");
        fs_err::rename(&file, &real).unwrap();
        fs_err::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        fs_err::os::unix::fs::symlink(&real, &file).unwrap();
        let texts = ["2\n".repeat(50_000), "3\n".repeat(50_000)];
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| {
                    for _ in 0..50 {
                        recipes.save("a", ("python", text), &RecipeNotes::default(), true).unwrap();
                    }
                });
            }
        });
        assert!(fs_err::symlink_metadata(&file).unwrap().is_symlink());
        assert_eq!(fs_err::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(texts.contains(&fs_err::read_to_string(&real).unwrap()));
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside it");
        recipes.save("a", ("typescript", "1"), &notes(), true).unwrap();
        let moved = fs_err::metadata(folder.path().join("recipes/a.ts")).unwrap();
        assert_eq!(moved.permissions().mode() & 0o777, 0o640);
        assert_eq!(fs_err::read_dir(folder.path().join("recipes")).unwrap().count(), 1);
    }
}
