// A schedule as a table of weeks. Nothing here touches the document.
const SECTIONS = 12;

export const weeks = (schedule) => [...new Set(schedule.window.days.map((day) => day.week))].sort((a, b) => a - b);

// The days of a week, each with what lies in its sections: a task where it begins, with how many
// rows it takes, and a mark where it goes on.
export function days(schedule, week) {
  return schedule.window.days.filter((day) => day.week === week).map((day) => {
    const sections = Array(SECTIONS).fill(null);
    const there = schedule.tasks.flatMap((task) => task.slots.filter((slot) => slot.day === day.day_index).map((slot) => ({ task, slot })));
    // A guest is drawn inside its host.
    for (const { task, slot } of there.filter(({ task }) => task.embed_host === null || task.embed_host === undefined)) {
      if (sections[slot.slot_start - 1]) continue;
      const guest = there.find((it) => it.task.embed_host === task.state_id);
      const rows = slot.slot_end - slot.slot_start + 1;
      sections[slot.slot_start - 1] = { task, rows, guest: guest?.task ?? null };
      for (let nth = slot.slot_start; nth < slot.slot_end; nth += 1) sections[nth] = { continued: true };
    }
    return { ...day, sections };
  });
}

// What lies elsewhere than it lay before, in the order of time.
export function lines(original, schedule) {
  const before = new Map((original?.tasks ?? []).map((task) => [task.state_id, JSON.stringify(task.slots)]));
  const start = ({ slots: [first] }) => (first ? first.day * 100 + first.slot_start : 0);
  return schedule.tasks
    .filter((task) => task.slots.length && before.get(task.state_id) !== JSON.stringify(task.slots))
    .sort((a, b) => start(a) - start(b))
    .map((task) => ({ task }));
}

// The call that moves or places a task.
export function change(task, day, section) {
  return task.slots.length
    ? { name: 'move', arguments: { task_id: task.state_id, new_day: day, new_slot_start: section } }
    : { name: 'place', arguments: { task_id: task.state_id, day, slot_start: section } };
}
