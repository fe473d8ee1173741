// What a card says. Nothing here touches the document.

// The short code of an approval, as `InterruptId::code` makes it.
export function code(id) {
  let rest = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(id)) rest = BigInt.asUintN(64, (rest ^ BigInt(byte)) * 0x100000001b3n);
  rest ^= rest >> 32n;
  const next = (of) => {
    const size = BigInt(of.length);
    const found = of[Number(rest % size)];
    rest /= size;
    return found;
  };
  return ['ABCDEFGHJKMNPQRTUVWXYZ', '23456789', 'ABCDEFGHJKMNPQRTUVWXYZ', '23456789'].map(next).join('');
}

// The arguments of the call that a card is about, each with its whole value as text, or with what people
// call it; none if there are none.
export function argumentsOf(prompt, labels = prompt?.labels) {
  const given = prompt?.call?.arguments;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return [];
  return Object.entries(given).map(([name, value]) => [name, labels?.[name] ?? valueText(value)]);
}

const valueText = (value) => {
  if (typeof value !== 'string') return JSON.stringify(value);
  const lines = value.replace(/\n+$/, '').includes('\n');
  return lines || (value !== '' && value.trim() === value) ? value : JSON.stringify(value);
};

// What a gate writes as its summary: `argument_lines` of fugato-stream. A summary that is no more than
// that is not shown beside the arguments.
export const argumentLines = (named) => named.map(([name, text]) => {
  const shown = /^[\p{Alphabetic}\p{N}_.-]+$/u.test(name) ? name : JSON.stringify(name);
  return text.includes('\n') ? `${shown}:\n  ${text.replaceAll('\n', '\n  ')}` : `${shown}: ${text}`;
}).join('\n');

// Whether words have the value of every argument.
export const names = (said, named) => named.every(([, text]) => text.split('\n').every((line) => said.includes(line.trim())));

// A name or a title, which is a line: too long a one says how long it is.
export function clipped(text) {
  const chars = [...text];
  return chars.length <= 120 ? text : `${chars.slice(0, 90).join('')} … ${chars.length - 110} … ${chars.slice(-20).join('')}`;
}

const MOST = { lines: 14, chars: 900 };
const END = { lines: 4, chars: 250 };

// A text as its beginning, what is folded between, and its end; the latter two are empty if it is short.
export function parts(text) {
  const chars = [...text];
  const lines = text.split('\n');
  if (chars.length <= MOST.chars && lines.length <= MOST.lines) return { head: text, middle: '', tail: '' };
  const begin = Math.min(lines.slice(0, MOST.lines - END.lines).join('\n').length, chars.slice(0, MOST.chars - END.chars).join('').length);
  const end = Math.max(text.length - lines.slice(-END.lines).join('\n').length, text.length - chars.slice(-END.chars).join('').length, begin);
  return { head: text.slice(0, begin), middle: text.slice(begin, end), tail: text.slice(end) };
}

export const counted = (text) => [[...text].length, text.split('\n').length - 1];
