//! The weeks, and the places that were left, as one standalone picture.
mod label;
mod panel;

#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::schedule::{ScheduleState, Sections};

use crate::lang::Lang;
use label::escaped;
use panel::Panel;

/// The options for drawing two schedules.
#[derive(Debug, Clone)]
pub struct Picture<'a> {
    /// The heading.
    pub title: &'a str,
    /// The times at which the sections of a day begin and end.
    pub sections: &'a Sections,
    /// The language of headings.
    pub lang: Lang,
}

const MARGIN: u32 = 24;
const GAP: u32 = 32;
const TOP: u32 = 76;
/// The most weeks next to each other.
const COLUMNS: u32 = 2;
const WEEK_TITLE: u32 = 30;

/// A colour to fill with, and a darker one for border and text.
#[derive(Debug, Clone, Copy)]
struct Colour {
    fill: &'static str,
    ink: &'static str,
}

const COURSE: Colour = Colour {
    fill: "#eceef1",
    ink: "#4b5563",
};

/// The colours of classes, distinct also in print and for most people with colour blindness; the
/// names are shown as well.
const CLASSES: [Colour; 8] = [
    Colour {
        fill: "#cfe3ff",
        ink: "#1e4fa3",
    },
    Colour {
        fill: "#ffe0c2",
        ink: "#9a4a0b",
    },
    Colour {
        fill: "#cdefd6",
        ink: "#17653a",
    },
    Colour {
        fill: "#e6d9ff",
        ink: "#5b34a6",
    },
    Colour {
        fill: "#ffd6e5",
        ink: "#9c2253",
    },
    Colour {
        fill: "#c9f0ee",
        ink: "#0b6661",
    },
    Colour {
        fill: "#fbeeb0",
        ink: "#735900",
    },
    Colour {
        fill: "#ecdccb",
        ink: "#6b4426",
    },
];

fn colour(class: Option<u32>) -> Colour {
    let class = class.and_then(|id| usize::try_from(id).ok()?.checked_sub(1));
    let index = class.map(|index| index % CLASSES.len());
    index
        .and_then(|index| CLASSES.get(index))
        .copied()
        .unwrap_or(COURSE)
}

impl Picture<'_> {
    /// Draws all weeks of `after`, two in a row. Courses are grey, each class has its colour. What
    /// lies elsewhere than in `before` is outlined, and where it lay there is dashed.
    pub fn draw(&self, before: &ScheduleState, after: &ScheduleState) -> String {
        let mut weeks: Vec<u16> = after.window.days.iter().map(|day| day.week).collect();
        weeks.dedup();
        let step = WEEK_TITLE + Panel::height(after.window.sections.count());
        let count = u32::try_from(weeks.len()).unwrap_or(0);
        let columns = count.clamp(1, COLUMNS);
        let width = 2 * MARGIN + columns * Panel::WIDTH + (columns - 1) * GAP;
        let height = TOP + count.div_ceil(columns) * step + MARGIN;
        let mut svg = String::new();
        self.begin(&mut svg, width, height, after);
        for (week, place) in weeks.into_iter().zip(0_u32..) {
            let title = self
                .lang
                .pick(format!("Week {week}"), format!("第 {week} 周"));
            let x = MARGIN + place % columns * (Panel::WIDTH + GAP);
            let y = TOP + place / columns * step;
            text(&mut svg, x, y + WEEK_TITLE - 9, 13, "#6b7280", &title, true);
            let panel = Panel {
                picture: self,
                state: after,
                before,
                week,
                x,
                y: y + WEEK_TITLE,
            };
            panel.draw(&mut svg);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn begin(&self, svg: &mut String, width: u32, height: u32, state: &ScheduleState) {
        let title = escaped(self.title);
        push(
            svg,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"system-ui, 'Segoe UI', \
             'Helvetica Neue', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', \
             sans-serif\">\n<title>{title}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
            ),
        );
        text(svg, MARGIN, 34, 20, "#111827", self.title, true);
        self.legend(svg, state);
    }

    fn legend(&self, svg: &mut String, state: &ScheduleState) {
        let moved = "stroke=\"#111827\" stroke-width=\"2.2\"";
        let plain = |colour: Colour| format!("stroke=\"{}\" stroke-opacity=\"0.5\"", colour.ink);
        let mut entries = vec![(self.lang.pick("course", "课程"), COURSE, plain(COURSE))];
        for class in &state.task_classes {
            let colour = colour(Some(class.id));
            entries.push((&class.name, colour, plain(colour)));
        }
        let white = Colour {
            fill: "#ffffff",
            ink: "#111827",
        };
        entries.push((self.lang.pick("moved", "移动过"), white, moved.to_owned()));
        let old = format!("{moved} stroke-dasharray=\"4 3\"");
        entries.push((self.lang.pick("moved away", "原位置"), white, old));
        let mut x = MARGIN;
        for (name, colour, stroke) in entries {
            let fill = colour.fill;
            push(
                svg,
                format_args!(
                    "<rect x=\"{x}\" y=\"48\" width=\"16\" height=\"12\" rx=\"3\" fill=\"{fill}\" \
                 {stroke}/>\n"
                ),
            );
            text(svg, x + 22, 59, 12, "#374151", name, false);
            x += 22 + label::pixels(name, 12) + 22;
        }
    }
}

/// Appends a piece. Writing to a string cannot fail.
fn push(svg: &mut String, piece: std::fmt::Arguments<'_>) {
    svg.write_fmt(piece).expect("a string takes everything");
}

fn text(svg: &mut String, x: u32, y: u32, size: u32, colour: &str, content: &str, bold: bool) {
    let weight = if bold { " font-weight=\"600\"" } else { "" };
    let content = escaped(content);
    push(
        svg,
        format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{weight}>{content}</text>\n"
        ),
    );
}
