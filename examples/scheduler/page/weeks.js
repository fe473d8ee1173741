// A schedule as a table of weeks. Nothing here touches the document.
export const weeks = (schedule) => [...new Set(schedule.window.days.map((day) => day.week))].sort((a, b) => a - b);

// The week that a schedule opens with: today's, or the next one in which something lies.
export function opening(schedule, today) {
  const lies = schedule.tasks.flatMap(({ slots }) => slots.map(({ day }) => day));
  const next = schedule.window.days.find(({ day_index }) => day_index >= (today?.day_index ?? 1) && lies.includes(day_index));
  return next?.week ?? today?.week ?? weeks(schedule)[0] ?? 1;
}

// The days of a week, each with what lies in its sections: a task where it begins, with how many
// rows it takes, and a mark where it goes on.
export function days(schedule, week, count = 12) {
  return schedule.window.days.filter((day) => day.week === week).map((day) => {
    const sections = Array(count).fill(null);
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

// The months of a schedule, each with its days in weeks from Monday on; a day outside of the window
// is none. What lies on a day is in the order of time.
export function months(schedule) {
  const found = new Map();
  for (const day of schedule.window.days.filter(({ date }) => date)) {
    const month = day.date.slice(0, 7);
    if (!found.has(month)) found.set(month, new Map());
    const rows = found.get(month);
    if (!rows.has(day.week)) rows.set(day.week, Array(7).fill(null));
    const there = schedule.tasks.flatMap((task) => task.slots.filter((slot) => slot.day === day.day_index).map((slot) => ({ task, slot })));
    rows.get(day.week)[day.day_of_week - 1] = { ...day, there: there.sort((a, b) => a.slot.slot_start - b.slot.slot_start) };
  }
  return [...found].map(([month, rows]) => ({ month, weeks: [...rows.values()] }));
}

// What lies elsewhere than it lay before, in the order of time: where it was, and where it is.
export function lines(original, schedule) {
  const before = new Map((original?.tasks ?? []).map((task) => [task.state_id, task.slots]));
  const start = ({ slots: [first] }) => (first ? first.day * 1000 + first.slot_start : Infinity);
  const was = (task) => before.get(task.state_id) ?? [];
  return schedule.tasks
    .filter((task) => JSON.stringify(was(task)) !== JSON.stringify(task.slots))
    .sort((a, b) => start(a) - start(b))
    .map((task) => ({ task, before: was(task) }));
}

// The call that moves or places a task.
export function change(task, day, section) {
  return task.slots.length
    ? { name: 'move', arguments: { task_id: task.state_id, new_day: day, new_slot_start: section } }
    : { name: 'place', arguments: { task_id: task.state_id, day, slot_start: section } };
}

// Where a task that is dropped on a section begins: one of two sections fills a pair of them.
export const begin = (task, section, count) => Math.max(1, Math.min(
  task.duration === 2 && count % 2 === 0 ? section - ((section + 1) % 2) : section, count - (task.duration ?? 1) + 1));

// A class file with an item added, changed or taken out; the old one stays as it is. `at` names the
// item that is changed: its class, and its place among the items of that. `to` is none if it goes.
export function edited(file, at, to) {
  const classes = (file.classes ?? []).map((it) => ({ ...it, items: [...it.items] }));
  const plain = (item) => (Object.keys(item).length === 1 ? item.content : item);
  const own = at && classes.find(({ name }) => name === at.class);
  const stays = own && to && to.class === at.class;
  if (own) own.items.splice(at.nth, 1, ...(stays ? [plain(to.item)] : []));
  if (to && !stays) {
    let into = classes.find(({ name }) => name === to.class);
    if (!into) classes.push(into = { name: to.class, items: [] });
    into.items.push(plain(to.item));
  }
  // The number of sections follows the items.
  for (const [nth, it] of classes.entries()) {
    const had = file.classes?.[nth]?.items.length ?? 0;
    if (it.total_slots && it.items.length !== had) it.total_slots = Math.max(1, it.total_slots + 2 * (it.items.length - had));
  }
  return { ...file, classes: classes.filter(({ items }) => items.length) };
}

// The item of a class file behind a task, with its class and its place there.
export function itemOf(file, task) {
  const [, name, number] = task.source_id?.match(/^(.*)\/(\d+)$/) ?? [];
  const items = file?.classes?.find((it) => it.name === name)?.items;
  const all = (items ?? []).map((item) => (typeof item === 'string' ? { content: item } : item));
  // An item may name its own place in the order, so that its text decides.
  const nth = all[number - 1]?.content === task.name ? number - 1 : all.findIndex(({ content }) => content === task.name);
  return nth < 0 ? null : { class: name, nth, item: all[nth] };
}

// A name, and what is left of it when words are dropped from its end, the longest first.
export function shorter(name, lang) {
  const words = [...new Intl.Segmenter(lang, { granularity: 'word' }).segment(name)].filter((it) => it.isWordLike);
  const ends = words.map(({ index, segment }) => index + segment.length).slice(0, -1).reverse();
  return [name, ...ends.map((end) => `${name.slice(0, end)}…`)];
}
