// A first-time user, who reads no word of documentation: by mouse, by keyboard alone, and by finger on
// a phone. Each imports a calendar, adds three items, plans, asks why, moves one, undoes that, agrees,
// and takes the calendar away.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { accessible } from './browser.mjs';
import { ended, serve } from './server.mjs';
import { colours, namedWhole, wholeWords } from './timetable.mjs';

const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
const soon = (days, time) => `${day(days).replaceAll('-', '')}T${time}00Z`;
const calendar = () => ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', 'BEGIN:VEVENT', 'UID:1', 'DTSTAMP:20260101T000000Z',
  `DTSTART:${soon(3, '0800')}`, `DTEND:${soon(3, '0940')}`, 'SUMMARY:Logic', 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');

// A page on the scheduler, and whatever goes wrong in it.
async function opened({ scheduler, folder, browser }, more, work) {
  const server = await serve(scheduler, folder);
  const context = await browser.newContext({ locale: 'en-GB', acceptDownloads: true, colorScheme: 'light', ...more });
  try {
    const page = await context.newPage();
    const wrong = [];
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('console', (said) => said.type() === 'error' && wrong.push(said.text()));
    await page.goto(server.url);
    await work(page);
    // A form with something wrong is refused, once.
    assert.deepEqual(wrong.filter((text) => !text.includes('status of 422')), [], 'the console is quiet');
  } finally {
    await context.close();
    server.child.kill('SIGTERM');
    await ended(server.child);
  }
}

const rest = (page) => page.waitForFunction(() => !document.querySelector('#send').disabled && document.querySelector('#typing').hidden && !document.querySelector('.question'));
const named = (page, where, name) => page.locator(where, { has: page.locator(`.name[data-name="${name}"]`) });
const items = (page, name) => named(page, '.week .item:not(.course)', name);
const placeOf = (page, name) => items(page, name).first().evaluate((it) => [it.parentElement.dataset.day, it.parentElement.dataset.section]);
const lies = (page, [day, section], name) => page.waitForFunction(([day, section, name]) =>
  document.querySelector(`.week td[data-day="${day}"][data-section="${section}"] .item .name`)?.dataset.name === name, [day, section, name]);
const button = (page, name) => page.getByRole('button', { name, exact: true });

// What is looked at in light is looked at in dark, too.
async function seen(page, what) {
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, `${what}, ${colorScheme}`);
  }
}

// A free pair of sections that is in view, behind today and away from a point.
const free = (page, from) => page.evaluate(([x, y]) => {
  const at = (it, day, section) => document.querySelector(`td[data-day="${day}"][data-section="${section}"]`);
  const place = [...document.querySelectorAll('.week td[data-day]:not(.today)')].findLast((it) => {
    const { day, section } = it.dataset;
    const box = it.getBoundingClientRect();
    const next = at(it, day, Number(section) + 1);
    const visible = box.left > 60 && box.right < innerWidth && box.top > 100 && box.bottom < innerHeight;
    return !it.children.length && section % 2 === 1 && next && !next.children.length && visible && Math.hypot(box.left - x, box.top - y) > 60;
  });
  const box = place.getBoundingClientRect();
  return { day: place.dataset.day, section: place.dataset.section, x: box.left + box.width / 2, y: box.top + 8 };
}, [from.x, from.y]);

// Where an item is; the weeks are drawn anew whenever something has changed.
async function boxOf(item) {
  for (;;) {
    await item.waitFor();
    const box = await item.scrollIntoViewIfNeeded().then(() => item.boundingBox()).catch(() => null);
    if (box) return box;
  }
}

// The three ways to use a page.
const HANDS = {
  mouse: {
    press: (it) => it.click(),
    async move(page, item, box, to) {
      await page.mouse.move(box.x + 12, box.y + 8);
      await page.mouse.down();
      await page.mouse.move(box.x + 30, box.y + 20);
      await page.locator('.ghost').waitFor();
      await page.mouse.move(to.x, to.y, { steps: 4 });
      await page.locator('td.over').waitFor();
      await page.mouse.up();
    },
  },
  keyboard: {
    async press(it) {
      await it.focus();
      await it.page().keyboard.press('Enter');
    },
    async move(page, item, box, to) {
      const [day, section] = (await item.evaluate((it) => [it.parentElement.dataset.day, it.parentElement.dataset.section])).map(Number);
      await item.focus();
      const times = async (by, forth, back) => { for (let nth = 0; nth < Math.abs(by); nth += 1) await page.keyboard.press(by > 0 ? forth : back); };
      await times(Number(to.day) - day, 'ArrowRight', 'ArrowLeft');
      await times(Number(to.section) - section, 'ArrowDown', 'ArrowUp');
      await page.locator('td.over').first().waitFor();
      await page.keyboard.press('Enter');
    },
  },
  finger: {
    press: (it) => it.tap(),
    async move(page, item, box, to) {
      const finger = await page.context().newCDPSession(page);
      const touch = (type, x, y) => finger.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x, y }] });
      const [x, y] = [box.x + box.width / 2, box.y + Math.min(20, box.height / 2)];
      await touch('touchStart', x, y);
      await page.locator('.ghost').waitFor();
      for (const part of [0.3, 0.6, 1]) await touch('touchMove', x + (to.x - x) * part, y + (to.y - y) * part);
      await page.locator('td.over').waitFor();
      await touch('touchEnd');
    },
  },
};

