// An element with attributes and children. A text is always text, never markup.
export function element(name, attributes = {}, ...children) {
  const it = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) it.addEventListener(key.slice(2), value);
    else if (key === 'class') it.className = value;
    else if (typeof value === 'boolean') it.toggleAttribute(key, value);
    else if (value !== null && value !== undefined) it.setAttribute(key, value);
  }
  it.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return it;
}

export const pretty = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
