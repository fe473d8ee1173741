// A newcomer brings a timetable, gets a plan, rejects a move with a reason, accepts the next, and
// takes the calendar away. Another program reads it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ended, scripted, serve } from './server.mjs';

// The week that comes, from Monday on: nothing is planned before now.
const monday = new Date(Date.now() + (8 - (new Date().getUTCDay() || 7)) * 86_400_000);
const date = (day) => new Date(monday.getTime() + day * 86_400_000).toISOString().slice(0, 10);
const stamp = (day) => date(day).replaceAll('-', '');

const COURSES = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', 'BEGIN:VEVENT', 'UID:1', 'DTSTAMP:20260101T000000Z',
  `DTSTART:${stamp(0)}T080000Z`, `DTEND:${stamp(0)}T094000Z`, 'SUMMARY:Logic', 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');
const TASKS = `zone = "UTC"\n[window]\nstart = ${date(0)}\nweeks = 2\n[[classes]]\nname = "Reading"\nitems = ["Chapter one", "Chapter two"]\n`;

const place = (day, slot) => ({ action: 'confirm', tool_call: { name: 'place', arguments: { task_id: 2, day, slot_start: slot } } });
const SCRIPT = [
  { intent: 'task' },
  { action: 'plan_done', speak: 'Here is the plan.', plan_steps: [{ content: 'Place chapter one', done_when: 'it has a place' }] },
  place(5, 3),
  place(3, 3),
  { action: 'done', goal_check: 'chapter one has a place' },
  'Chapter one lies on Wednesday.',
];

export async function newcomer({ scheduler, folder, browser, pictures, step }) {
  const model = await scripted(SCRIPT);
  const server = await serve(scheduler, folder, 0, ['--base-url', model.url, '--model', 'scripted']);
  try {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, locale: 'en-GB', acceptDownloads: true });
    const page = await context.newPage();
    const sent = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push([new URL(request.url()).pathname.split('/').at(-1), request.postDataJSON()]));
    await page.goto(server.url);
    // A file that is none is refused in words, and what was there stays.
    const files = page.locator('input[type=file]');
    // On a Saturday the rest of the sample's first week has no course.
    await page.locator('.pending .item').first().waitFor();
    await files.setInputFiles([{ name: '../../evil.ics', mimeType: 'text/calendar', buffer: Buffer.from('no calendar') }]);
    await page.locator('.note', { hasText: 'courses.ics' }).waitFor();
    const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await files.setInputFiles([file('my timetable.ics', COURSES), file('things.toml', TASKS)]);
    await page.locator('.note', { hasText: '1 entries and 2 items' }).waitFor();
    await page.locator('.pending .item', { hasText: 'Chapter two' }).waitFor();
    step('a timetable and things to do are imported');

    const say = page.getByRole('textbox', { name: 'Your message' });
    await say.fill('Place chapter one, please.');
    await say.press('Enter');
    const card = page.locator('.question');
    const asked = async (title) => {
      await card.filter({ hasText: title }).waitFor({ timeout: 30_000 });
      assert.equal(await card.count(), 1);
      return card.getAttribute('data-id');
    };
    await asked('Shall I carry out this plan?');
    await card.getByRole('button', { name: 'Accept' }).click();
    const first = await asked('Shall I do this?');
    assert.ok((await card.innerText()).includes(`goes to Fri ${date(4)}`));
    await card.getByRole('button', { name: 'Reject, because…' }).click();
    await card.getByRole('textbox').fill('never on a Friday');
    await card.getByRole('textbox').press('Enter');
    await page.waitForFunction((id) => !document.querySelector(`.question[data-id="${id}"]`), first);
    const second = await asked('Shall I do this?');
    assert.ok((await card.innerText()).includes(`goes to Wed ${date(2)}`));

    await card.getByRole('button', { name: 'Accept' }).click();
    await page.waitForFunction(() => !document.querySelector('#send').disabled && !document.querySelector('.question'), null, { timeout: 30_000 });
    await page.locator('.block.text', { hasText: 'Chapter one lies on Wednesday.' }).waitFor();
    await page.locator('.week .item.existing', { hasText: 'Chapter one' }).waitFor();
    const answers = sent.filter(([path]) => path === 'resume').map(([, body]) => body.answers);
    assert.deepEqual(answers.slice(1), [{ [first]: { action: 'reject', text: 'never on a Friday' } }, { [second]: { action: 'approve' } }]);
    assert.equal(sent.filter(([path]) => path === 'runs').length, 1, 'a rejection is no message');
    assert.deepEqual(model.left, []);
    step('a move is rejected with a reason, and the next one accepted');

    // After a reload everything is there as it was: what was asked with its answers, and the tools.
    const told = () => page.locator('.block').evaluateAll((blocks) => blocks.map((it) => [it.classList[1], it.querySelector('.badge')?.dataset.status ?? '']));
    const durable = (blocks) => blocks.filter(([kind]) => ['user', 'text', 'tool', 'asked', 'card'].includes(kind));
    const before = durable(await told());
    await page.reload();
    await page.locator('.block.text', { hasText: 'Chapter one lies on Wednesday.' }).waitFor();
    assert.deepEqual(durable(await told()), before);
    assert.deepEqual(before.filter(([kind]) => kind === 'asked' || kind === 'tool'), [
      ['asked', 'accepted'], ['asked', 'rejected'], ['asked', 'accepted'], ['tool', 'completed'],
    ]);
    await page.locator('.block.card summary').click();
    await page.locator('.block.card li', { hasText: 'Chapter one' }).waitFor();
    await page.screenshot({ path: join(pictures, 'restored.png') });
    step('a reload shows everything as it was, and the card what was placed');

    // What the model was asked, and what it answered, stands beside the log.
    await page.getByRole('tab', { name: 'At work' }).click();
    await page.locator('.entries button', { hasText: 'stepped decide#1' }).first().click();
    const call = page.locator('#side details.call');
    await call.locator('summary').click();
    const kept = async (part) => call.locator(`pre[data-part=${part}]`).innerText();
    assert.match(await kept('prompt'), /Place chapter one/);
    assert.deepEqual(JSON.parse(await kept('answer')), place(5, 3));
    await page.screenshot({ path: join(pictures, 'asked.png') });
    await page.getByRole('tab', { name: 'Schedule' }).click();
    step('the inspector shows what the model was asked and what it answered');

    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
    const to = join(pictures, 'schedule.ics');
    await download.saveAs(to);
    const ics = readFileSync(to, 'utf8');
    assert.match(ics, /SUMMARY:Chapter one/);
    assert.match(ics, new RegExp(`DTSTART[^:]*:${stamp(2)}T`));
    step('the calendar is exported');
    await context.close();
  } finally {
    server.child.kill('SIGTERM');
    await ended(server.child);
    await model.close();
  }
}