// A name that has no room in a week or a month.
const LONG = 'Read chapter three of the introduction to statistical thermodynamics and electrodynamics';

// Adds an item; the terms of a form are those of a class file.
async function add(page, press, name, terms = {}, group = 'Essay') {
  await press(button(page, 'Add item'));
  const dialog = page.locator('dialog.edit');
  await dialog.getByLabel('What is to be done').fill(name);
  await dialog.getByLabel('Group', { exact: true }).fill(group);
  if (terms.more) await press(dialog.getByText('More conditions'));
  for (const [label, value] of Object.entries(terms.fill ?? {})) await dialog.getByLabel(label, { exact: true }).fill(value);
  for (const [label, value] of Object.entries(terms.choose ?? {})) await dialog.getByLabel(new RegExp(`^${label}`)).selectOption(value);
  await press(dialog.getByRole('button', { name: 'Save' }));
  return dialog;
}

async function journey(page, hand, { pictures, path }) {
  const { press, move } = HANDS[hand];
  const narrow = hand === 'finger';
  // The panels of a phone lie over the conversation.
  const side = async (open) => {
    if (narrow && open === await page.evaluate(() => document.body.classList.contains('no-side'))) await press(page.locator(open ? '#open-side' : '#close-side'));
  };
  const accept = async () => {
    await side(false);
    await press(button(page.locator('.question'), 'Accept'));
  };
  const agree = async () => {
    await accept();
    await rest(page);
    await side(true);
  };
  const example = page.locator('#start button', { hasText: 'Plan my weeks' });
  await example.waitFor();
  await seen(page, 'the beginning');
  await side(true);
  // The page opens with a week in which something lies.
  await page.locator('.week thead th').first().waitFor();
  const today = page.locator('.week thead th.today');
  if (!(await today.isVisible())) await press(button(page, 'Today'));
  await today.waitFor();
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), press(button(page, 'Import…'))]);
  await chooser.setFiles([{ name: 'my.ics', mimeType: 'text/calendar', buffer: Buffer.from(calendar()) }]);
  await page.locator('.note', { hasText: '1 entries' }).waitFor();

  const pending = (name) => named(page, '.pending .item', name);
  await add(page, press, 'Draft the essay');
  await pending('Draft the essay').waitFor();
  await add(page, press, LONG, {
    more: true, fill: { Minutes: '60', 'Done by': day(20), 'Not before': day(1), 'Never at': 'Monday; 12:00-14:00' }, choose: { Importance: 'high' },
  }, 'Reading');
  await pending(LONG).waitFor();
  // What cannot be is refused in the form, and nothing that was typed is lost.
  const dialog = await add(page, press, 'Revise the essay', { more: true, fill: { 'Begins only at': 'whenever' }, choose: { 'Comes after': ['Draft the essay'] } });
  await dialog.locator('.wrong', { hasText: 'whenever' }).waitFor();
  await seen(page, 'a form with something refused');
  await dialog.getByLabel('Begins only at').fill('');
  await press(dialog.getByRole('button', { name: 'Save' }));
  await pending('Revise the essay').waitFor();
  await press(pending('Revise the essay'));
  await page.getByLabel('What is to be done').fill('Polish the essay');
  await press(button(page, 'Save'));
  await pending('Polish the essay').waitFor();
  assert.equal(await pending('Revise the essay').count(), 0);
  const { classes } = await page.evaluate(() => fetch('calendar').then((it) => it.json()));
  const own = ['Essay', 'Reading'].map((it) => classes.classes.find(({ name }) => name === it).items);
  assert.deepEqual(own, [
    ['Draft the essay', { content: 'Polish the essay', after: ['Draft the essay'] }],
    [{ content: LONG, minutes: 60, deadline: day(20), earliest: day(1), not: ['Monday', '12:00-14:00'], priority: 'high' }],
  ], 'the form says the terms of a class file');

  await side(false);
  await press(example);
  await page.locator('.question .moves li', { hasText: 'Draft the essay' }).waitFor({ timeout: 60_000 });
  await seen(page, 'a card');
  await page.screenshot({ path: join(pictures, `${hand}-card.png`) });
  // The last of its group may go to any later place.
  const last = 'Polish the essay';
  const item = (name) => items(page, name).first();
  const found = async (name) => {
    for (const [turn, times] of [['Later', 12], ['Earlier', 24]]) {
      for (let nth = 0; nth < times && !(await item(name).count()) && !(await button(page, turn).isDisabled()); nth += 1) await press(button(page, turn));
    }
    await item(name).waitFor();
  };
  const carry = async (name) => {
    await side(true);
    await found(name);
    const box = await boxOf(item(name));
    const to = await free(page, box);
    await move(page, item(name), box, to);
    return [to.day, to.section];
  };
  // Who moves something while a card waits has rejected nothing: the card comes again with the move.
  const draft = await page.locator('.question').getAttribute('data-id');
  const drafted = await carry(last);
  await page.waitForFunction((id) => (document.querySelector('.question')?.dataset.id ?? id) !== id, draft);
  await lies(page, drafted, last);
  await side(false);
  await page.locator('.badge[data-status=instead]').waitFor();
  await page.locator('.question .moves li', { hasText: last }).waitFor();
  await agree();
  await found(last);
  await lies(page, drafted, last);
  await seen(page, 'the weeks');
  await page.screenshot({ path: join(pictures, `${hand}-weeks.png`) });

  await colours(page, press, { Essay: ['Draft the essay', last], Reading: [LONG] });
  await wholeWords(page, press, LONG);
  await namedWhole(page, press, LONG);

  await found(last);
  await press(item(last));
  await seen(page, 'an item');
  await press(button(page, 'Why here?'));
  await side(false);
  await page.locator('.block.text', { hasText: last }).last().waitFor();
  await rest(page);
  await side(true);

  // What was agreed to is moved on a card, and so is another one that is moved while that waits.
  const before = { [last]: await placeOf(page, last) };
  await found(LONG);
  before[LONG] = await placeOf(page, LONG);
  const kept = () => page.evaluate(() => fetch('calendar').then((it) => it.json()).then(({ schedule }) => JSON.stringify(schedule.tasks.map(({ name, slots }) => [name, slots]))));
  const agreedTo = await kept();
  const asked = (name) => page.locator('.question', { hasText: `“${name}” goes to` }).waitFor();
  const to = { [last]: await carry(last) };
  await asked(last);
  to[LONG] = await carry(LONG);
  await asked(LONG);
  assert.equal(await page.locator('.question').count(), 1, 'one thing is asked at a time');
  assert.equal(await kept(), agreedTo, 'nothing that was agreed to is moved unasked');
  await accept();
  await asked(last);
  await agree();
  for (const name of [last, LONG]) {
    await found(name);
    await lies(page, to[name], name);
  }
  // Both are undone by a button.
  await press(button(page, 'Undo'));
  for (const name of [last, LONG]) await page.locator('.question', { hasText: name }).waitFor();
  await agree();
  for (const name of [last, LONG]) {
    await found(name);
    await lies(page, before[name], name);
  }
  assert.equal(await page.locator('.badge[data-status=rejected]').count(), 0, 'nobody rejected anything');

  const [download] = await Promise.all([page.waitForEvent('download'), press(button(page, 'Export'))]);
  await download.saveAs(path);
  assert.match(readFileSync(path, 'utf8'), /SUMMARY:Draft the essay/);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, 'nothing is cut off');
}

