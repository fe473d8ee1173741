// A picture of the graph: nodes in layers from the start, and the nodes that are at work.
const SVG = 'http://www.w3.org/2000/svg';
const [WIDE, HIGH, GAP_X, GAP_Y] = [112, 30, 18, 44];

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

// The layer of a node is how far it is from the start; the end is below everything.
export function layers({ nodes, edges }) {
  const depth = new Map([['START', 0]]);
  const queue = ['START'];
  while (queue.length) {
    const from = queue.shift();
    for (const edge of edges) {
      if (edge.from === from && !depth.has(edge.to)) {
        depth.set(edge.to, depth.get(from) + 1);
        queue.push(edge.to);
      }
    }
  }
  if (nodes.has('END')) depth.set('END', Math.max(...[...depth].filter(([id]) => id !== 'END').map(([, at]) => at)) + 1);
  const rows = [];
  for (const id of nodes.keys()) (rows[depth.get(id) ?? 0] ??= []).push(id);
  return rows.filter(Boolean);
}

const svg = (name, attributes, ...children) => {
  const it = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  it.append(...children);
  return it;
};

export class Picture {
  constructor(graph) {
    const rows = layers(graph);
    const width = Math.max(...rows.map((row) => row.length)) * (WIDE + GAP_X);
    const at = new Map();
    rows.forEach((row, y) => row.forEach((id, x) => {
      at.set(id, { x: (width - row.length * (WIDE + GAP_X)) / 2 + x * (WIDE + GAP_X) + (GAP_X + WIDE) / 2, y: y * (HIGH + GAP_Y) + HIGH / 2 + 4 });
    }));
    const height = rows.length * (HIGH + GAP_Y) - GAP_Y + 8;
    const names = graph.edges.map(({ from, to }) => `${graph.nodes.get(from)?.name} → ${graph.nodes.get(to)?.name}`);
    this.element = svg('svg', { class: 'graph', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': names.join(', ') });
    for (const edge of graph.edges) this.element.append(line(edge, at));
    this.groups = new Map();
    for (const [id, node] of graph.nodes) {
      const { x, y } = at.get(id) ?? { x: 0, y: 0 };
      const group = svg('g', { class: node.pause ? 'pause' : '' },
        svg('rect', { x: x - WIDE / 2, y: y - HIGH / 2, width: WIDE, height: HIGH, rx: id === 'START' || id === 'END' ? HIGH / 2 : 6 }),
        svg('text', { x, y }));
      group.lastChild.textContent = node.name;
      this.element.append(group);
      this.groups.set(node.name, group);
    }
  }

  live(names) {
    const live = new Set(names);
    for (const [name, group] of this.groups) group.classList.toggle('live', live.has(name));
  }
}

function line({ from, to, kind }, at) {
  const [a, b] = [at.get(from), at.get(to)];
  const path = a && b ? curve(a, b) : '';
  return svg('path', { d: path, class: kind === 'choice' ? 'choice' : '' });
}

// Downwards straight, back around the side, to itself in a small loop.
function curve(a, b) {
  if (a === b) return `M${a.x + WIDE / 2},${a.y - 6} c16,-10 16,22 0,12`;
  if (b.y > a.y) {
    const [from, to] = [a.y + HIGH / 2, b.y - HIGH / 2];
    return `M${a.x},${from} C${a.x},${from + GAP_Y / 2} ${b.x},${to - GAP_Y / 2} ${b.x},${to}`;
  }
  const side = a.x <= b.x ? -1 : 1;
  const out = Math.min(a.x, b.x) * (side < 0 ? 1 : 0) + Math.max(a.x, b.x) * (side > 0 ? 1 : 0) + side * (WIDE / 2 + 14);
  return `M${a.x + side * WIDE / 2},${a.y} C${out},${a.y} ${out},${b.y} ${b.x + side * WIDE / 2},${b.y}`;
}
