//! A copy of everything that a program keeps, in a folder that the program can work in.
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use fugato_graph::BoxError;
use fugato_sqlite::{SqliteLog, copy_database};
use fugato_state::say;
use tokio::time::{MissedTickBehavior, interval};

use crate::{CliError, Terminal, error::ErrorContext as _, flags::LOG, store, without_password};

/// The time between two lines of progress about one file.
const TELLS: Duration = Duration::from_secs(1);

/// A backup of a log, and of the folder of a program.
///
/// It is written beside its place and moved there when it is whole, so a folder of its name is
/// never half a copy.
#[derive(Debug)]
pub(crate) struct Backup {
    /// The file of the log; none if a server has it.
    log: Option<PathBuf>,
    address: String,
    folder: PathBuf,
    to: PathBuf,
    part: PathBuf,
    overwrite: bool,
}

/// A finished copy.
#[derive(Debug, Default)]
struct BackupSummary {
    files: u64,
    bytes: u64,
}

impl Backup {
    /// Checks that there is something to copy, and room for the copy.
    pub(crate) fn new(
        address: &str,
        folder: &Path,
        to: &Path,
        overwrite: bool,
    ) -> Result<Self, CliError> {
        let absolute = |path: &Path| {
            std::path::absolute(path).tell(|| say!("{} is no path", "{} 不是路径", path.display()))
        };
        let (folder, to) = (absolute(folder)?, absolute(to)?);
        let log = store::file(address)?.map(absolute).transpose()?;
        let there = log.as_ref().is_none_or(|log| log.exists());
        if !there || log.is_none() && !folder.exists() {
            let place = log.unwrap_or(folder);
            return Err(CliError::new(say!(
                "there is nothing to copy: {} is not there",
                "没有可以复制的：{} 不存在",
                place.display()
            )));
        }
        if folder.starts_with(&to) || log.as_ref().is_some_and(|log| log.starts_with(&to)) {
            return Err(CliError::new(say!(
                "{} holds what is to be copied; name another folder",
                "{} 里有要复制的内容；请指定别的文件夹",
                to.display()
            )));
        }
        let mut part = to.clone().into_os_string();
        part.push(".part");
        let backup = Self {
            log,
            address: address.to_owned(),
            folder,
            part: part.into(),
            to,
            overwrite,
        };
        backup.check_place()?;
        Ok(backup)
    }

    /// Refuses a place where something lies, unless it is an older copy that may be replaced.
    fn check_place(&self) -> Result<(), CliError> {
        let (to, part) = (self.to.display(), self.part.display());
        if self.part.symlink_metadata().is_ok() && !self.overwrite {
            return Err(CliError::new(say!(
                "{part} is there already: another backup is being written, or was broken off; --overwrite replaces it",
                "{part} 已经存在：另一个备份正在写，或者中断了；--overwrite 会替换它"
            )));
        }
        let is_free = match fs::read_dir(&self.to) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_free {
            return Ok(());
        }
        if !self.overwrite {
            return Err(CliError::new(say!(
                "{to} is there already; name another folder, or --overwrite replaces an older copy",
                "{to} 已经存在；请指定别的文件夹，或用 --overwrite 替换旧的备份"
            )));
        }
        if self.to.join(LOG).is_file() || self.log.is_none() && self.to.is_dir() {
            return Ok(());
        }
        Err(CliError::new(say!(
            "{to} is no older copy, which would have the file {LOG}; it is not replaced",
            "{to} 不是旧的备份（应有文件 {LOG}）；没有替换"
        )))
    }

    /// Writes the copy, with progress.
    pub(crate) async fn write(self, terminal: &mut Terminal) -> Result<(), BoxError> {
        let part = Part::new(&self.part)?;
        let mut copied = BackupSummary::default();
        // The log comes first: what the rest knows in addition is written again under the same keys
        // when a run goes on, while what the log had in addition would be lost.
        if let Some(log) = &self.log {
            let to = self.part.join(LOG);
            copied.add(database(log, &to, terminal).await?);
            let checked = tokio::task::spawn_blocking(move || SqliteLog::open(&to).map(drop));
            checked.await?.tell(|| {
                say!(
                    "the copy of {} is damaged",
                    "{} 的副本已损坏",
                    log.display()
                )
            })?;
        } else {
            let place = without_password(&self.address);
            let text = terminal.lang.pick(
                format!(
                    "the log {place} is copied by the means of its server, and is not in this copy"
                ),
                format!("日志 {place} 由其服务器自行备份，不在此副本中"),
            );
            terminal.line(text);
        }
        self.copy_folder(&self.folder, &self.part, &mut copied, terminal)
            .await?;
        self.put(part)?;
        let BackupSummary { files, bytes } = copied;
        let (to, kib) = (self.to.display(), bytes.div_ceil(1024));
        let text = terminal.lang.pick(
            format!("written: {to} ({files} files, {kib} KiB); work in it with --dir '{to}'"),
            format!("已写入：{to}（{files} 个文件，{kib} KiB）；用 --dir '{to}' 打开"),
        );
        terminal.line(text);
        Ok(())
    }

