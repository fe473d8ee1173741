// The scheduler's panel: weeks and months, with what lies where, and what can be moved, made and changed.
import { Drag } from './drag.js';
import { begin, change, days, edited, itemOf, lines, months, opening, shorter, weeks } from './weeks.js';

const WORDS = {
  en: {
    schedule: 'Schedule', week: 'Week', month: 'Month', weekTitle: (n, from, to) => `${from} – ${to}`, before: 'Earlier', after: 'Later', today: 'Today',
    pending: 'To be placed', none: 'No schedule yet: say what you want to plan.', allDone: 'Everything has a place.',
    days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'], course: 'fixed', existing: 'kept', suggested: 'proposed', pendingItem: 'has no place yet', moved: 'just moved',
    how: 'Drag an item, hold it with a finger, or focus it, choose a place with the arrow keys and press Enter. Press it to see or change it.',
    wish: (name, day, section, time) => `Move ${name} to ${day} at ${time}`, place: (name, day, section, time) => `Place ${name} on ${day} at ${time}`,
    atWork: 'The agent is at work: wait until it is done, or stop it.', first: 'Answer the open question first.',
    undo: 'Undo', undoWish: 'Undo', undone: 'The last import is taken back.', kept: 'Nothing was replaced.',
    sample: 'These are the weeks of a sample. Import your own timetable to plan your own.',
    bring: 'Import…', bringing: 'An iCalendar file (.ics) with what you attend, a class file (.toml) with what you want to do, or both.', take: 'Export',
    brought: (courses, items) => `${courses} entries and ${items} items to be placed were imported.`,
    done: 'What goes where', nothing: 'Nothing moved.', out: 'taken out', unplaced: 'no place', asText: 'As text',
    add: 'Add item', name: 'What is to be done', class: 'Group', ownClass: 'such as “Thesis” or “Errands”', save: 'Save', remove: 'Delete', cancel: 'Cancel',
    where: 'Where', day: 'Day', time: 'Time', move: 'Move here', put: 'Place here', why: 'Why here?', whyWish: (name) => `Why is ${name} there?`,
    fixedNote: 'This comes from your timetable and stays where it is.', added: (name) => `“${name}” is added.`, changed: (name) => `“${name}” is changed.`, gone: (name) => `“${name}” is deleted.`,
    more: (n) => `${n} more`, groups: 'Groups', group: (name) => `Show only ${name}`, length: 'Minutes', deadline: 'Done by', usual: 'usual',
    terms: 'More conditions', earliest: 'Not before', at: 'Begins only at', atHint: 'such as Tuesday 14:00', follows: 'Comes after', priority: 'Importance', levels: { low: 'low', medium: 'medium', high: 'high' },
    split: 'May be done in parts of … minutes', not: 'Never at', notHint: 'such as Tuesday evening; 12:00-14:00', and: '; ',
  },
  zh: {
    schedule: '日程', week: '周视图', month: '月视图', weekTitle: (n, from, to) => `${from} – ${to}`, before: '前一页', after: '后一页', today: '今天',
    pending: '待安排', none: '还没有日程：说说你想安排什么。', allDone: '全部任务都已有位置。',
    days: ['周一', '周二', '周三', '周四', '周五', '周六', '周日'], course: '固定', existing: '已确认', suggested: '建议', pendingItem: '还没有位置', moved: '刚刚移动',
    how: '拖动任务，用手指长按拖动，或选中后用方向键选择位置并按 Enter。点按可查看或修改。',
    wish: (name, day, section) => `把${name}移到${day}第${section}节`, place: (name, day, section) => `把${name}安排在${day}第${section}节`,
    atWork: '正在工作：请等待完成，或先停止。', first: '请先回答打开的问题。',
    undo: '撤销', undoWish: '撤销', undone: '已撤销上次导入。', kept: '没有替换任何内容。',
    sample: '这是示例日程。导入自己的课表即可安排自己的日程。',
    bring: '导入…', bringing: '日历文件（.ics，课程）、任务文件（.toml，要做的事），或两者。', take: '导出',
    brought: (courses, items) => `已导入 ${courses} 项课程和 ${items} 项待安排任务。`,
    done: '安排一览', nothing: '没有变动。', out: '取消安排', unplaced: '无位置', asText: '文字说明',
    add: '添加任务', name: '要做的事', class: '分组', ownClass: '例如“论文”或“杂事”', save: '保存', remove: '删除', cancel: '取消',
    where: '位置', day: '日期', time: '时间', move: '移到这里', put: '安排在这里', why: '为什么在这里？', whyWish: (name) => `为什么${name}在那里？`,
    fixedNote: '这一项来自你的课表，不会移动。', added: (name) => `已添加“${name}”。`, changed: (name) => `已修改“${name}”。`, gone: (name) => `已删除“${name}”。`,
    more: (n) => `还有 ${n} 项`, groups: '分组', group: (name) => `只看${name}`, length: '分钟', deadline: '截止日期', usual: '默认',
    terms: '更多条件', earliest: '最早日期', at: '只能在此时开始', atHint: '例如 周二 14:00', follows: '排在这些之后', priority: '重要程度', levels: { low: '低', medium: '中', high: '高' },
    split: '可拆成每份多少分钟', not: '不能安排的时间', notHint: '例如 周二晚上；12:00-14:00', and: '；',
  },
};

