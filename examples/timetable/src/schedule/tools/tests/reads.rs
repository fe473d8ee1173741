use crate::schedule::fixture::{class, course, errand, host, item, state, suggested};
use crate::schedule::tools::{
    DayKind, FindFreeArgs, GetTaskInfoArgs, ListTasksArgs, QueryAvailableSlotsArgs, QueryRangeArgs,
    QueryTargetTasksArgs, SlotType, StatusFilter, find_free, get_overview, get_task_info,
    list_tasks, query_available_slots, query_range, query_target_tasks,
};
use crate::schedule::{ScheduleState, Slot, TaskClass, WriteRefusal};

fn week() -> ScheduleState {
    let mut now = state(
        2,
        vec![
            course(1, "Physics", 1, 1, 4),
            host(2, "Music", 2, 5, 8),
            errand(3, "Gym", 1, 7, 7),
            item(4, 1, 2),
            suggested(5, 1, 1, Slot::new(1, 9, 10)),
        ],
    );
    now.task_classes = vec![TaskClass {
        total_slots: 4,
        excluded_slots: vec![1, 6],
        excluded_days_of_week: vec![7],
        start_date: Some("2026-09-14".into()),
        end_date: Some("2026-12-01".into()),
        ..class(1)
    }];
    now
}

#[test]
fn sch_72_overview_shows_days_load_hosts_pending_and_class_rules() {
    assert_eq!(
        get_overview(&week()).text,
        "2 days of 12 sections; tasks: 3 existing, 1 suggested, 1 pending.\n\
         day 1 (week 1, Mon 2026-09-14): 1-4 #1 \"Physics\" [existing, locked]; 7 #3 \"Gym\" \
         [existing]; 9-10 #5 \"Item 5\" [suggested]; free 5-6, 8, 11-12 [7/12 taken]\n\
         day 2 (week 1, Tue 2026-09-15): 5-8 #2 \"Music\" [existing, can hold a task]; \
         free 1-4, 9-12 [4/12 taken]\n\
         can hold a task: #2 \"Music\" at day 2, sections 5-8\n\
         pending: #4 \"Item 4\" [pending], 2 sections\n\
         class 1 \"Class 1\": spread evenly; 4 sections in all; 1 of 2 items placed; may lie \
         inside courses; never in sections 1-2, 11-12; never on days of the week 7 (1 is \
         Monday); from 2026-09-14 on; until 2026-12-01; items keep their order"
    );
}

#[test]
fn sch_72_overview_of_a_long_window_leaves_the_tasks_of_days_out() {
    let now = state(31, vec![course(1, "Physics", 1, 1, 4)]);
    let text = get_overview(&now).text;
    assert!(
        text.contains("day 1 (week 1, Mon 2026-09-14): 4/12 taken; free 5-12\n"),
        "{text}"
    );
    assert!(!text.contains("Physics"), "{text}");
}

