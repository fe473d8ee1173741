import { escaped, escapedLine } from './escape.js';

// What a person reads of these is one line.
const LINES = new Set(['BUTTON', 'DT', 'H1', 'H2', 'H3', 'SPAN', 'STRONG', 'SUMMARY']);
const READ = new Set(['aria-label', 'alt', 'placeholder', 'title']);

// A text as this element may show it.
export const shown = (it, text) => (LINES.has(it.nodeName.toUpperCase()) ? escapedLine : escaped)(String(text));

// Puts a text into an element, in the place of what is there.
export function show(it, text) {
  it.textContent = shown(it, text);
}

// An element with attributes and children. A text is always text, never markup, and nothing in it acts
// on the page.
export function element(name, attributes = {}, ...children) {
  const it = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) it.addEventListener(key.slice(2), value);
    else if (key === 'class') it.className = value;
    else if (typeof value === 'boolean') it.toggleAttribute(key, value);
    else if (value !== null && value !== undefined) it.setAttribute(key, READ.has(key) ? escapedLine(String(value)) : value);
  }
  const there = children.flat().filter((child) => child !== null && child !== undefined);
  it.append(...there.map((child) => (typeof child === 'object' ? child : shown(it, child))));
  return it;
}

export const pretty = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
