// The whole conversation on the page: plan, question, rejection with a reason, acceptance, reload,
// cut connection, dark, phone, keyboard.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { launch } from './browser.mjs';
import { newcomer } from './newcomer.mjs';
import { person } from './person.mjs';
import { ended, serve } from './server.mjs';

const [scheduler, browserPath, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'page-'));
const began = Date.now();
const step = (what) => console.log(`${((Date.now() - began) / 1000).toFixed(1)} s  ${what}`);

let server = await serve(scheduler, folder);
const browser = await launch(browserPath);
try {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme: 'light', locale: 'en-GB' });
  const page = await context.newPage();
  const wrong = [];
  const foreign = [];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (said) => said.type() === 'error' && wrong.push(said.text()));
  page.on('request', (request) => request.url().startsWith(server.url) || request.url().startsWith('data:') || foreign.push(request.url()));

  // The first look at the calendar in a conversation is answered late, when more is known already.
  let held = false;
  const late = new Promise((answered) => page.route('**/calendar', async (route) => {
    if (held || !new URL(page.url()).hash) return route.continue();
    held = true;
    const response = await route.fetch();
    await new Promise((resolve) => setTimeout(resolve, 4000));
    await route.fulfill({ response });
    return answered();
  }));

  const opened = Date.now();
  await page.goto(server.url);
  await page.getByRole('textbox', { name: 'Your message' }).waitFor();
  const interactive = Date.now() - opened;
  const bytes = await page.evaluate(() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .reduce((sum, entry) => sum + entry.encodedBodySize, 0));
  step(`interactive after ${interactive} ms, ${Math.round(bytes / 1024)} KB`);
  assert.ok(bytes > 30 * 1024 && bytes < 300 * 1024, `${bytes} bytes`);

  // Enter sends; the words are there at once, and the work is shown as it happens.
  const say = page.getByRole('textbox', { name: 'Your message' });
  await say.fill('Plan my weeks: place everything.');
  await say.press('Enter');
  await page.locator('.block.user', { hasText: 'Plan my weeks' }).waitFor();
  const card = page.locator('.question');
  await card.waitFor({ timeout: 30_000 });
  assert.equal(await card.count(), 1);
  assert.match(await say.getAttribute('placeholder'), /Yes, no because/, 'what typing does under a card is said');
  // Work is folded to a line in words, and there for whoever opens it.
  await page.locator('.work summary', { hasText: 'steps of work' }).first().waitFor();
  await page.locator('.block.tool').first().waitFor({ state: 'hidden' });
  assert.doesNotMatch(await page.locator('#blocks').innerText(), /analyze_health/);
  await page.locator('.moves li', { hasText: /\d\d:\d\d–\d\d:\d\d/ }).first().waitFor();
  await say.fill('why is Continuity there?');
  await say.press('Enter');
  await page.locator('.block.text', { hasText: 'The card stays open' }).waitFor();
  assert.equal(await card.count(), 1, 'a question about a card leaves it open');
  const shown = await page.locator('.block').count();
  step(`a plan is asked about, after ${shown} blocks`);
  await page.locator('.week .item.suggested').first().waitFor();
  if (held) await late;
  await page.unroute('**/calendar');
  assert.ok(await page.locator('.week .item.suggested').count() > 0, 'a late answer does not hide what was planned');
  await page.screenshot({ path: join(pictures, 'light.png') });

  // After a reload the same card is there, once, and what was said.
  await page.reload();
  await card.waitFor();
  assert.equal(await card.count(), 1);
  await page.locator('.block.user', { hasText: 'Plan my weeks' }).waitFor();
  step('a reload shows the same card');

  // A rejection with a reason is an answer, never an ordinary message.
  const first = await card.getAttribute('data-id');
  await card.getByRole('button', { name: 'Reject, because…' }).click();
  await card.getByRole('textbox').fill('not on Friday');
  await card.getByRole('button', { name: 'Reject', exact: true }).click();
  await page.waitForFunction((id) => !document.querySelector(`.question[data-id="${id}"]`), first);
  await page.locator('.block', { hasText: 'not on Friday' }).first().waitFor();
  step('rejected with a reason');
  await page.waitForFunction(() => document.querySelector('.question') || !document.querySelector('#send').disabled, null, { timeout: 30_000 });

  // The server is killed and comes back; the page does too, and every card once.
  const port = new URL(server.url).port;
  server.child.kill('SIGKILL');
  await ended(server.child);
  await page.locator('#state', { hasText: 'connection lost' }).waitFor();
  server = await serve(scheduler, folder, port);
  await page.waitForFunction(() => !document.querySelector('#state').textContent.includes('connection lost'), null, { timeout: 20_000 });
  assert.ok((await card.count()) <= 1);
  step('killed, started again, and the page came back');

  // Another conversation is accepted, and finishes.
  await page.getByRole('button', { name: 'New', exact: true }).click();
  await say.fill('Place everything, please.');
  await say.press('Enter');
  await card.waitFor({ timeout: 30_000 });
  await card.getByRole('button', { name: 'Accept' }).click();
  await page.waitForFunction(() => !document.querySelector('#send').disabled && !document.querySelector('.question'), null, { timeout: 30_000 });
  assert.equal(await card.count(), 0);
  await page.locator('.week .item.existing').first().waitFor();
  await page.locator('#thread-list li', { hasText: 'Place everything, please.' }).waitFor();
  assert.ok((await page.locator('#thread-list li').count()) >= 2);
  step('accepted; both conversations are listed by their titles');

  // The agent at work: the graph, the log, and the state at a position of it.
  await page.getByRole('tab', { name: 'At work' }).click();
  await page.locator('svg.graph text', { hasText: 'rough_build' }).waitFor();
  await page.locator('.entries button').nth(2).click();
  await page.locator('.changes tr').first().waitFor();
  // What is clicked is shown beside its line, words are found, and the picture leads back in time.
  const beside = await page.evaluate(() => {
    const [line, detail] = ['.entries [aria-pressed=true]', '.log .detail'].map((it) => document.querySelector(it).getBoundingClientRect());
    return detail.left >= line.right && detail.top < innerHeight && detail.bottom > 0;
  });
  assert.ok(beside, 'the state is beside the line');
  const cut = await page.evaluate(() => document.querySelector('.picture').scrollWidth - document.querySelector('.picture').clientWidth);
  assert.ok(cut <= 0, `the picture is not cut: ${cut}`);
  const lines = page.locator('.entries li:visible');
  const all = await lines.count();
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('rough_build');
  await page.waitForFunction((all) => [...document.querySelectorAll('.entries li')].filter((it) => !it.hidden).length < all, all);
  assert.ok(await lines.count() > 0);
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('');
  await page.locator('svg.graph').getByRole('button', { name: 'rough_build', exact: true }).click();
  await page.locator('.entries [aria-pressed=true]', { hasText: 'rough_build' }).waitFor();
  await page.locator('.detail h2', { hasText: 'position' }).waitFor();
  await page.screenshot({ path: join(pictures, 'inspector.png') });
  await page.getByRole('tab', { name: 'Schedule' }).click();

  // With the keyboard alone: tabs by arrows, and a visible focus.
  await page.getByRole('tab', { name: 'Schedule' }).focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.getByRole('tab', { name: 'At work' }).getAttribute('aria-selected'), 'true');
  await page.keyboard.press('ArrowLeft');

  // Chinese, dark, and as wide as a phone.
  await page.getByRole('button', { name: '中文' }).click();
  await page.getByRole('button', { name: '发送' }).waitFor();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot({ path: join(pictures, 'dark.png') });
  await page.setViewportSize({ width: 390, height: 800 });
  await page.locator('#close-side').click();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, 'nothing is cut off on a phone');
  await page.screenshot({ path: join(pictures, 'phone.png') });
  step('Chinese, dark, phone');

  assert.deepEqual(foreign, [], 'nothing is asked of anybody else');
  const unexpected = wrong.filter((text) => !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text));
  assert.deepEqual(unexpected, []);
  await person({ scheduler, folder: join(folder, 'person'), browser, pictures, step });
  await newcomer({ scheduler, folder: join(folder, 'newcomer'), browser, pictures, step });
} finally {
  await browser.close();
  server.child.kill('SIGTERM');
  await ended(server.child);
  rmSync(folder, { recursive: true, force: true });
}
