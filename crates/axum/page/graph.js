// A picture of the graph, and the nodes that are at work.
import { escapedLine } from './escape.js';
import { layout } from './layout.js';

const SVG = 'http://www.w3.org/2000/svg';

// Reads nodes and edges from the mermaid text that the server sends.
export function read(mermaid) {
  const nodes = new Map([['START', { name: 'START', pause: false }]]);
  const edges = [];
  for (const line of mermaid.split('\n')) {
    const start = line.match(/START\(\[START\]\) --> (\w+)/);
    const node = line.match(/^\s*(n\d+)(\{\{|\[)"(.*)"(?:\}\}|\])\s*$/);
    const edge = line.match(/^\s*(n\d+) (-->|-\.->)(?:\|(\w+)\|)? (\w+)\s*$/);
    if (start) edges.push({ from: 'START', to: start[1], kind: 'always' });
    else if (node) nodes.set(node[1], { name: node[3].replaceAll('#quot;', '"'), pause: node[2] === '{{' });
    else if (/END\(\[END\]\)/.test(line)) nodes.set('END', { name: 'END', pause: false });
    else if (edge) edges.push({ from: edge[1], to: edge[4], kind: edge[2] === '-.->' ? 'choice' : edge[3] ?? 'always' });
  }
  return { nodes, edges };
}

const svg = (name, attributes, ...children) => {
  const it = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  it.append(...children);
  return it;
};

export class Picture {
  // `chosen(name)` is told which node was pressed.
  constructor(graph, chosen = () => {}) {
    const { nodes, lines, width, height } = layout(graph);
    const name = (id) => graph.nodes.get(id)?.name;
    const names = graph.edges.map(({ from, to }) => `${name(from)} → ${name(to)}`);
    this.element = svg('svg', { class: 'graph', viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': escapedLine(names.join(', ')) },
      svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: 'auto-start-reverse' }, svg('path', { d: 'M0,0 L8,4 L0,8 z' }))));
    this.element.setAttribute('width', width);
    this.lines = lines.map(({ from, kind, back, d }) => {
      const it = svg('path', { d, class: [kind === 'choice' ? 'choice' : '', back ? 'back' : ''].join(' ').trim(), 'marker-end': 'url(#tip)' });
      this.element.append(it);
      return { from: name(from), it };
    });
    this.groups = new Map();
    for (const [id, { x, y, wide, high }] of nodes) {
      const node = graph.nodes.get(id);
      const plain = id === 'START' || id === 'END';
      const group = svg('g', { class: node.pause ? 'pause' : '', ...(plain ? {} : { role: 'button', tabindex: '0', 'aria-label': escapedLine(node.name) }) },
        svg('rect', { x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: id === 'START' || id === 'END' ? high / 2 : 6 }),
        svg('text', { x, y }));
      group.lastChild.textContent = escapedLine(node.name);
      // Where one may go from a node is shown by pointing at it.
      for (const [on, event] of [[true, 'pointerenter'], [false, 'pointerleave']]) group.addEventListener(event, () => this.mark('near', new Set(on ? [node.name] : [])));
      if (!plain) {
        group.addEventListener('click', () => chosen(node.name));
        group.addEventListener('keydown', (event) => {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          chosen(node.name);
        });
      }
      this.element.append(group);
      this.groups.set(node.name, group);
    }
  }

  mark(how, names) {
    for (const { from, it } of this.lines) it.classList.toggle(how, names.has(from));
  }

  choose(name) {
    for (const [its, group] of this.groups) group.classList.toggle('chosen', its === name);
  }

  live(names) {
    const live = new Set(names);
    this.mark('live', live);
    for (const [name, group] of this.groups) group.classList.toggle('live', live.has(name));
  }
}