const SIZES = { mouse: { viewport: { width: 1400, height: 900 } }, keyboard: { viewport: { width: 1400, height: 900 } }, finger: { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true } };

export async function person({ scheduler, folder, browser, pictures, step }) {
  for (const [hand, size] of Object.entries(SIZES)) {
    await opened({ scheduler, folder: join(folder, hand), browser }, size, async (page) => {
      await journey(page, hand, { pictures, path: join(pictures, 'person.ics') });
      if (hand === 'mouse') await more(page, pictures);
    });
    step(`person: imported, added, planned, asked why, moved, undone, agreed and exported by ${hand}`);
  }
}

async function more(page, pictures) {
  await button(page, 'Month').click();
  await page.locator('.month .item:not(.course)').first().waitFor();
  await seen(page, 'a month');
  await page.screenshot({ path: join(pictures, 'month.png') });
  await page.getByRole('tab', { name: 'At work' }).click();
  await page.locator('.entries button').nth(2).click();
  await page.locator('.changes tr').first().waitFor();
  await seen(page, 'at work');
  // A question that comes in another conversation, as one of an evening does, is told on this page.
  await page.getByRole('tab', { name: 'Schedule' }).click();
  const text = 'Rearrange everything.';
  const begun = await page.evaluate((text) => fetch('threads/another/runs', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text }),
  }).then((it) => it.status), text);
  assert.equal(begun, 202);
  await page.locator('#elsewhere button', { hasText: text }).waitFor({ timeout: 60_000 });
  assert.equal(await page.locator('.question').count(), 0, 'nothing waits in the one that is shown');
  await seen(page, 'something waits elsewhere');
  await page.locator('#elsewhere button', { hasText: text }).click();
  await page.locator('.question').waitFor();
  await page.locator('#elsewhere').waitFor({ state: 'hidden' });
  await button(page.locator('.question'), 'Reject').click();
  await rest(page);
  // Chinese words are answered in Chinese, whatever the browser speaks, and the page turns to it.
  await button(page, 'New').click();
  await page.locator('#say').fill('周一有什么？');
  await page.keyboard.press('Enter');
  await page.locator('.block.text', { hasText: /\p{Script=Han}/u }).waitFor();
  await rest(page);
  await button(page, '发送').waitFor();
  await page.getByRole('tab', { name: '工作过程' }).waitFor();
}
