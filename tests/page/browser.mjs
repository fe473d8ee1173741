// A browser, and pages in it that keep whatever goes wrong.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const launch = (executablePath) => chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

// A page of a server, in a window of its own, and what a person does in it.
export async function visit(browser, url, more = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme: 'light', locale: 'en-GB', ...more });
  // Work is shown as it is done.
  await context.addInitScript(() => localStorage.setItem('work', 'open'));
  const page = await context.newPage();
  const [wrong, foreign, sent] = [[], [], []];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (said) => said.type() === 'error' && wrong.push(said.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) foreign.push(request.url());
    if (request.method() === 'POST') sent.push([new URL(request.url()).pathname.split('/').at(-1), request.postDataJSON()]);
  });
  await page.goto(url);
  const box = page.locator('#say');
  await box.waitFor();
  const card = page.locator('.question');
  return {
    page,
    sent,
    card,
    blocks: (kind, hasText) => page.locator(`.block.${kind}`, hasText === undefined ? {} : { hasText }),
    say: async (text) => {
      await box.fill(text);
      await box.press('Enter');
    },
    // The one card that is open, once it says this.
    asked: async (hasText) => {
      await card.filter({ hasText }).waitFor();
      assert.equal(await card.count(), 1);
    },
    press: (name) => card.getByRole('button', { name, exact: true }).click(),
    // Nothing is under way, and nothing is asked.
    rest: () => page.waitForFunction(() => document.querySelector('#send').disabled === false && document.querySelector('#typing').hidden && !document.querySelector('.question')),
    get: (path) => page.evaluate((it) => fetch(it).then((response) => response.json()), path),
    // What the conversation shows, of these kinds: what it is, and what it says or how it stands.
    told: (...kinds) => page.locator('.block').evaluateAll((blocks, kinds) => blocks
      .map((it) => [it.classList[1], it.querySelector('.badge')?.dataset.status ?? it.dataset.name ?? it.textContent])
      .filter(([kind]) => kinds.includes(kind)), kinds),
    // Nothing was asked of anybody else, and nothing broke.
    leave: async () => {
      assert.deepEqual(foreign, [], 'nothing is asked of anybody else');
      assert.deepEqual(wrong.filter((text) => !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text)), []);
      await context.close();
    },
  };
}

// What an axe finds on the page as it is.
export async function accessible(page, what) {
  // The page's own policy lets no other script in, so the axe comes from outside of the page.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`)]), [], what);
}

// What was shown before is shown after a reload, and nothing else.
export async function reload(view, ...kinds) {
  const before = await view.told(...kinds);
  assert.ok(before.length > 0);
  await view.page.reload();
  await view.blocks(before.at(-1)[0]).first().waitFor();
  assert.deepEqual(await view.told(...kinds), before);
}

// Light, dark, and as wide as a phone, where nothing may be cut off.
export async function looks({ page }, pictures, name) {
  const side = page.locator('#side');
  const fits = async (what) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, `${name}: nothing is cut off ${what}`);
    await page.screenshot({ path: join(pictures, `${name}-${what}.png`) });
  };
  await fits('light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await fits('dark');
  await page.setViewportSize({ width: 390, height: 800 });
  await fits('phone-side');
  await page.locator('#close-side').click();
  await fits('phone');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1400, height: 900 });
  await page.locator('#open-side').click();
  await side.waitFor();
}
