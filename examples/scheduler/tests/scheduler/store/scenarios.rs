//! The scenarios that every store has to pass.
use std::sync::Arc;

use scheduler::{
    schedule::{Change, PlacementStatus, ScheduleState, Sections, Slot, Terms, differences},
    store::{
        Calendar, ClassItem, ClassWrite, Conflict, MemoryNote, NoteKind, ScheduleStore,
        ScheduleStoreError, StaleFact, StoreReceipt, StoreWrite,
    },
};

use crate::common::{CHOIR, FIRST, GYM, LECTURE, SECOND, SEMINAR, week};

pub(crate) type Store = Arc<dyn ScheduleStore>;

pub(crate) const NAME: &str = "spring";

/// Returns the small week without the overlapping lecture, so that changes do not conflict with it.
pub(crate) fn tidy() -> ScheduleState {
    let mut week = week();
    week.tasks.retain(|task| task.state_id != LECTURE);
    week
}

pub(crate) fn at(task: u32, slot: Slot, host: Option<u32>) -> Change {
    Change::Place {
        task,
        slots: vec![slot],
        host,
        status: PlacementStatus::Existing,
    }
}

/// Returns the schedule after these changes, and the write that stores them.
pub(crate) fn changed(before: &ScheduleState, changes: &[Change]) -> (ScheduleState, StoreWrite) {
    let mut after = before.clone();
    for change in changes {
        after.apply(change);
    }
    let changes = differences(before, &after);
    (after, StoreWrite::Changes { changes })
}

pub(crate) async fn filled(store: &Store) -> ScheduleState {
    let schedule = tidy();
    let write = StoreWrite::Import {
        schedule: schedule.clone(),
    };
    let receipt = store.write(NAME, "import", &write).await.unwrap();
    assert_eq!(receipt, StoreReceipt::Stored);
    schedule
}

async fn lying(store: &Store) -> ScheduleState {
    store.read(NAME).await.unwrap().unwrap().schedule
}

/// An imported schedule is read unchanged, is imported only once, and belongs to its calendar
/// alone.
pub(crate) async fn a_schedule_is_read_as_it_was_imported(store: Store) {
    assert_eq!(store.read(NAME).await.unwrap(), None);
    let mut schedule = week();
    schedule.apply(&at(SECOND, Slot::new(2, 3, 3), Some(SEMINAR)));
    let write = StoreWrite::Import {
        schedule: schedule.clone(),
    };
    for _ in 0..2 {
        let receipt = store.write(NAME, "import", &write).await.unwrap();
        assert_eq!(receipt, StoreReceipt::Stored);
    }
    let found = Calendar {
        schedule,
        notes: vec![],
        reminders: vec![],
    };
    assert_eq!(store.read(NAME).await.unwrap(), Some(found));
    assert_eq!(store.read("autumn").await.unwrap(), None);
    let receipt = store.write(NAME, "again", &write).await.unwrap();
    let issues = vec!["the calendar has a schedule already".to_owned()];
    assert_eq!(receipt, StoreReceipt::Refused { issues });
}

/// Items and entries, alone and inside a course: placed, moved and taken away, in one write.
pub(crate) async fn all_kinds_of_changes_are_stored(store: Store) {
    let before = filled(&store).await;
    let (after, write) = changed(
        &before,
        &[
            at(FIRST, Slot::new(2, 3, 4), Some(SEMINAR)),
            at(SECOND, Slot::new(5, 1, 2), None),
            at(GYM, Slot::new(4, 5, 6), None),
            Change::Unplace { task: CHOIR },
        ],
    );
    let receipt = store.write(NAME, "1", &write).await.unwrap();
    assert_eq!(receipt, StoreReceipt::Stored);
    assert_eq!(lying(&store).await, after);
    // And the way back, from inside the course to a place alone.
    let (back, write) = changed(
        &after,
        &[
            at(FIRST, Slot::new(6, 1, 2), None),
            Change::Unplace { task: SECOND },
        ],
    );
    let receipt = store.write(NAME, "2", &write).await.unwrap();
    assert_eq!(receipt, StoreReceipt::Stored);
    assert_eq!(lying(&store).await, back);
}

