//! The text of documents, as a person reads it.
use std::collections::BTreeMap;

use fugato_state::say;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use quick_xml::{Reader, events::Event};
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use crate::html;

/// The largest document that is read, in bytes.
pub(super) const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// The largest part of a document after it was decompressed, in bytes.
const MOST_PART: usize = 32 * 1024 * 1024;
/// The longest text of a document, in bytes.
const MOST_TEXT: usize = 4 * 1024 * 1024;
/// The number of parts that are looked at.
const MOST_PARTS: usize = 2_000;

/// The kinds of documents that are more than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentKind {
    Html,
    Pdf,
    Sheet,
    Word,
    Writer,
}

impl DocumentKind {
    /// Returns the kind that the ending of a path names; none for a text.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "docx" | "docm" => Self::Word,
            "htm" | "html" | "xhtml" => Self::Html,
            "odt" | "ods" | "odp" => Self::Writer,
            "pdf" => Self::Pdf,
            "xlsx" | "xlsm" => Self::Sheet,
            _ => return None,
        })
    }

    /// Returns the text of a document of this kind.
    pub(super) fn text(self, bytes: &[u8]) -> Result<String, String> {
        let mut text = match self {
            Self::Html => html::text(&String::from_utf8_lossy(bytes)),
            Self::Pdf => pdf(bytes)?,
            Self::Sheet => sheet(&Parts::of(bytes)?)?,
            Self::Word => words(&Parts::of(bytes)?.read("word/document.xml")?, WORD)?,
            Self::Writer => words(&Parts::of(bytes)?.read("content.xml")?, WRITER)?,
        };
        let whole = |end: &usize| text.is_char_boundary(*end);
        let end = (0..=MOST_TEXT.min(text.len()))
            .rev()
            .find(whole)
            .unwrap_or_default();
        text.truncate(end);
        Ok(text)
    }
}

/// The parts of a document that is an archive.
struct Parts<'a> {
    archive: ZipSliceArchive<&'a [u8]>,
    places: BTreeMap<String, (CompressionMethod, ZipArchiveEntryWayfinder)>,
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = |_| say!("it is no archive, or a damaged one", "不是压缩包，或已损坏");
        let archive = ZipArchive::from_slice(bytes).map_err(damaged)?;
        let mut places = BTreeMap::new();
        let mut entries = archive.entries();
        while let Some(entry) = entries.next_entry().map_err(damaged)? {
            if places.len() == MOST_PARTS {
                return Err(say!("it has too many parts", "部分太多"));
            }
            let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            places.insert(name, (entry.compression_method(), entry.wayfinder()));
        }
        Ok(Self { archive, places })
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let place = self.places.get(name);
        let (method, place) = place.ok_or_else(|| say!("it lacks its text", "里面没有正文"))?;
        let entry = self.archive.get_entry(*place);
        let data = entry.map_err(|_| say!("it is damaged", "已损坏"))?.data();
        match *method {
            CompressionMethod::Store => Ok(data.to_vec()),
            CompressionMethod::Deflate => decompress_to_vec_with_limit(data, MOST_PART)
                .map_err(|_| say!("it is damaged, or too large", "已损坏，或太大")),
            _ => Err(say!(
                "it is compressed in a way that is not known",
                "不认识它的压缩方式"
            )),
        }
    }
}

/// The elements of a format: those whose text is read, if not all is, and those that end a line, end
/// a cell, or stand for a space.
#[derive(Clone, Copy)]
struct Markup {
    text: Option<&'static [u8]>,
    lines: &'static [&'static [u8]],
    cells: &'static [&'static [u8]],
    spaces: &'static [&'static [u8]],
}

const WORD: Markup = Markup {
    text: Some(b"t"),
    lines: &[b"p", b"br", b"cr"],
    cells: &[],
    spaces: &[b"tab"],
};
const WRITER: Markup = Markup {
    text: None,
    lines: &[b"h", b"line-break", b"p", b"table-row"],
    cells: &[b"table-cell"],
    spaces: &[b"s", b"tab"],
};

fn words(xml: &[u8], markup: Markup) -> Result<String, String> {
    let (mut text, mut inside) = (String::new(), markup.text.is_none());
    each(xml, |event| match event {
        Piece::Begin(name, _) => inside |= markup.text == Some(name),
        Piece::End(name) => {
            inside &= markup.text != Some(name);
            if markup.lines.contains(&name) {
                text.push('\n');
            } else if markup.cells.contains(&name) {
                // A cell is a line of its own in it.
                let end = text.trim_end_matches('\n').len();
                text.truncate(end);
                text.push('\t');
            } else if markup.spaces.contains(&name) {
                text.push(' ');
            }
        }
        Piece::Text(said) if inside => text.push_str(said),
        Piece::Text(_) => {}
    })?;
    Ok(text)
}