    /// Copies the files of a folder: databases as of one moment each, other files as they are.
    async fn copy_folder(
        &self,
        from: &Path,
        to: &Path,
        copied: &mut BackupSummary,
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        let unreadable = || say!("cannot read {}", "无法读取 {}", from.display());
        let entries = match fs::read_dir(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.tell(unreadable)?,
        };
        fs::create_dir_all(to).tell(|| say!("cannot make {}", "无法创建 {}", to.display()))?;
        for entry in entries {
            let entry = entry.tell(unreadable)?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().tell(unreadable)?;
            if self.is_left_out(&path) {
                continue;
            }
            if kind.is_dir() {
                Box::pin(self.copy_folder(&path, &target, copied, terminal)).await?;
            } else if !kind.is_file() {
                let left_out = terminal
                    .lang
                    .pick("left out, as it is no file", "跳过（不是文件）");
                terminal.progress(&format!("{left_out}: {}", path.display()));
            } else if is_database(&path) {
                copied.add(database(&path, &target, terminal).await?);
            } else {
                match fs::copy(&path, &target) {
                    // It was removed meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    done => copied
                        .add(done.tell(|| say!("cannot copy {}", "无法复制 {}", path.display()))?),
                }
            }
        }
        Ok(())
    }

    /// Returns true for what is copied already, for backups within the folder, and for what `SQLite`
    /// keeps beside an open database.
    fn is_left_out(&self, path: &Path) -> bool {
        let beside = |suffix: &str| {
            let name = path.file_name().and_then(OsStr::to_str);
            let name = name.and_then(|name| name.strip_suffix(suffix));
            name.is_some_and(|name| is_database(&path.with_file_name(name)))
        };
        let known = [Some(&self.to), Some(&self.part), self.log.as_ref()];
        known.into_iter().flatten().any(|known| known == path)
            || ["-wal", "-shm", "-journal"].into_iter().any(beside)
    }

    /// Moves the copy to its place.
    fn put(&self, part: Part) -> Result<(), CliError> {
        let failed = || {
            say!(
                "cannot move the copy to {}",
                "无法把副本移到 {}",
                self.to.display()
            )
        };
        let mut old = self.to.clone().into_os_string();
        old.push(".old");
        let old = PathBuf::from(old);
        let replaces = self.to.join(LOG).exists() || self.log.is_none() && self.to.exists();
        if replaces {
            fs::rename(&self.to, &old).tell(failed)?;
        }
        fs::rename(&self.part, &self.to).tell(failed)?;
        part.keep();
        if let Some(Ok(folder)) = self.to.parent().map(File::open) {
            folder.sync_all().tell(failed)?;
        }
        if replaces {
            fs::remove_dir_all(&old)
                .tell(|| say!("cannot remove {}", "无法删除 {}", old.display()))?;
        }
        Ok(())
    }
}

impl BackupSummary {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// A folder that is removed unless it becomes the copy.
#[derive(Debug)]
struct Part(Option<PathBuf>);

impl Part {
    /// Makes the folder in the place of what an older backup left.
    fn new(path: &Path) -> Result<Self, CliError> {
        let failed = || say!("cannot make {}", "无法创建 {}", path.display());
        if path.symlink_metadata().is_ok() {
            fs::remove_dir_all(path).tell(failed)?;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).tell(failed)?;
        }
        fs::create_dir(path).tell(failed)?;
        Ok(Self(Some(path.to_owned())))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Of no use to anybody; the error that led here is the one to report.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Copies a database, and returns the size of the copy in bytes.
async fn database(from: &Path, to: &Path, terminal: &mut Terminal) -> Result<u64, BoxError> {
    let name = from.display().to_string();
    let all = fs::metadata(from).map_or(0, |found| found.len());
    let work = {
        let (from, to) = (from.to_owned(), to.to_owned());
        tokio::task::spawn_blocking(move || copy_database(from, to))
    };
    tokio::pin!(work);
    let mut tells = interval(TELLS);
    tells.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tells.tick().await;
    loop {
        tokio::select! {
            done = &mut work => {
                done?.tell(|| say!("cannot copy {name}", "无法复制 {name}"))?;
                return Ok(fs::metadata(to)?.len());
            }
            _ = tells.tick() => {
                let written = fs::metadata(to).map_or(0, |found| found.len());
                let percent = (written * 100).checked_div(all).unwrap_or(0).min(99);
                terminal.progress(&format!("{name}: {percent} %"));
            }
        }
    }
}

fn is_database(path: &Path) -> bool {
    let mut head = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && &head == b"SQLite format 3\0"
}
