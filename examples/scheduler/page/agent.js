// The scheduler's panel: the weeks, with what lies where, and what can be dragged elsewhere.
import { change, days, lines, weeks } from './weeks.js';

const WORDS = {
  en: {
    week: 'Week', weekTitle: (n) => `Week ${n}`, before: 'Earlier', after: 'Later', pending: 'To be placed', none: 'No schedule yet: say what you want to plan.',
    days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'], course: 'course', existing: 'kept', suggested: 'proposed', moved: 'just moved',
    how: 'Drag an item, or focus it, choose a place with the arrow keys and press Enter.', section: (n) => `section ${n}`,
    wish: (name, day, section) => `Move ${name} to ${day}, section ${section}.`, place: (name, day, section) => `Place ${name} on ${day}, section ${section}.`,
    atWork: 'The agent is at work: wait until it is done, or stop it.', first: 'Answer the open question first.',
    undo: 'Take the import back', undone: 'The last import is taken back.', kept: 'Nothing was replaced.',
    sample: 'These are the weeks of a sample. Import your own timetable to plan your own.',
    bring: 'Import…', bringing: 'An iCalendar file (.ics) with what you attend, a class file (.toml) with what you want to do, or both.', take: 'Export',
    brought: (courses, items) => `${courses} entries and ${items} items to be placed were imported.`,
    done: 'Placed in this conversation', at: (day, from, to) => `${day}, sections ${from}–${to}`,
  },
  zh: {
    week: '周视图', weekTitle: (n) => `第 ${n} 周`, before: '前一周', after: '后一周', pending: '待安排', none: '还没有日程：说说你想安排什么。',
    days: ['周一', '周二', '周三', '周四', '周五', '周六', '周日'], course: '课程', existing: '已确认', suggested: '建议', moved: '刚刚移动',
    how: '拖动任务，或选中后用方向键选择位置并按 Enter。', section: (n) => `第 ${n} 节`,
    wish: (name, day, section) => `把${name}移到${day}第 ${section} 节。`, place: (name, day, section) => `把${name}安排在${day}第 ${section} 节。`,
    atWork: '正在工作：请等待完成，或先停止。', first: '请先回答打开的问题。',
    undo: '撤销导入', undone: '已撤销上次导入。', kept: '没有替换任何内容。',
    sample: '这是示例日程。导入自己的课表即可安排自己的日程。',
    bring: '导入…', bringing: '日历文件（.ics，课程）、任务文件（.toml，要做的事），或两者。', take: '导出',
    brought: (courses, items) => `已导入 ${courses} 项课程和 ${items} 项待安排任务。`,
    done: '本次会话的安排', at: (day, from, to) => `${day} 第 ${from}–${to} 节`,
  },
};

