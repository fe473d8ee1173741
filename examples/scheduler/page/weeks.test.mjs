// `node --test weeks.test.mjs`
import assert from 'node:assert/strict';
import test from 'node:test';
import { begin, change, days, edited, itemOf, lines, months, opening, shorter, weeks } from './weeks.js';

const task = (state_id, slots, more = {}) => ({ state_id, name: `t${state_id}`, slots, embed_host: null, ...more });
const slot = (day, slot_start, slot_end) => ({ day, slot_start, slot_end });
const schedule = {
  window: { days: [1, 2, 8].map((day) => ({ day_index: day, week: Math.ceil(day / 7), day_of_week: (day - 1) % 7 + 1, date: '' })) },
  tasks: [task(1, [slot(1, 3, 6)]), task(2, [slot(1, 3, 4)], { embed_host: 1 }), task(3, [slot(8, 1, 1)]), task(4, [])],
};

test('a week shows what lies where, and a guest inside its host', () => {
  assert.deepEqual(weeks(schedule), [1, 2]);
  const [monday, tuesday] = days(schedule, 1);
  assert.deepEqual([monday.sections[2].rows, monday.sections[2].guest.state_id], [4, 2]);
  assert.deepEqual(monday.sections.slice(3, 6), [{ continued: true }, { continued: true }, { continued: true }]);
  assert.deepEqual(tuesday.sections, Array(12).fill(null));
});

test('a schedule opens with the week of today, unless nothing is left in it', () => {
  const [first, second] = schedule.window.days;
  assert.equal(opening(schedule, first), 1);
  assert.equal(opening(schedule, second), 2);
  assert.equal(opening({ ...schedule, tasks: [] }, second), 1);
  assert.equal(opening(schedule, undefined), 1);
});

test('what moved is told in the order of time', () => {
  const before = { tasks: [task(1, [slot(1, 3, 6)]), task(3, [slot(2, 1, 1)])] };
  assert.deepEqual(lines(before, schedule).map(({ task }) => task.state_id), [2, 3]);
});

test('a drag is the call of a tool', () => {
  assert.deepEqual(change(schedule.tasks[2], 2, 5), { name: 'move', arguments: { task_id: 3, new_day: 2, new_slot_start: 5 } });
  assert.deepEqual(change(schedule.tasks[3], 2, 5), { name: 'place', arguments: { task_id: 4, day: 2, slot_start: 5 } });
});

test('a month has its weeks from Monday on, and what lies on a day in the order of time', () => {
  const window = { days: [[1, 7, 1, '2026-05-31'], [2, 1, 2, '2026-06-01']].map(([day_index, day_of_week, week, date]) => ({ day_index, day_of_week, week, date })) };
  const found = months({ window, tasks: [task(1, [slot(2, 5, 6)]), task(2, [slot(2, 1, 2)])] });
  assert.deepEqual(found.map(({ month, weeks }) => [month, weeks.map((row) => row.map((day) => day?.there.map((it) => it.task.state_id) ?? null))]), [
    ['2026-05', [[null, null, null, null, null, null, []]]],
    ['2026-06', [[[2, 1], null, null, null, null, null, null]]],
  ]);
});

test('an item is added, changed, moved to another group and taken out', () => {
  const file = { zone: 'UTC', classes: [{ name: 'A', total_slots: 4, items: ['x', { content: 'y', order: 1 }] }] };
  const kept = structuredClone(file);
  assert.deepEqual(edited(file, null, { class: 'B', item: { content: 'z' } }).classes[1], { name: 'B', items: ['z'] });
  const x = itemOf(file, { source_id: 'A/1', name: 'x' });
  assert.deepEqual(x, { class: 'A', nth: 0, item: { content: 'x' } });
  assert.deepEqual(edited(file, x, { class: 'A', item: { content: 'w' } }).classes[0], { name: 'A', total_slots: 4, items: ['w', { content: 'y', order: 1 }] });
  assert.deepEqual(edited(file, x, { class: 'B', item: x.item }).classes, [{ name: 'A', total_slots: 2, items: [{ content: 'y', order: 1 }] }, { name: 'B', items: ['x'] }]);
  assert.deepEqual(edited(file, itemOf(file, { source_id: 'A/1', name: 'y' }), null).classes, [{ name: 'A', total_slots: 2, items: ['x'] }]);
  assert.equal(itemOf(file, { source_id: 'A/9', name: 'none' }), null);
  assert.deepEqual(file, kept);
});

test('an item of two sections begins with a pair of them', () => {
  assert.deepEqual([1, 2, 4, 12].map((section) => begin({ duration: 2 }, section, 12)), [1, 1, 3, 11]);
  assert.equal(begin({ duration: 3 }, 12, 12), 10);
});

test('what is left of a name ends behind a word', () => {
  assert.deepEqual(shorter('Fit the models, twice', 'en'), ['Fit the models, twice', 'Fit the models…', 'Fit the…', 'Fit…']);
  assert.deepEqual(shorter('Algebra', 'en'), ['Algebra']);
  assert.equal(shorter('复习线性代数', 'zh').length > 1, true);
});
