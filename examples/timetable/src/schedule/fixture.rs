//! Short ways to write schedules in tests.
use super::{
    EventType, Level, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source, SubjectType,
    TaskClass, Window,
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
        ..ScheduleState::default()
    }
}

/// Returns a class that allows everything and whose profile is complete and easy.
pub(crate) fn class(id: u32) -> TaskClass {
    TaskClass {
        id,
        name: format!("Class {id}"),
        allow_filler_course: true,
        subject_type: Some(SubjectType::Mixed),
        difficulty_level: Some(Level::Low),
        cognitive_intensity: Some(Level::Low),
        ..TaskClass::default()
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
        source_id: format!("item-{state_id}"),
        name: format!("Item {state_id}"),
        category: format!("Class {class}"),
        task_class_id: Some(class),
        task_order: order,
        ..ScheduleTask::default()
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