function mount(root, desk) {
  const { element } = desk;
  const t = () => WORDS[desk.lang()];
  let [thread, state, at, view, target, imported, only, told] = [null, null, null, 'week', null, false, null, false];
  let file = { times: [], classes: null };

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
    const calendar = await desk.get('calendar').catch(() => null);
    let found = read?.state ?? null;
    if (!found?.schedule) found = { ...found, schedule: calendar?.schedule, original: calendar?.schedule, sample: calendar?.sample };
    if (looking !== self()) return looking;
    if (of !== thread) return;
    if (calendar?.times) file = calendar;
    state = found;
    draw();
  }

  const count = () => file.times.length || 12;
  const clock = (section, end = false) => file.times[section - 1]?.[end ? 1 : 0] ?? String(section);
  const dateOf = (day) => (day.date ? new Date(`${day.date}T12:00`) : null);
  const format = (day, options) => dateOf(day)?.toLocaleDateString(desk.lang() === 'zh' ? 'zh-CN' : 'en-GB', options) ?? `(${day.day_index})`;
  const shortDate = (day) => format(day, { day: 'numeric', month: 'short' });
  const dayName = (day) => `${t().days[day.day_of_week - 1]}${day.date ? ` ${day.date}` : ` (${day.day_index})`}`;
  const isToday = (day) => day.date === new Date().toLocaleDateString('sv-SE');
  const dayOf = (index) => state.schedule.window.days.find((it) => it.day_index === index);
  const place = (slots) => slots.map((slot) => {
    const day = dayOf(slot.day);
    return `${day ? `${t().days[day.day_of_week - 1]} ${shortDate(day)}` : slot.day}, ${clock(slot.slot_start)}–${clock(slot.slot_end, true)}`;
  }).join('; ');
  const colour = (task) => {
    const nth = state.schedule.task_classes.findIndex(({ id }) => id === task.task_class_id);
    return nth < 0 ? 'none' : String(nth % 8);
  };

  // What was told stays until something else is at work: a late reading may draw what came before it.
  function tell(...said) {
    told = true;
    note.replaceChildren(...said);
  }
  function failed(error) {
    told = true;
    desk.show(note, error.message);
  }

  async function bring(files) {
    const brought = {};
    for (const it of files) brought[/\.toml$/i.test(it.name) ? 'tasks' : 'courses'] = await it.text();
    await put(brought, (done) => [t().brought(done.courses, done.items), ...done.remarks.map((remark) => element('span', { class: 'remark' }, remark))])
      .catch(failed);
  }

  async function put(brought, said) {
    const done = await agreed(brought);
    if (!done) {
      tell(t().kept);
      return;
    }
    // What is imported is planned in a conversation of its own.
    desk.begin();
    await look();
    imported = true;
    draw();
    tell(...said(done));
  }

  // What was agreed to is replaced only if the person agrees to that, too. An item of its own that
  // is added or changed takes nobody's place.
  async function agreed(brought) {
    try {
      return await desk.put('calendar', brought);
    } catch (error) {
      if (error.type === 'changed') await look();
      if (error.type !== 'would_replace') throw error;
      const harmless = brought.classes && !error.more?.lost?.length;
      return harmless || confirm(error.message) ? agreed({ ...brought, replace: true, version: error.more.version }) : null;
    }
  }

  async function undo() {
    try {
      if (!imported) {
        if (desk.busy()) tell(desk.running() ? t().atWork : t().first);
        else await desk.say(t().undoWish);
        return;
      }
      await desk.post('calendar/undo');
      imported = false;
      desk.begin();
      await look();
      tell(t().undone);
    } catch (error) {
      failed(error);
    }
  }

  async function take() {
    try {
      const link = element('a', { href: URL.createObjectURL(await desk.file('calendar.ics')), download: 'schedule.ics' });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      failed(error);
    }
  }

  const chosen = element('input', {
    type: 'file', multiple: true, accept: '.ics,.toml,text/calendar', class: 'unseen', tabindex: '-1', 'aria-hidden': 'true',
    onchange: () => { bring([...chosen.files]); chosen.value = ''; },
  });
  const button = (name, onclick, more = {}) => element('button', { type: 'button', onclick, ...more }, name);
  const files = () => element('div', { class: 'files' },
    button(t().add, () => openItem(null), { class: 'first' }),
    button(t().undo, undo),
    button(t().bring, () => chosen.click(), { title: t().bringing }),
    button(t().take, take));

  // A wish is said like any other, so it goes through the same tools, gates and questions.
  async function move(task, day, section) {
    const placed = task.slots.length > 0;
    const from = begin(task, section, count());
    const text = (placed ? t().wish : t().place)(task.name, day.date || dayName(day), from, clock(from));
    const wanted = change(task, day.day_index, from);
    imported = false;
    try {
      if (desk.running()) tell(t().atWork);
      else if (!desk.busy()) await desk.say(text, { change: wanted });
      // In place of an answer to an open question: what was asked is asked anew afterwards.
      else if (!await desk.instead(text, { call: wanted })) tell(t().first);
    } catch (error) {
      failed(error);
    }
  }

  const taskOf = (id) => state.schedule.tasks.find((it) => String(it.state_id) === id);
  const drag = new Drag(root, {
    over: (cell) => mark(cell ? [cell] : []),
    drop: (id, cell) => {
      const [task, day] = [taskOf(id), dayOf(Number(cell.dataset.day))];
      if (task && day) move(task, day, Number(cell.dataset.section));
    },
  });

  function mark(cells) {
    root.querySelectorAll('.over').forEach((it) => it.classList.remove('over'));
    cells.forEach((it) => it.classList.add('over'));
  }

  function cell(day, section, there) {
    const attributes = { 'data-day': day.day_index, 'data-section': section, class: isToday(day) ? 'today' : '' };
    if (!there) return element('td', attributes);
    if (there.continued) return null;
    return element('td', { ...attributes, rowspan: there.rows }, item(there.task, day, section, there.guest));
  }

  function item(task, day, section, guest) {
    const fixed = task.locked || task.event_type === 'course';
    const moved = state.moved.has(task.state_id);
    const how = fixed ? t().course : { ...t(), pending: t().pendingItem }[task.status] ?? '';
    const slot = day && task.slots.find((it) => it.day === day.day_index);
    const when = slot ? `${clock(slot.slot_start)}–${clock(slot.slot_end, true)}` : '';
    const said = [task.name, day && `${dayName(day)} ${when}`, task.category, how, moved ? t().moved : ''].filter(Boolean);
    const aside = only !== null && (fixed || task.task_class_id !== only);
    return element('div', {
      class: `item ${fixed ? 'course' : task.status} ${moved ? 'moved' : ''} ${aside ? 'aside' : ''}`, 'data-task': task.state_id, 'data-colour': fixed ? 'none' : colour(task),
      title: said.join('\n'), tabindex: '0', role: 'button', 'aria-label': said.join(', '),
      onclick: (event) => { event.stopPropagation(); if (!drag.dropped()) openItem(task); },
      onkeydown: (event) => keys(event, task, day, section, fixed),
      ...(fixed ? {} : { 'data-drag': 'true', onpointerdown: (event) => drag.lift(event, String(task.state_id)) }),
    }, element('span', { class: 'name', 'data-name': task.name }, task.name), when ? element('span', { class: 'when' }, when) : null, guest ? item(guest, day, section) : null);
  }

  // With the keyboard a place is chosen first, and then taken.
  function keys(event, task, day, section, fixed) {
    event.stopPropagation();
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const all = state.schedule.window.days;
    const chosen = target?.task === task.state_id;
    if (step && !fixed) {
      event.preventDefault();
      const from = chosen ? target : { day: day?.day_index ?? all.find((it) => it.week === at)?.day_index ?? 1, section: section ?? 1 };
      target = {
        task: task.state_id,
        day: Math.max(1, Math.min(all.length, from.day + step[0])),
        section: Math.max(1, Math.min(count(), from.section + step[1])),
      };
      const there = dayOf(target.day);
      // The place may lie in another week; the item is carried along.
      if (there.week !== at) {
        at = there.week;
        draw();
        (root.querySelector(`.item[data-task="${task.state_id}"]`) ?? carried(task)).focus();
      }
      mark([...root.querySelectorAll(`td[data-day="${target.day}"]`)].filter((it) => {
        const first = Number(it.dataset.section);
        return first <= target.section && target.section < first + it.rowSpan;
      }));
      told = false;
      note.textContent = `${t().days[there.day_of_week - 1]} ${shortDate(there)}, ${clock(target.section)}`;
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (chosen) move(task, dayOf(target.day), target.section);
      else openItem(task);
      target = null;
    } else if (event.key === 'Escape' && target) {
      target = null;
      draw();
    }
  }

  function carried(task) {
    const it = item(task);
    it.classList.add('carried');
    root.querySelector('.week-bar').append(it);
    return it;
  }

  const dialog = element('dialog', { class: 'edit', 'aria-labelledby': 'edit-title' });
  document.body.append(dialog);

  const field = (name, input) => element('label', {}, element('span', {}, name), input);

  // What an item is, where it is, and what can be done with it.
  function openItem(task) {
    const fixed = task && (task.locked || task.event_type === 'course');
    const known = task && !fixed ? itemOf(file.classes, task) : null;
    const own = task && !fixed && known ? known : null;
    const close = () => dialog.close();
    const name = element('input', { required: true, maxlength: '200', value: task?.name ?? '', autocomplete: 'off', ...(task && !own ? { readonly: true } : {}) });
    const classes = file.classes?.classes ?? [];
    const group = element('input', { required: true, maxlength: '200', list: 'groups', value: own?.class ?? task?.category ?? classes.at(-1)?.name ?? '', placeholder: t().ownClass, ...(task && !own ? { readonly: true } : {}) });
    const list = element('datalist', { id: 'groups' }, classes.map((it) => element('option', { value: it.name })));
    const had = own?.item ?? {};
    const number = (value) => element('input', { type: 'number', min: '5', max: '10000', step: '5', value: value ?? '', placeholder: t().usual });
    const date = (value) => element('input', { type: 'date', value: value ?? '' });
    const list_ = (value, hint) => element('input', { value: [value ?? []].flat().join(t().and), placeholder: hint, autocomplete: 'off' });
    const others = classes.flatMap(({ items }) => items).map((it) => it.content ?? it).filter((it) => it !== had.content);
    const option = (value, text, selected) => element('option', { value, selected }, text);
    // Each term of a class file, with how its value is read.
    const terms = {
      minutes: [t().length, number(had.minutes), (it) => Number(it.value)],
      deadline: [t().deadline, date(had.deadline), (it) => it.value],
      earliest: [t().earliest, date(had.earliest), (it) => it.value],
      split: [t().split, number(had.split), (it) => Number(it.value)],
      at: [t().at, list_(had.at, t().atHint), (it) => it.value.trim()],
      not: [t().not, list_(had.not, t().notHint), (it) => it.value.split(/[;；]/).map((one) => one.trim()).filter(Boolean)],
      priority: [t().priority, element('select', {}, option('', t().usual, !had.priority), Object.entries(t().levels).map(([name, text]) => option(name, text, had.priority === name))), (it) => it.value],
      after: [t().follows, element('select', { multiple: true, size: '3' }, others.map((name) => option(name, name, [had.after ?? []].flat().includes(name)))), (it) => [...it.selectedOptions].map(({ value }) => value)],
    };
    const asked = (...names) => names.map((name) => field(terms[name][0], terms[name][1]));
    const more = ['earliest', 'split', 'at', 'not', 'priority', 'after'];
    const wrong = element('p', { class: 'wrong', role: 'alert' });
    // What is refused stays in the form, with the reason.
    const keep = async (to, said) => {
      try {
        await put({ classes: edited(file.classes ?? {}, own, to), version: file.version }, () => [said]);
        close();
      } catch (error) {
        desk.show(wrong, error.message);
      }
    };
    const form = element('form', {
      onsubmit: (event) => {
        event.preventDefault();
        if (task && !own) { close(); return; }
        const item = { ...own?.item, content: name.value.trim() };
        for (const [key, [, input, read]] of Object.entries(terms)) {
          const value = read(input);
          if (Array.isArray(value) ? value.length : value) item[key] = value;
          else delete item[key];
        }
        if (!item.content || !group.value.trim()) { desk.show(wrong, t().name); return; }
        keep({ class: group.value.trim(), item }, (own ? t().changed : t().added)(item.content));
      },
    }, element('h2', { id: 'edit-title' }, task ? task.name : t().add), field(t().name, name), field(t().class, group), list,
    !task || own ? element('div', { class: 'two' }, asked('minutes', 'deadline')) : null,
    !task || own ? element('details', { open: more.some((name) => had[name] !== undefined) }, element('summary', {}, t().terms), element('div', { class: 'two' }, asked(...more))) : null,
    fixed ? element('p', { class: 'note' }, `${place(task.slots)}. ${t().fixedNote}`) : null, wrong,
    element('div', { class: 'choices' },
      !task || own ? element('button', { type: 'submit', class: 'first' }, t().save) : null,
      button(t().cancel, close),
      own ? button(t().remove, () => keep(null, t().gone(task.name)), { class: 'remove' }) : null));
    dialog.replaceChildren(form);
    if (task && !fixed) dialog.append(places(task, close));
    dialog.showModal();
    if (!task) name.focus();
  }

  // Where an item lies, and where else it may go: for fingers, and across weeks.
  function places(task, close) {
    const [slot] = task.slots;
    const day = element('select', {}, state.schedule.window.days.map((it) => element('option', { value: String(it.day_index), selected: it.day_index === slot?.day }, `${t().days[it.day_of_week - 1]} ${shortDate(it)}`)));
    const time = element('select', {}, Array.from({ length: count() }, (_, nth) => nth + 1).filter((nth) => begin(task, nth, count()) === nth)
      .map((nth) => element('option', { value: String(nth), selected: nth === slot?.slot_start }, clock(nth))));
    return element('section', {}, element('h2', {}, t().where), element('p', {}, slot ? place(task.slots) : t().unplaced),
      element('div', { class: 'two' }, field(t().day, day), field(t().time, time)),
      element('div', { class: 'choices' },
        button(slot ? t().move : t().put, () => { close(); move(task, dayOf(Number(day.value)), Number(time.value)); }),
        slot ? button(t().why, () => {
          close();
          if (desk.running()) tell(t().atWork);
          else desk.say(t().whyWish(task.name));
        }) : null));
  }

  const note = element('p', { class: 'note', role: 'status' });

  // What each colour stands for; pressed, the items of the others step back.
  function legend(schedule) {
    const used = schedule.task_classes.filter(({ id }) => schedule.tasks.some((task) => task.task_class_id === id));
    return used.length ? element('div', { class: 'legend', role: 'group', 'aria-label': t().groups }, used.map(({ id, name }) =>
      button([element('span', { class: 'dot', 'data-colour': colour({ task_class_id: id }) }), name], () => { only = only === id ? null : id; draw(); }, { 'aria-pressed': String(only === id), title: t().group(name) }))) : '';
  }

  // A name that has no room ends behind a whole word; one word alone that has none is written smaller.
  function fit() {
    for (const name of root.querySelectorAll('.item .name')) {
      const box = name.closest('.item');
      const whole = name.dataset.name;
      const written = document.createRange();
      const room = () => { written.selectNodeContents(name); return name.getBoundingClientRect().width / Math.max(...[...written.getClientRects()].map(({ width }) => width)); };
      const fits = () => name.scrollHeight <= name.clientHeight + 1 && room() >= 1 && name.getBoundingClientRect().bottom <= box.getBoundingClientRect().bottom + 1;
      name.style.fontSize = '';
      desk.show(name, whole);
      if (!name.clientWidth) continue;
      for (const text of shorter(whole, desk.lang())) {
        desk.show(name, text);
        if (fits()) break;
      }
      const part = room();
      if (part < 1) name.style.fontSize = `${Math.max(0.7, part - 0.02)}em`;
    }
  }
  new ResizeObserver(fit).observe(root);

  function weekTable(schedule) {
    const shown = days(schedule, at, count());
    const rows = Array.from({ length: count() }, (_, nth) => element('tr', {},
      element('th', { scope: 'row', title: `${clock(nth + 1)}–${clock(nth + 1, true)}` }, clock(nth + 1)),
      shown.map((day) => cell(day, nth + 1, day.sections[nth]))));
    const head = (day) => element('th', { scope: 'col', title: dayName(day), class: isToday(day) ? 'today' : '', 'aria-current': isToday(day) ? 'date' : null },
      t().days[day.day_of_week - 1], ' ', element('span', {}, shortDate(day)));
    return element('table', { class: shown.length > 4 ? 'week' : 'week short' },
      element('thead', {}, element('tr', {}, element('td'), shown.map(head))), element('tbody', {}, rows));
  }

  function monthTable(found) {
    const one = (day) => {
      if (!day) return element('td', { class: 'outside' });
      const shown = day.there.slice(0, 4).map(({ task, slot }) => item(task, day, slot.slot_start));
      const more = day.there.length - shown.length;
      const number = String(Number(day.date.slice(8)));
      return element('td', { class: isToday(day) ? 'today' : '' },
        button(number, () => { view = 'week'; at = day.week; draw(); }, { class: 'date', 'aria-label': `${number}, ${dayName(day)}`, 'aria-current': isToday(day) ? 'date' : null }),
        shown, more > 0 ? element('span', { class: 'more' }, t().more(more)) : null);
    };
    return element('table', { class: 'month' },
      element('thead', {}, element('tr', {}, t().days.map((day) => element('th', { scope: 'col' }, day)))),
      element('tbody', {}, found.weeks.map((row) => element('tr', {}, row.map(one)))));
  }

  // The pages that one turns, the one that is shown, and its name.
  function turned(schedule) {
    const all = weeks(schedule);
    const today = schedule.window.days.find(isToday);
    at = Math.min(Math.max(at ?? opening(schedule, today), all[0] ?? 1), all.at(-1) ?? 1);
    if (view === 'week') {
      const shown = schedule.window.days.filter((day) => day.week === at);
      return { all, now: at, table: () => weekTable(schedule), title: t().weekTitle(at, shortDate(shown[0]), shortDate(shown.at(-1))), go: (to) => { at = to; }, today: today?.week };
    }
    const found = months(schedule);
    const first = schedule.window.days.find((day) => day.week === at && day.date);
    const now = Math.max(0, found.findIndex(({ month }) => month === first?.date.slice(0, 7)));
    const title = first ? format(first, { month: 'long', year: 'numeric' }) : '';
    const go = (to) => { at = found[to].weeks.at(-1).findLast(Boolean).week; if (to > now) at = found[to].weeks.flat().find((day) => day && day.week !== at && day.day_of_week === 1)?.week ?? at; };
    return { all: found.map((_, nth) => nth), now, table: () => monthTable(found[now]), title, go, today: today && found.findIndex(({ month }) => month === today.date.slice(0, 7)) };
  }

  function draw() {
    const schedule = state?.schedule;
    root.classList.add('schedule');
    if (!schedule?.window.days.length) {
      root.replaceChildren(chosen, files(), element('p', {}, t().none), note);
      return;
    }
    state.moved = new Set(lines(state.original, schedule).map((line) => line.task.state_id));
    const page = turned(schedule);
    const turn = (to, name, text) => button(text, () => { page.go(to); draw(); }, { disabled: !page.all.includes(to) || to === page.now, 'aria-label': name, title: name });
    const views = ['week', 'month'].map((it) => button(t()[it], () => { view = it; draw(); }, { 'aria-pressed': String(view === it) }));
    const pending = schedule.tasks.filter((task) => task.status === 'pending');
    const scrolled = root.querySelector('.weeks')?.scrollLeft ?? 0;
    if (!told || desk.busy()) {
      told = false;
      note.textContent = t().how;
    }
    root.replaceChildren(
      chosen, files(),
      state.sample ? element('p', { class: 'note' }, t().sample) : '',
      element('div', { class: 'week-bar' }, turn(page.now - 1, t().before, '‹'), turn(page.today, t().today, t().today), turn(page.now + 1, t().after, '›'),
        element('h2', {}, page.title), element('div', { class: 'views', role: 'group' }, views)),
      element('div', { class: 'weeks', tabindex: '0', role: 'region', 'aria-label': page.title }, page.table()),
      legend(schedule), note,
      pending.length ? element('section', {}, element('h2', {}, `${t().pending} (${pending.length})`), element('div', { class: 'pending' }, pending.map((task) => item(task)))) : '',
    );
    root.querySelector('.weeks').scrollLeft = scrolled;
    fit();
  }

  // What goes where, with day and clock: before, and after.
  const moves = (found) => (found.length === 0 ? element('p', {}, t().nothing) : element('div', { class: 'moves', tabindex: '0', role: 'region', 'aria-label': t().done }, element('ul', {}, found.map(({ task, before }) =>
    element('li', {}, element('span', { class: 'dot', 'data-colour': colour(task) }), element('span', { class: 'name' }, task.name),
      element('span', { class: 'where' }, before.length ? element('del', {}, place(before)) : null, before.length ? ' → ' : null,
        element('ins', {}, task.slots.length ? place(task.slots) : t().out)))))));

  return {
    thread(other) {
      [thread, state, at, target, told] = [other, null, null, null, false];
      look();
    },
    changed: look,
    // What a question about the schedule asks, as a list.
    async question({ prompt }, text) {
      if (prompt?.topic !== 'schedule') return null;
      await look();
      if (!state?.schedule) return null;
      const [head] = String(prompt.summary ?? '').split('\n');
      return element('div', {}, element('p', {}, head), moves(lines(state.original, state.schedule)),
        element('details', { class: 'fold' }, element('summary', {}, t().asText), text));
    },
    // The card at the end of a run: what was placed, read when somebody looks.
    async card(block, body) {
      await look();
      body.append(element('h3', {}, t().done), state?.schedule ? moves(lines(state.original, state.schedule)) : '');
    },
  };
}

export default {
  title: { en: 'Scheduler', zh: '日程助手' },
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
  panels: [{ title: { en: WORDS.en.schedule, zh: WORDS.zh.schedule }, mount }],
};