/// The terms of items and classes and the times of sections are read as they were written.
pub(crate) async fn terms_and_section_times_are_stored(store: Store) {
    let mut schedule = tidy();
    let halves = (8..20).flat_map(|hour| {
        let next = hour + 1;
        [
            format!("{hour:02}:00-{hour:02}:30"),
            format!("{hour:02}:30-{next:02}:00"),
        ]
    });
    let halves: Vec<String> = halves.collect();
    schedule.window.sections = Sections::parse(&halves).expect("24 half hours");
    let terms = Terms {
        minutes: Some(90),
        earliest: Some("2026-09-15".into()),
        after: vec![SECOND],
        ..Terms::default()
    };
    schedule.task_classes[0].terms.minutes = Some(30);
    for task in &mut schedule.tasks {
        if task.state_id == FIRST {
            task.terms = terms.clone();
        }
    }
    let write = StoreWrite::Import {
        schedule: schedule.clone(),
    };
    let stored = store.write(NAME, "import", &write).await.expect("written");
    assert_eq!(stored, StoreReceipt::Stored);
    let read = store.read(NAME).await.expect("read").expect("there");
    assert_eq!(read.schedule, schedule);
}

/// A repeat gets the first answer, and a key belongs to one write only.
pub(crate) async fn a_repeat_is_recognised_by_its_key(store: Store) {
    let before = filled(&store).await;
    let (after, write) = changed(&before, &[at(FIRST, Slot::new(1, 3, 4), None)]);
    for _ in 0..3 {
        let receipt = store.write(NAME, "1", &write).await.unwrap();
        assert_eq!(receipt, StoreReceipt::Stored);
        assert_eq!(lying(&store).await, after);
    }
    let (_, other) = changed(&after, &[at(SECOND, Slot::new(1, 5, 6), None)]);
    let error = store.write(NAME, "1", &other).await.unwrap_err();
    assert!(
        matches!(error, ScheduleStoreError::KeyReused { .. }),
        "{error:?}"
    );
    assert_eq!(lying(&store).await, after);
}

/// A writer with an outdated view gets a conflict, and nothing at all is written; the key stays
/// free.
pub(crate) async fn a_conflict_names_what_changed_and_writes_nothing(store: Store) {
    let before = filled(&store).await;
    let (mine, write) = changed(
        &before,
        &[
            at(FIRST, Slot::new(1, 3, 4), None),
            at(GYM, Slot::new(3, 3, 4), None),
        ],
    );
    let other = [
        at(SECOND, Slot::new(1, 4, 5), None),
        at(GYM, Slot::new(3, 5, 6), None),
    ];
    let (theirs, others) = changed(&before, &other);
    store.write(NAME, "theirs", &others).await.unwrap();
    let StoreReceipt::Conflict(conflict) = store.write(NAME, "mine", &write).await.unwrap() else {
        panic!("others were faster");
    };
    let names: Vec<_> = conflict.changed.iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "\"Gym\" lies on day 3, section 5 to 6 now, not on day 3, section 1 to 2",
            "the place for \"Chapter 1\" is taken by \"Chapter 2\"",
        ]
    );
    assert_eq!(lying(&store).await, theirs);
    // After they have moved back, the write succeeds.
    let (_, back) = changed(
        &theirs,
        &[
            Change::Unplace { task: SECOND },
            at(GYM, Slot::new(3, 1, 2), None),
        ],
    );
    store.write(NAME, "back", &back).await.unwrap();
    let receipt = store.write(NAME, "mine", &write).await.unwrap();
    assert_eq!(receipt, StoreReceipt::Stored);
    let placed = |state: &ScheduleState| state.task(FIRST).unwrap().slots.clone();
    assert_eq!(placed(&lying(&store).await), placed(&mine));
}

