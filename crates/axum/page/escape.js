// Text of somebody else's, as it may be shown: what would act on a screen instead of being read is a
// visible mark. The same as `Escaped` of fugato-stream does for a terminal; both read one file of
// forged texts.
const ACCENTS = [
  [0x300, 0x36f], [0x483, 0x489], [0x591, 0x5bd], [0x5bf, 0x5c7], [0x610, 0x61a], [0x64b, 0x65f], [0xe31, 0xe31], [0xe34, 0xe3a],
  [0xe47, 0xe4e], [0x1ab0, 0x1aff], [0x1dc0, 0x1dff], [0x20d0, 0x20ff], [0x302a, 0x302f], [0x3099, 0x309a], [0xfe20, 0xfe2f],
];
// Controls, the soft hyphen, letters that are blank, what turns the direction of writing, what has no
// width, and bars that look like the frame of a card in a terminal.
const MARKED = [
  [0x80, 0x9f], [0xad, 0xad], [0x34f, 0x34f], [0x115f, 0x1160], [0x17b4, 0x17b5], [0x3164, 0x3164], [0xffa0, 0xffa0],
  [0x61c, 0x61c], [0x180b, 0x180f], [0x200b, 0x200b], [0x200e, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f], [0xfeff, 0xfeff],
  [0xfff0, 0xfffb], [0x1bca0, 0x1bca3], [0x1d173, 0x1d17a], [0xe0000, 0xe00ff], [0xe01f0, 0xe0fff],
  [0x2503, 0x2503], [0x2589, 0x2590], [0x2595, 0x2595], [0x2758, 0x275a],
];
const SELECTORS = [[0xfe00, 0xfe0f], [0xe0100, 0xe01ef]];
// What comes after these may be joined to them: letters of some scripts, and emoji.
const JOINED = [[0x620, 0x6ff], [0x900, 0xdff], [0x2190, 0x2bff], [0xfe0f, 0xfe0f], [0x1f000, 0x1faff]];
const MOST = 4;
// Text in which nothing has to be looked for.
const PLAIN = /^[\t\n\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u3000-\u3029\u3030-\u3098\u309b-\u3163\u3400-\u9fff\uac00-\ud7a3\uff01-\uff9f]*$/;

const within = (ranges, code) => ranges.some(([from, to]) => from <= code && code <= to);
const control = (code) => code < 0x20 || (code >= 0x7f && code <= 0x9f);

function isShown(code, before, marks) {
  if (within(MARKED, code)) return false;
  if (code === 0x200c || code === 0x200d) return before !== null && within(JOINED, before);
  if (within(SELECTORS, code)) return before !== null && !control(before) && !within(SELECTORS, before);
  return !within(ACCENTS, code) || marks <= MOST;
}

// A text of several lines.
export function escaped(text) {
  if (PLAIN.test(text)) return text;
  let [out, before, marks] = ['', null, 0];
  for (const char of text) {
    const code = char.codePointAt(0);
    marks = within(ACCENTS, code) ? marks + 1 : 0;
    if (char === '\n' || char === '\t') out += char;
    else if (code < 0x20) out += String.fromCodePoint(0x2400 + code);
    else if (code === 0x7f) out += '␡';
    else if (isShown(code, before, marks)) out += char;
    else out += `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
    before = code;
  }
  return out;
}

// A name, a title or another text of one line.
export const escapedLine = (text) => escaped(text).replaceAll('\n', '⏎').replaceAll('\t', '⇥');