/// Returns the rows of all tables, their cells apart by tabs.
fn sheet(parts: &Parts<'_>) -> Result<String, String> {
    let shared = match parts.read("xl/sharedStrings.xml") {
        Ok(xml) => shared(&xml)?,
        Err(_) => vec![],
    };
    let mut text = String::new();
    let is_table = |name: &&String| name.starts_with("xl/worksheets/sheet");
    for name in parts.places.keys().filter(is_table) {
        let (mut cell, mut kind, mut inside) = (String::new(), String::new(), false);
        each(&parts.read(name)?, |event| match event {
            Piece::Begin(b"c", attribute) => {
                cell.clear();
                kind = attribute("t").unwrap_or_default();
            }
            Piece::Begin(b"v" | b"t", _) => inside = true,
            Piece::Text(said) if inside => cell.push_str(said),
            Piece::End(b"v" | b"t") => inside = false,
            Piece::End(b"c") => {
                let place = cell.parse::<usize>().ok().filter(|_| kind == "s");
                let known = place.and_then(|place| shared.get(place));
                text.push_str(known.unwrap_or(&cell));
                text.push('\t');
            }
            Piece::End(b"row") => {
                text.truncate(text.trim_end_matches('\t').len());
                text.push('\n');
            }
            _ => {}
        })?;
        if text.len() > MOST_TEXT {
            break;
        }
    }
    Ok(text)
}

/// Returns the texts that cells of a workbook share.
fn shared(xml: &[u8]) -> Result<Vec<String>, String> {
    let (mut all, mut one, mut inside) = (vec![], String::new(), false);
    each(xml, |event| match event {
        Piece::Begin(b"t", _) => inside = true,
        Piece::Text(said) if inside => one.push_str(said),
        Piece::End(b"t") => inside = false,
        Piece::End(b"si") => all.push(std::mem::take(&mut one)),
        _ => {}
    })?;
    Ok(all)
}

/// A piece of a document in XML. Names are without their prefix.
enum Piece<'a> {
    Begin(&'a [u8], &'a dyn Fn(&str) -> Option<String>),
    Text(&'a str),
    End(&'a [u8]),
}

/// Reads the pieces of a document. Entities of its own are not expanded.
fn each(xml: &[u8], mut piece: impl FnMut(Piece<'_>)) -> Result<(), String> {
    let bad = |error: &dyn std::fmt::Display| say!("it is damaged: {error}", "已损坏：{error}");
    let mut reader = Reader::from_reader(xml);
    let config = reader.config_mut();
    (config.check_end_names, config.expand_empty_elements) = (false, true);
    loop {
        match reader.read_event().map_err(|error| bad(&error))? {
            Event::Start(begin) => {
                let attribute = |name: &str| {
                    let found = begin.try_get_attribute(name).ok().flatten()?;
                    Some(String::from_utf8_lossy(&found.value).into_owned())
                };
                piece(Piece::Begin(begin.local_name().as_ref(), &attribute));
            }
            Event::End(end) => piece(Piece::End(end.local_name().as_ref())),
            Event::Text(said) => {
                let said = said.decode().map_err(|error| bad(&error))?;
                piece(Piece::Text(&said));
            }
            Event::CData(said) => {
                let said = said.decode().map_err(|error| bad(&error))?;
                piece(Piece::Text(&said));
            }
            Event::GeneralRef(name) => {
                let c = match name.resolve_char_ref().ok().flatten() {
                    Some(c) => Some(c),
                    None => entity(&name.decode().unwrap_or_default()),
                };
                piece(Piece::Text(c.unwrap_or('?').encode_utf8(&mut [0; 4])));
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "apos" => '\'',
        "gt" => '>',
        "lt" => '<',
        "quot" => '"',
        _ => return None,
    })
}

#[cfg(not(feature = "pdf"))]
fn pdf(_: &[u8]) -> Result<String, String> {
    Err(say!(
        "this program is built without the feature that reads PDF",
        "这个程序没有读 PDF 的功能"
    ))
}

/// Reads the pages of a PDF in a thread of its own, as nothing else ends what it is caught in.
#[cfg(feature = "pdf")]
fn pdf(bytes: &[u8]) -> Result<String, String> {
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
    let (bytes, (sender, receiver)) = (bytes.to_vec(), std::sync::mpsc::channel());
    let lang = fugato_state::Lang::current();
    std::thread::spawn(move || {
        // Nobody may wait any more.
        let _ = sender.send(lang.scope(|| pages(&bytes)));
    });
    let read = receiver.recv_timeout(PATIENCE);
    read.unwrap_or_else(|_| {
        Err(say!(
            "it is damaged, or takes too long",
            "已损坏，或太费时间"
        ))
    })
}

#[cfg(feature = "pdf")]
fn pages(bytes: &[u8]) -> Result<String, String> {
    let bad = |error: lopdf::Error| say!("it is damaged: {error}", "已损坏：{error}");
    let options = lopdf::LoadOptions {
        max_decompressed_size: Some(MOST_PART),
        ..lopdf::LoadOptions::default()
    };
    let document = lopdf::Document::load_mem_with_options(bytes, options).map_err(bad)?;
    let mut text = String::new();
    for page in document.get_pages().into_keys() {
        let said = document.extract_text_with_limit(&[page], MOST_PART);
        text.push_str(&said.map_err(bad)?);
        if text.len() > MOST_TEXT {
            break;
        }
    }
    Ok(text)
}