/// A course holds one guest, and a removed task cannot be placed.
pub(crate) async fn hosts_and_tasks_have_to_be_there(store: Store) {
    let before = filled(&store).await;
    let inside = |task| changed(&before, &[at(task, Slot::new(2, 3, 4), Some(SEMINAR))]).1;
    store.write(NAME, "first", &inside(FIRST)).await.unwrap();
    let receipt = store.write(NAME, "second", &inside(SECOND)).await.unwrap();
    let no_room = StaleFact::NoHost {
        task: SECOND,
        name: "Chapter 2".into(),
        host: "event-2".into(),
    };
    let changed_ = vec![no_room];
    assert_eq!(
        receipt,
        StoreReceipt::Conflict(Conflict { changed: changed_ })
    );
    let mut other = before.clone();
    other.tasks[2].source_id = "item-of-another".into();
    let (_, write) = changed(&other, &[at(FIRST, Slot::new(1, 3, 4), None)]);
    let receipt = store.write(NAME, "stranger", &write).await.unwrap();
    let gone = StaleFact::Gone {
        task: FIRST,
        name: "Chapter 1".into(),
    };
    let changed = vec![gone];
    assert_eq!(receipt, StoreReceipt::Conflict(Conflict { changed }));
}

/// A class comes with its items, and stays with those that it still has.
pub(crate) async fn a_class_is_written_with_its_items(store: Store) {
    filled(&store).await;
    let mut class = tidy().task_classes.remove(0);
    (class.id, class.name, class.total_slots) = (0, "Essay".into(), 6);
    let item = |task, order, content: &str| ClassItem {
        task,
        order,
        content: content.into(),
        terms: None,
    };
    let write = StoreWrite::Class(ClassWrite {
        class: class.clone(),
        items: vec![item(None, 1, "Outline"), item(None, 2, "Draft")],
        dropped: [].into(),
        restored: [].into(),
    });
    let first = store.write(NAME, "class", &write).await.unwrap();
    assert_eq!(store.write(NAME, "class", &write).await.unwrap(), first);
    let StoreReceipt::Class(written) = first else {
        panic!("a class is answered with what it became");
    };
    assert!(written.created);
    let ids: Vec<_> = written.items.iter().map(|item| item.state_id).collect();
    assert_eq!(ids, [7, 8]);
    let found = lying(&store).await;
    assert_eq!(found.class(written.class.id), Some(&written.class));
    let kept: Vec<_> = found
        .tasks
        .iter()
        .filter(|task| ids.contains(&task.state_id))
        .collect();
    assert_eq!(kept, written.items.iter().collect::<Vec<_>>());
    // One item goes, one stays under another name, one is new.
    class.id = written.class.id;
    let write = StoreWrite::Class(ClassWrite {
        class: class.clone(),
        items: vec![item(Some(8), 1, "First draft"), item(None, 2, "Polish")],
        dropped: [].into(),
        restored: [].into(),
    });
    store.write(NAME, "change", &write).await.unwrap();
    let found = lying(&store).await;
    let names: Vec<_> = found
        .tasks
        .iter()
        .filter(|task| task.task_class_id == Some(class.id))
        .map(|task| (task.name.as_str(), task.task_order, task.duration))
        .collect();
    assert_eq!(names, [("First draft", 1, 3), ("Polish", 2, 3)]);
    // An item with a place cannot be removed, and a missing class cannot be changed.
    let (_, place) = changed(&found, &[at(8, Slot::new(1, 3, 4), None)]);
    store.write(NAME, "place", &place).await.unwrap();
    let forgetful = ClassWrite {
        class: class.clone(),
        items: vec![item(Some(99), 1, "Polish")],
        dropped: [].into(),
        restored: [].into(),
    };
    let refused = store
        .write(NAME, "forgets", &StoreWrite::Class(forgetful))
        .await
        .unwrap();
    let issues = vec![
        "item 99 is not of this class".to_owned(),
        "item 8 \"First draft\" has a place and cannot be left out; unplace it first".into(),
    ];
    assert_eq!(refused, StoreReceipt::Refused { issues });
    class.id = 77;
    let stranger = ClassWrite {
        class,
        items: vec![item(None, 1, "Polish")],
        dropped: [].into(),
        restored: [].into(),
    };
    let refused = store
        .write(NAME, "stranger", &StoreWrite::Class(stranger))
        .await
        .unwrap();
    let issues = vec!["there is no class 77; there are: 1, 2, 3, 4; 0 makes a new one".to_owned()];
    assert_eq!(refused, StoreReceipt::Refused { issues });
}

