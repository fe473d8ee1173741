// What a person sees in the weeks and months of a schedule: a colour for each class, with its name,
// and names in whole words. And what becomes of an item that is dragged while a card waits.
import assert from 'node:assert/strict';

const button = (page, name) => page.getByRole('button', { name, exact: true });

// Everything that is shown on all pages of a view from now on, one page after the other.
async function turned(page, press, look) {
  const later = button(page, 'Later');
  const found = [];
  for (;;) {
    found.push(...await page.evaluate(look));
    if (await later.isDisabled()) break;
    await press(later);
  }
  for (const earlier = button(page, 'Earlier'); !(await earlier.isDisabled());) await press(earlier);
  return found;
}

// Each item of a class with its name and its colours.
const painted = () => [...document.querySelectorAll('.week .item:not(.course), .month .item:not(.course)')].map((it) => {
  const { backgroundColor, borderLeftColor, opacity } = getComputedStyle(it);
  return { name: it.querySelector('.name').dataset.name, colour: `${backgroundColor} ${borderLeftColor}`, dot: borderLeftColor, opacity: Number(opacity), said: it.getAttribute('aria-label') };
});

// `classes` has the names of the items of each class.
export async function colours(page, press, classes) {
  const legend = page.getByRole('group', { name: 'Groups' });
  for (const view of ['Month', 'Week']) {
    await press(button(page, view));
    const items = await turned(page, press, painted);
    const of = {};
    for (const [name, own] of Object.entries(classes)) {
      const its = own.map((item) => items.filter((it) => it.name === item));
      assert.ok(its.every((found) => found.length > 0), `${view}: all of ${name} is shown: ${JSON.stringify(items)}`);
      of[name] = [...new Set(its.flat().map(({ colour }) => colour))];
      assert.equal(of[name].length, 1, `${view}: ${name} has one colour`);
      assert.ok(its.flat().every(({ said }) => said.includes(name)), `${view}: an item of ${name} says so`);
      const dot = await legend.getByRole('button', { name, exact: true }).locator('.dot').evaluate((it) => getComputedStyle(it).backgroundColor);
      assert.equal(dot, its[0][0].dot, `${view}: the name beside the colour of ${name}`);
    }
    assert.equal(new Set(Object.values(of).flat()).size, Object.keys(classes).length, `${view}: no two classes have one colour`);
  }
  // A class is found without its colour, too: the others step back.
  const [name] = Object.keys(classes);
  const group = legend.getByRole('button', { name, exact: true });
  await press(group);
  for (const { name: item, opacity } of await turned(page, press, painted)) {
    assert.equal(opacity === 1, classes[name].includes(item), `${item} beside ${name}`);
  }
  assert.equal(await group.getAttribute('aria-pressed'), 'true');
  await press(group);
}

// What is shown of each name: no word is broken, none is cut, and what is missing is said by a mark.
const written = () => [...document.querySelectorAll('.week .item, .month .item, .pending .item')].map((item) => {
  const name = item.querySelector('.name');
  const [shown, whole] = [name.textContent, name.dataset.name ?? name.textContent];
  const [box, own] = [item.getBoundingClientRect(), name.getBoundingClientRect()];
  const text = name.firstChild;
  const wrong = [...shown.matchAll(/[\p{L}\p{N}…]+/gu)].filter(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const lines = [...range.getClientRects()];
    return lines.length !== 1 || lines[0].right > Math.min(box.right, own.right) + 1 || lines[0].bottom > Math.min(box.bottom, own.bottom) + 1;
  }).map(([word]) => word);
  const [start] = shown.split('…');
  const missing = shown !== whole && !(shown.endsWith('…') && start && whole.startsWith(start) && !/^[\p{L}\p{N}]/u.test(whole.slice(start.length)));
  return { whole, shown, wrong, missing, title: item.title, said: item.getAttribute('aria-label') };
});

export async function wholeWords(page, press, long) {
  for (const view of ['Month', 'Week']) {
    await press(button(page, view));
    const names = await turned(page, press, written);
    for (const it of names) {
      assert.deepEqual([it.wrong, it.missing], [[], false], `${view}: ${it.whole} is shown as ${it.shown}`);
      assert.ok(it.title.includes(it.whole) && it.said.includes(it.whole), `${it.whole} is named as a whole`);
    }
    assert.ok(names.some(({ whole, shown }) => whole === long && shown !== long), `${view}: ${long} has no room: ${JSON.stringify(names.map(({ shown }) => shown))}`);
  }
}

// What is pressed is named as a whole, also where there is no pointer that shows a title.
export async function namedWhole(page, press, name) {
  const item = page.locator(`.week .item[aria-label^="${name}"]`).first();
  for (const later = button(page, 'Later'); !(await item.count()) && !(await later.isDisabled());) await press(later);
  await press(item);
  const heading = page.locator('dialog.edit h2', { hasText: name });
  const { cut, wide } = await heading.evaluate((it) => ({ cut: it.scrollWidth > it.clientWidth || it.scrollHeight > it.clientHeight + 1, wide: it.getBoundingClientRect().right <= innerWidth }));
  assert.ok(!cut && wide, `${name} can be read`);
  await press(button(page, 'Cancel'));
  for (const earlier = button(page, 'Earlier'); !(await earlier.isDisabled());) await press(earlier);
}
