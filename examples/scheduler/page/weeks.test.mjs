// `node --test weeks.test.mjs`
import assert from 'node:assert/strict';
import test from 'node:test';
import { change, days, lines, weeks } from './weeks.js';

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

test('what moved is told in the order of time', () => {
  const before = { tasks: [task(1, [slot(1, 3, 6)]), task(3, [slot(2, 1, 1)])] };
  assert.deepEqual(lines(before, schedule).map(({ task }) => task.state_id), [2, 3]);
});

test('a drag is the call of a tool', () => {
  assert.deepEqual(change(schedule.tasks[2], 2, 5), { name: 'move', arguments: { task_id: 3, new_day: 2, new_slot_start: 5 } });
  assert.deepEqual(change(schedule.tasks[3], 2, 5), { name: 'place', arguments: { task_id: 4, day: 2, slot_start: 5 } });
});