/// Notes are kept once each, in their order, and go with their calendar.
pub(crate) async fn notes_are_kept_and_a_calendar_goes_as_a_whole(store: Store) {
    let note = |kind, text: &str| MemoryNote {
        kind,
        text: text.into(),
    };
    let notes = [
        note(NoteKind::Note, "牛奶"),
        note(NoteKind::Task, "call the dentist"),
    ];
    for (key, note) in ["b", "a", "a"]
        .into_iter()
        .zip([&notes[0], &notes[1], &notes[1]])
    {
        let receipt = store
            .write(NAME, key, &StoreWrite::Note(note.clone()))
            .await;
        assert_eq!(receipt.unwrap(), StoreReceipt::Stored);
    }
    let schedule = filled(&store).await;
    let found = Calendar {
        schedule,
        notes: notes.into(),
        reminders: vec![],
    };
    assert_eq!(store.read(NAME).await.unwrap(), Some(found));
    store
        .write(
            "other",
            "note",
            &StoreWrite::Note(note(NoteKind::Note, "stays")),
        )
        .await
        .unwrap();
    for _ in 0..2 {
        store.delete(NAME).await.unwrap();
        assert_eq!(store.read(NAME).await.unwrap(), None);
    }
    assert_eq!(store.read("other").await.unwrap().unwrap().notes.len(), 1);
    // Nothing is left over that a new calendar of the name would find.
    let schedule = filled(&store).await;
    assert_eq!(lying(&store).await, schedule);
}

/// Of many writers of one place, one gets it.
pub(crate) async fn of_many_writers_one_gets_a_place(store: Store) {
    let before = filled(&store).await;
    let writes = (0..8_u32).map(|n| {
        let (store, before) = (store.clone(), before.clone());
        tokio::spawn(async move {
            let task = if n % 2 == 0 { FIRST } else { SECOND };
            let (_, write) = changed(&before, &[at(task, Slot::new(1, 3, 4), None)]);
            store.write(NAME, &n.to_string(), &write).await.unwrap()
        })
    });
    let writes: Vec<_> = writes.collect();
    let mut stored = 0;
    for write in writes {
        stored += usize::from(write.await.unwrap() == StoreReceipt::Stored);
    }
    assert_eq!(stored, 1);
    let found = lying(&store).await;
    let placed = [FIRST, SECOND].map(|task| found.task(task).unwrap().is_placed());
    assert_eq!(placed.into_iter().filter(|placed| *placed).count(), 1);
}

/// One test for each scenario, over the stores that `$open` makes.
macro_rules! every_scenario {
    ($open:expr) => {
        crate::store::scenarios::every_scenario!($open;
            a_schedule_is_read_as_it_was_imported
            all_kinds_of_changes_are_stored
            terms_and_section_times_are_stored
            a_repeat_is_recognised_by_its_key
            a_conflict_names_what_changed_and_writes_nothing
            hosts_and_tasks_have_to_be_there
            a_class_is_written_with_its_items
            notes_are_kept_and_a_calendar_goes_as_a_whole
            of_many_writers_one_gets_a_place);
    };
    ($open:expr; $($name:ident)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                if let Some((store, _kept)) = $open.await {
                    crate::store::scenarios::$name(store).await;
                }
            }
        )*
    };
}
pub(crate) use every_scenario;