#[test]
fn sch_73_query_range_shows_pairs_or_sections() {
    let now = week();
    let all = QueryRangeArgs {
        day: 1,
        slot_start: None,
        slot_end: None,
    };
    assert_eq!(
        query_range(&now, &all).unwrap().text,
        "day 1 (week 1, Mon 2026-09-14)\n1-2: #1 \"Physics\" [existing, locked]\n\
         3-4: #1 \"Physics\" [existing, locked]\n5-6: free\n7-8: 7 only #3 \"Gym\" [existing]\n\
         9-10: #5 \"Item 5\" [suggested]\n11-12: free\nfree: 5-6, 8, 11-12"
    );
    let some = QueryRangeArgs {
        day: 2,
        slot_start: Some(4),
        slot_end: Some(5),
    };
    assert_eq!(
        query_range(&now, &some).unwrap().text,
        "day 2 (week 1, Tue 2026-09-15)\n4: free\n5: #2 \"Music\" [existing, can hold a task]"
    );
    for (slot_start, slot_end) in [(Some(0), None), (Some(5), Some(4)), (Some(1), Some(13))] {
        let refused = query_range(
            &now,
            &QueryRangeArgs {
                day: 1,
                slot_start,
                slot_end,
            },
        );
        assert!(
            matches!(refused, Err(WriteRefusal::Argument { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn sch_74_find_free_lists_free_ranges_then_hosts_then_the_largest() {
    let now = week();
    let find = |duration, day| {
        let args = FindFreeArgs {
            duration,
            day,
            day_start: None,
            day_end: None,
        };
        find_free(&now, &args).map(|reply| reply.text)
    };
    assert_eq!(
        find(4, None).unwrap(),
        "free ranges of at least 4 sections:\nday 2, sections 1-4\nday 2, sections 9-12\n\
         courses that can hold the task:\nday 2, sections 5-8 inside #2 \"Music\""
    );
    assert_eq!(
        find(3, Some(1)).unwrap(),
        "no free range of 3 sections; the largest free ranges:\n\
         day 1 (week 1, Mon 2026-09-14): day 1, sections 5-6"
    );
    assert!(matches!(
        find(0, None),
        Err(WriteRefusal::Argument {
            argument: "duration",
            ..
        })
    ));
    assert_eq!(
        find(1, Some(3)),
        Err(WriteRefusal::UnknownDay { day: 3, last: 2 })
    );
}

#[test]
fn sch_75_list_tasks_filters_by_category_and_status() {
    let now = week();
    let list = |category: Option<&str>, status| {
        list_tasks(
            &now,
            &ListTasksArgs {
                category: category.map(Into::into),
                status,
            },
        )
        .text
    };
    assert_eq!(
        list(Some("Class 1"), StatusFilter::All),
        "#4 \"Item 4\" [pending] Class 1, 2 sections, order 2 in class 1\n\
         #5 \"Item 5\" [suggested] Class 1, 2 sections, order 1 in class 1, at day 1, sections 9-10"
    );
    assert_eq!(
        list(None, StatusFilter::Pending),
        "#4 \"Item 4\" [pending] Class 1, 2 sections, order 2 in class 1"
    );
    assert_eq!(
        list(Some("Chess"), StatusFilter::All),
        "no such task; categories: Class 1, Gym, Music, Physics"
    );
}

#[test]
fn sch_76_task_info_tells_embedding_and_order() {
    let mut now = week();
    now.apply(&crate::schedule::Change::Place {
        task: 4,
        slots: vec![Slot::new(2, 5, 6)],
        host: Some(2),
        status: crate::schedule::PlacementStatus::Suggested,
    });
    let info = |task_id| {
        get_task_info(&now, &GetTaskInfoArgs { task_id })
            .unwrap()
            .text
    };
    assert_eq!(
        info(4),
        "#4 \"Item 4\" [suggested, inside #2] Class 1, 2 sections, order 2 in class 1, at day 2, \
         sections 5-6\nstatus: suggested\nfixed: no\nlies inside #2 \"Music\"\nmust begin after \
         day 1, section 10"
    );
    assert!(info(2).ends_with("holds #4 \"Item 4\""), "{}", info(2));
}

#[test]
fn arguments_with_unknown_names_are_refused() {
    let args = serde_json::from_str::<QueryRangeArgs>(r#"{"day": 1, "dya": 2}"#);
    assert!(args.is_err());
    let args: ListTasksArgs = serde_json::from_str("{}").unwrap();
    assert_eq!(args, ListTasksArgs::default());
}

#[test]
fn sch_82_available_slots_are_free_ones_first_then_embedded() {
    let now = week();
    let query = |args| query_available_slots(&now, &args).map(|reply| reply.text);
    let all = QueryAvailableSlotsArgs {
        span: 4,
        ..QueryAvailableSlotsArgs::default()
    };
    assert_eq!(
        query(all.clone()).unwrap(),
        "3 places of 4 sections:\nday 2, sections 1-4\nday 2, sections 9-12\n\
         day 2, sections 5-8 inside #2 \"Music\""
    );
    let free = QueryAvailableSlotsArgs {
        allow_embed: false,
        limit: 1,
        ..all.clone()
    };
    assert_eq!(
        query(free).unwrap(),
        "2 places of 4 sections, the first 1:\nday 2, sections 1-4"
    );
    let embedded = QueryAvailableSlotsArgs {
        span: 1,
        slot_types: vec![SlotType::Embedded],
        after_section: Some(5),
        before_section: Some(8),
        exclude_sections: vec![7],
        ..all.clone()
    };
    assert_eq!(
        query(embedded).unwrap(),
        "1 place of 1 section:\nday 2, section 6 inside #2 \"Music\""
    );
    let monday = QueryAvailableSlotsArgs {
        span: 2,
        day_of_week: vec![1],
        week: Some(1),
        section_from: Some(6),
        ..all.clone()
    };
    assert_eq!(
        query(monday).unwrap(),
        "1 place of 2 sections:\nday 1, sections 11-12"
    );
    let weekend = QueryAvailableSlotsArgs {
        day_scope: DayKind::Weekend,
        ..all.clone()
    };
    assert_eq!(query(weekend).unwrap(), "0 places of 4 sections:");
    for wrong in [
        QueryAvailableSlotsArgs {
            span: 13,
            ..all.clone()
        },
        QueryAvailableSlotsArgs {
            day_of_week: vec![8],
            ..all.clone()
        },
        QueryAvailableSlotsArgs {
            day: Some(3),
            ..all
        },
    ] {
        assert!(query(wrong.clone()).is_err(), "{wrong:?}");
    }
    let defaults: QueryAvailableSlotsArgs = serde_json::from_str("{}").unwrap();
    assert_eq!(defaults, QueryAvailableSlotsArgs::default());
}

#[test]
fn sch_83_target_tasks_are_filtered_by_status_category_and_days() {
    let now = week();
    let query = |args| query_target_tasks(&now, &args).map(|reply| reply.text);
    let suggested = QueryTargetTasksArgs::default();
    assert_eq!(
        query(suggested.clone()).unwrap(),
        "1 task:\n#5 \"Item 5\" [suggested] Class 1, 2 sections, order 1 in class 1, at day 1, \
         sections 9-10"
    );
    let elsewhere = QueryTargetTasksArgs {
        day: Some(2),
        ..suggested.clone()
    };
    assert_eq!(query(elsewhere).unwrap(), "0 tasks:");
    let all = QueryTargetTasksArgs {
        status: StatusFilter::All,
        limit: 1,
        ..suggested.clone()
    };
    let first = "#1 \"Physics\" [existing, locked] Physics, 4 sections, at day 1, sections 1-4";
    assert_eq!(
        query(all).unwrap(),
        format!("5 tasks, the first 1:\n{first}")
    );
    let unknown = QueryTargetTasksArgs {
        task_ids: vec![9],
        ..suggested
    };
    assert_eq!(query(unknown), Err(WriteRefusal::UnknownTask(9)));
}
