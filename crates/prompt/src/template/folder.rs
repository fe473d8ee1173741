use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use super::{Template, TemplateError};

/// A folder of templates that people edit, such as `SOUL.md`, `USER.md` and `tool.md`.
///
/// # Notes
/// - A missing file is replaced by a text of the program.
/// - A name cannot lead out of the folder: neither by `..`, nor by a root, nor by a link.
/// - A file is not read beyond the size limit of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFolder {
    path: PathBuf,
    most_bytes: u64,
}

impl TemplateFolder {
    /// Creates a folder of templates, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            most_bytes: 32 * 1024,
        }
    }

    fugato_state::setters! {
        /// Sets the greatest number of bytes of a template; 32 KiB by default.
        pub fn most_bytes(bytes: u64) { most_bytes = bytes }
    }

    /// Reads a template, or parses `instead` if there is no such file.
    pub fn read(&self, name: &str, instead: &str) -> Result<Template, TemplateError> {
        let path = self.inside(name)?;
        let bytes = match path.map_or_else(Err, |path| self.bytes(&path)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Template::new(name, instead));
            }
            Err(source) => {
                let name = name.to_owned();
                return Err(TemplateError::Unreadable { name, source });
            }
        };
        if bytes.len() as u64 > self.most_bytes {
            return Err(TemplateError::TooLong {
                name: name.to_owned(),
                most: self.most_bytes,
            });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Template::new(name, text.trim_start_matches('\u{feff}'))),
            Err(_) => Err(TemplateError::NotText {
                name: name.to_owned(),
            }),
        }
    }

    /// Returns the path of a template after all links were followed.
    fn inside(&self, name: &str) -> Result<io::Result<PathBuf>, TemplateError> {
        let outside = || TemplateError::Outside {
            name: name.to_owned(),
        };
        let relative = Path::new(name);
        let mut components = relative.components().peekable();
        let is_empty = components.peek().is_none();
        if is_empty || components.any(|component| !matches!(component, Component::Normal(_))) {
            return Err(outside());
        }
        let found = fs::canonicalize(&self.path)
            .and_then(|root| Ok((fs::canonicalize(root.join(relative))?, root)));
        match found {
            Ok((path, root)) if path.starts_with(&root) => Ok(Ok(path)),
            Ok(_) => Err(outside()),
            Err(error) => Ok(Err(error)),
        }
    }

    fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = vec![];
        let one_more = self.most_bytes.saturating_add(1);
        File::open(path)?.take(one_more).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trn_3_a_missing_file_is_replaced_and_a_long_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let templates = TemplateFolder::new(folder.path()).most_bytes(8);
        let text = |name: &str| templates.read(name, "nobody")?.fill([("", ""); 0]);
        assert_eq!(text("SOUL.md").unwrap(), "nobody");
        for (bytes, told) in [
            (&b"12345678"[..], "12345678"),
            (b"123456789", "SOUL.md is longer than 8 bytes"),
            (b"\xff\xfe", "SOUL.md is not UTF-8 text"),
            (b"\xef\xbb\xbfme", "me"),
        ] {
            fs::write(folder.path().join("SOUL.md"), bytes).unwrap();
            let found = text("SOUL.md").unwrap_or_else(|error| error.to_string());
            assert_eq!(found, told);
        }
        let nowhere = TemplateFolder::new(folder.path().join("gone"));
        assert_eq!(
            nowhere.read("SOUL.md", "x").unwrap(),
            Template::new("SOUL.md", "x")
        );
    }

    #[test]
    fn trn_3_no_name_leads_out_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("templates");
        fs::create_dir_all(folder.join("more")).unwrap();
        fs::write(place.path().join("secret.md"), "secret").unwrap();
        fs::write(folder.join("more/tool.md"), "tools").unwrap();
        let templates = TemplateFolder::new(&folder);
        assert!(templates.read("more/tool.md", "").is_ok());
        let absolute = place.path().join("secret.md");
        let absolute = absolute.to_str().unwrap();
        for name in ["../secret.md", "more/../../secret.md", absolute, "", "."] {
            let error = templates.read(name, "").unwrap_err();
            assert!(
                matches!(error, TemplateError::Outside { .. }),
                "{name}: {error}"
            );
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(place.path().join("secret.md"), folder.join("link.md"))
                .unwrap();
            let error = templates.read("link.md", "").unwrap_err();
            assert!(matches!(error, TemplateError::Outside { .. }), "{error}");
        }
    }
}