function mount(root, desk) {
  const { element } = desk;
  const t = () => WORDS[desk.lang()];
  let [thread, state, week, target] = [null, null, 1, null];

  // What the conversation knows; before it has looked at the calendar, the calendar itself.
  // Of several that look at once the last one draws: an answer that comes late is an old one.
  let looking;
  function look() {
    const own = read(() => own);
    looking = own;
    return own;
  }

  async function read(self) {
    const of = thread;
    const read = of ? await desk.get(`threads/${encodeURIComponent(of)}/state`).catch(() => null) : null;
    let found = read?.state ?? null;
    if (!found?.schedule) {
      const { schedule, sample } = await desk.get('calendar').catch(() => ({ schedule: null }));
      found = { ...found, schedule, original: schedule, sample };
    }
    if (looking !== self()) return looking;
    if (of !== thread) return;
    state = found;
    draw();
  }

  async function bring(files) {
    const brought = {};
    for (const file of files) brought[/\.toml$/i.test(file.name) ? 'tasks' : 'courses'] = await file.text();
    try {
      const done = await agreed(brought);
      if (!done) {
        note.textContent = t().kept;
        return;
      }
      // What is imported is planned in a conversation of its own.
      desk.begin();
      await look();
      const remarks = done.remarks.map((remark) => element('span', { class: 'remark' }, remark));
      note.replaceChildren(t().brought(done.courses, done.items), ...remarks, element('button', { type: 'button', onclick: undo }, t().undo));
    } catch (error) {
      desk.show(note, error.message);
    }
  }

  // What was agreed to is replaced only if the person agrees to that, too.
  async function agreed(brought) {
    try {
      return await desk.put('calendar', brought);
    } catch (error) {
      if (error.type !== 'would_replace') throw error;
      return confirm(error.message) ? desk.put('calendar', { ...brought, replace: true }) : null;
    }
  }

  async function undo() {
    try {
      await desk.post('calendar/undo');
      desk.begin();
      await look();
      note.textContent = t().undone;
    } catch (error) {
      desk.show(note, error.message);
    }
  }

  async function take() {
    try {
      const link = element('a', { href: URL.createObjectURL(await desk.file('calendar.ics')), download: 'schedule.ics' });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      desk.show(note, error.message);
    }
  }

  const chosen = element('input', {
    type: 'file', multiple: true, accept: '.ics,.toml,text/calendar', class: 'unseen', tabindex: '-1', 'aria-hidden': 'true',
    onchange: () => { bring([...chosen.files]); chosen.value = ''; },
  });
  const files = () => element('div', { class: 'files' },
    element('button', { type: 'button', title: t().bringing, onclick: () => chosen.click() }, t().bring),
    element('button', { type: 'button', onclick: take }, t().take));

  const dayName = (day) => `${t().days[day.day_of_week - 1]}${day.date ? ` ${day.date}` : ` (${day.day_index})`}`;

  // A wish is said like any other, so it goes through the same tools, gates and questions.
  async function move(task, day, section) {
    const placed = task.slots.length > 0;
    const text = (placed ? t().wish : t().place)(task.name, dayName(day), section);
    const wanted = change(task, day.day_index, section);
    try {
      if (desk.running()) note.textContent = t().atWork;
      else if (!desk.busy()) await desk.say(text, { change: wanted });
      // In place of an answer to an open question: what was asked is asked anew afterwards.
      else if (!await desk.instead(text, { call: wanted })) note.textContent = t().first;
    } catch (error) {
      desk.show(note, error.message);
    }
  }

  function cell(day, section, task) {
    const drop = {
      'data-day': day.day_index, 'data-section': section,
      ondragover: (event) => { event.preventDefault(); event.currentTarget.classList.add('over'); },
      ondragleave: ({ currentTarget }) => currentTarget.classList.remove('over'),
      ondrop: (event) => {
        event.preventDefault();
        event.currentTarget.classList.remove('over');
        const dragged = state.schedule.tasks.find((it) => String(it.state_id) === event.dataTransfer.getData('text/plain'));
        if (dragged) move(dragged, day, section);
      },
    };
    if (!task) return element('td', drop);
    if (task.continued) return null;
    return element('td', { ...drop, rowspan: task.rows }, item(task.task, day, section, task.guest));
  }

  function item(task, day, section, guest) {
    const fixed = task.locked || task.event_type === 'course';
    const moved = state.moved.has(task.state_id);
    const how = [fixed ? t().course : t()[task.status] ?? '', moved ? t().moved : ''].filter(Boolean).join(', ');
    return element('div', {
      class: `item ${fixed ? 'course' : task.status} ${moved ? 'moved' : ''}`, 'data-task': task.state_id,
      ...(fixed ? {} : {
        draggable: 'true', tabindex: '0', role: 'button', 'aria-label': `${task.name}, ${how}`,
        ondragstart: ({ dataTransfer }) => dataTransfer.setData('text/plain', String(task.state_id)),
        onkeydown: (event) => keys(event, task, day, section),
      }),
    }, task.name, guest ? item(guest, day, section) : null);
  }

  // With the keyboard a place is chosen first, and then taken.
  function keys(event, task, day, section) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const all = state.schedule.window.days;
    if (step) {
      event.preventDefault();
      const from = target?.task === task.state_id ? target : { day: day?.day_index ?? 1, section: section ?? 1 };
      target = {
        task: task.state_id,
        day: Math.max(1, Math.min(all.length, from.day + step[0])),
        section: Math.max(1, Math.min(12, from.section + step[1])),
      };
      root.querySelectorAll('.over').forEach((it) => it.classList.remove('over'));
      root.querySelector(`td[data-day="${target.day}"][data-section="${target.section}"]`)?.classList.add('over');
      const at = all.find((it) => it.day_index === target.day);
      note.textContent = at ? `${dayName(at)}, ${t().section(target.section)}` : '';
    } else if (event.key === 'Enter' && target?.task === task.state_id) {
      event.preventDefault();
      const at = all.find((it) => it.day_index === target.day);
      if (at) move(task, at, target.section);
    } else if (event.key === 'Escape') {
      target = null;
      draw();
    }
  }

  const note = element('p', { class: 'note', role: 'status' });

  function draw() {
    const schedule = state?.schedule;
    if (!schedule) {
      root.replaceChildren(chosen, files(), element('p', {}, t().none), note);
      return;
    }
    state.moved = new Set(lines(state.original, schedule).map((line) => line.task.state_id));
    const all = weeks(schedule);
    week = Math.min(Math.max(week, all[0] ?? 1), all.at(-1) ?? 1);
    const shown = days(schedule, week);
    const rows = Array.from({ length: 12 }, (_, nth) => element('tr', {},
      element('th', { scope: 'row' }, String(nth + 1)),
      shown.map((day) => cell(day, nth + 1, day.sections[nth]))));
    const turn = (by, name) => element('button', {
      type: 'button', disabled: !all.includes(week + by), onclick: () => { week += by; draw(); },
    }, name);
    const pending = schedule.tasks.filter((task) => task.status === 'pending');
    note.textContent = t().how;
    root.replaceChildren(
      chosen, files(),
      state.sample ? element('p', { class: 'note' }, t().sample) : '',
      element('div', { class: 'week-bar' }, turn(-1, t().before), element('h2', {}, t().weekTitle(week)), turn(1, t().after)),
      element('div', { class: 'weeks', tabindex: '0', role: 'region', 'aria-label': t().weekTitle(week) }, element('table', { class: 'week' },
        element('thead', {}, element('tr', {}, element('td'), shown.map((day) => element('th', { scope: 'col', title: dayName(day) }, t().days[day.day_of_week - 1], ' ', element('span', {}, day.date.slice(5)))))),
        element('tbody', {}, rows))),
      note,
      pending.length ? element('section', {}, element('h2', {}, t().pending), element('div', { class: 'pending' }, pending.map((task) => item(task)))) : '',
    );
  }

  return {
    thread(other) {
      [thread, state, week, target] = [other, null, 1, null];
      look();
    },
    changed: look,
    // The card at the end of a run: what was placed, read when somebody looks.
    async card(block, body) {
      await look();
      const schedule = state?.schedule;
      const placed = schedule ? lines(state.original, schedule) : [];
      const at = (task) => task.slots.map((slot) => {
        const day = schedule.window.days.find((it) => it.day_index === slot.day);
        return t().at(day ? dayName(day) : slot.day, slot.slot_start, slot.slot_end);
      }).join('; ');
      body.append(element('h3', {}, t().done), element('ul', {}, placed.map(({ task }) => element('li', {}, `${task.name}: ${at(task)}`))));
    },
  };
}

export default {
  title: 'Scheduler',
  start: {
    en: {
      text: 'This places what you want to do around what you have to attend. You see each draft, and nothing is kept before you agree. Press an example, or say what you want.',
      examples: ['Plan my weeks: place everything.', 'Rearrange everything.', 'Make a note: the library closes at six.'],
    },
    zh: {
      text: '它把你要做的事安排在课程和日程之间。每份草稿都会先给你看，你同意之前不会保存。点一个例子，或直接说出需求。',
      examples: ['把任务都排一下。', '整体重排一下。', '记一下：图书馆六点关门。'],
    },
  },
  panels: [{ title: { en: WORDS.en.week, zh: WORDS.zh.week }, mount }],
};
