//! Calendars, and the language in which a conversation speaks of them.
pub use fugato::cli::Lang;
pub use timetable::calendar::{
    Classes, Export, IcsCalendar, ImportError, Intake, Picture, Remark, Sections, WeekTable,
    export, import, open, read_file, write_file,
};

/// Lets texts of timetables be in the language that is spoken now.
pub fn follow_language() {
    timetable::calendar::Lang::follow(|| language(Lang::current()));
}

/// Returns the short name of a day of the week; Monday is 1.
pub fn weekday(lang: Lang, day_of_week: u8) -> &'static str {
    timetable::calendar::weekday(language(lang), day_of_week)
}

/// Returns the language for texts of a timetable.
pub fn language(lang: Lang) -> timetable::calendar::Lang {
    lang.pick(timetable::calendar::Lang::En, timetable::calendar::Lang::Zh)
}
