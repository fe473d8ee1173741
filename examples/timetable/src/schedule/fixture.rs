//! Short ways to write schedules in tests.
use super::{
    EventType, Level, Marks, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source, Strategy,
    SubjectType, TaskClass, Terms, Window,
};

/// Returns a window of days 1 to `days`; day 1 is Monday, 14 September 2026, in week 1.
pub(crate) fn window(days: u16) -> Window {
    Window::starting(jiff::civil::date(2026, 9, 14), days)
}

/// Returns a window with tasks, and a class for every class id in use.
pub(crate) fn state(days: u16, tasks: Vec<ScheduleTask>) -> ScheduleState {
    let mut ids: Vec<u32> = tasks.iter().filter_map(|task| task.task_class_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let task_classes = ids.into_iter().map(class).collect();
    ScheduleState {
        window: window(days),
        tasks,
        task_classes,
        preferences: None,
    }
}

/// Returns a class that allows everything and whose profile is complete and easy.
pub(crate) fn class(id: u32) -> TaskClass {
    TaskClass {
        id,
        name: format!("Class {id}"),
        strategy: Strategy::Steady,
        total_slots: 0,
        allow_filler_course: true,
        excluded_slots: vec![],
        excluded_days_of_week: vec![],
        start_date: None,
        end_date: None,
        subject_type: Some(SubjectType::Mixed),
        difficulty_level: Some(Level::Low),
        cognitive_intensity: Some(Level::Low),
        terms: Terms::default(),
    }
}

/// Returns a demanding class.
pub(crate) fn heavy(id: u32, subject: SubjectType) -> TaskClass {
    TaskClass {
        subject_type: Some(subject),
        difficulty_level: Some(Level::High),
        ..class(id)
    }
}

/// Returns a pending item of two sections.
pub(crate) fn item(state_id: u32, class: u32, order: u32) -> ScheduleTask {
    ScheduleTask {
        state_id,
        source: Source::TaskItem,
        source_id: format!("item-{state_id}"),
        name: format!("Item {state_id}"),
        category: format!("Class {class}"),
        status: PlacementStatus::Pending,
        locked: false,
        slots: vec![],
        duration: 2,
        task_class_id: Some(class),
        task_order: order,
        can_embed: false,
        embedded_by: None,
        embed_host: None,
        event_type: EventType::Task,
        marks: Marks::default(),
        terms: Terms::default(),
    }
}

/// Returns the same item, already suggested in a slot.
pub(crate) fn suggested(state_id: u32, class: u32, order: u32, slot: Slot) -> ScheduleTask {
    ScheduleTask {
        status: PlacementStatus::Suggested,
        slots: vec![slot],
        duration: slot.sections(),
        ..item(state_id, class, order)
    }
}

/// Returns a course that no item can be inside.
pub(crate) fn course(state_id: u32, name: &str, day: u16, from: u8, to: u8) -> ScheduleTask {
    ScheduleTask {
        source: Source::Event,
        source_id: format!("event-{state_id}"),
        name: name.to_owned(),
        category: name.to_owned(),
        status: PlacementStatus::Existing,
        locked: true,
        slots: vec![Slot::new(day, from, to)],
        duration: to + 1 - from,
        task_class_id: None,
        event_type: EventType::Course,
        ..item(state_id, 0, 0)
    }
}

/// Returns a course that allows a guest.
pub(crate) fn host(state_id: u32, name: &str, day: u16, from: u8, to: u8) -> ScheduleTask {
    ScheduleTask {
        locked: false,
        can_embed: true,
        ..course(state_id, name, day, from, to)
    }
}

/// Returns a task that was in the calendar before.
pub(crate) fn errand(state_id: u32, name: &str, day: u16, from: u8, to: u8) -> ScheduleTask {
    ScheduleTask {
        locked: false,
        event_type: EventType::Task,
        ..course(state_id, name, day, from, to)
    }
}
