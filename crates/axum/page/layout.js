// Where the nodes of a graph lie: in layers from the start downwards, so that lines cross little.
// Nothing here touches the document.
const [HIGH, GAP_X, GAP_Y, LANE, EDGE] = [28, 18, 40, 12, 10];
const SWEEPS = 12;

const wide = (name) => Math.max(56, 18 + [...name].reduce((sum, c) => sum + (c > '\u2e80' ? 13 : 7.2), 0));

// Edges that lead back to where a path came from, found by walking from the start.
function backward(nodes, edges) {
  const [state, back] = [new Map(), new Set()];
  const walk = (id) => {
    state.set(id, 'open');
    for (const edge of edges.filter(({ from }) => from === id)) {
      if (state.get(edge.to) === 'open') back.add(edge);
      else if (!state.has(edge.to)) walk(edge.to);
    }
    state.set(id, 'done');
  };
  for (const id of nodes.keys()) if (!state.has(id)) walk(id);
  return back;
}

// The layer of a node is the length of the longest path to it; the end is below everything.
export function layers({ nodes, edges }) {
  const back = backward(nodes, edges);
  const ahead = edges.filter((edge) => !back.has(edge));
  const depth = new Map([...nodes.keys()].map((id) => [id, 0]));
  for (let again = true; again;) {
    again = false;
    for (const { from, to } of ahead) {
      if (depth.get(to) <= depth.get(from)) {
        depth.set(to, depth.get(from) + 1);
        again = true;
      }
    }
  }
  if (nodes.has('END')) depth.set('END', Math.max(...[...depth].filter(([id]) => id !== 'END').map(([, at]) => at)) + 1);
  const rows = [];
  for (const id of nodes.keys()) (rows[depth.get(id)] ??= []).push(id);
  return { rows: rows.filter(Boolean), depth, back };
}

// Lines that pass layers on their way to the same node share one way there.
function ways({ nodes, edges }, { rows, depth, back }) {
  const items = rows.map((row) => row.map((id) => ({ id, wide: wide(nodes.get(id).name), up: [], down: [] })));
  const at = new Map(items.flat().map((item) => [item.id, item]));
  const join = (a, b) => {
    if (!a.down.includes(b)) { a.down.push(b); b.up.push(a); }
  };
  for (const { from, to } of edges.filter((edge) => !back.has(edge))) {
    let last = at.get(from);
    for (let layer = depth.get(from) + 1; layer < depth.get(to); layer += 1) {
      const id = `${to}@${layer}`;
      if (!at.has(id)) {
        const pass = { id, wide: 4, up: [], down: [], passes: true };
        at.set(id, pass);
        items[layer].push(pass);
      }
      join(last, at.get(id));
      last = at.get(id);
    }
    join(last, at.get(to));
  }
  return { items, at };
}

const mean = (numbers) => numbers.reduce((sum, it) => sum + it, 0) / numbers.length;

// Each layer is put in the order of what it is tied to, downwards and upwards by turns.
function order(items) {
  const number = () => items.forEach((row) => row.forEach((item, nth) => { item.nth = nth; }));
  number();
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const side = sweep % 2 ? 'down' : 'up';
    for (const row of sweep % 2 ? [...items].reverse() : items) {
      for (const item of row) item.rank = item[side].length ? mean(item[side].map(({ nth }) => nth)) : item.nth;
      row.sort((a, b) => a.rank - b.rank);
      row.forEach((item, nth) => { item.nth = nth; });
    }
  }
}

// Nodes move towards what they are tied to, as far as their neighbours let them.
function spread(items) {
  for (const row of items) {
    let x = 0;
    for (const item of row) { item.x = x + item.wide / 2; x += item.wide + GAP_X; }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const row of sweep % 2 ? [...items].reverse() : items) {
      const ties = (item) => [...item.up, ...item.down].map(({ x }) => x);
      const wanted = row.map((item) => (ties(item).length ? mean(ties(item)) : item.x));
      let least = -Infinity;
      row.forEach((item, nth) => {
        item.x = Math.max(wanted[nth], least + item.wide / 2);
        least = item.x + item.wide / 2 + GAP_X;
      });
      const off = mean(row.map((item, nth) => wanted[nth] - item.x));
      for (const item of row) item.x += off;
    }
  }
}

export function layout(graph) {
  const layered = layers(graph);
  const { items, at } = ways(graph, layered);
  order(items);
  spread(items);
  const left = Math.min(...items.flat().map((item) => item.x - item.wide / 2)) - EDGE;
  items.forEach((row, layer) => row.forEach((item) => {
    item.x -= left;
    item.y = EDGE + HIGH / 2 + layer * (HIGH + GAP_Y);
  }));
  const right = Math.max(...items.flat().map((item) => item.x + item.wide / 2));
  // Ways back run upwards at the side, one for each node that they lead to.
  const lanes = [...new Set(graph.edges.filter((edge) => layered.back.has(edge) && edge.from !== edge.to).map(({ to }) => to))];
  const lines = graph.edges.map((edge) => {
    const [a, b] = [at.get(edge.from), at.get(edge.to)];
    if (edge.from === edge.to) return { ...edge, d: loop(a) };
    if (layered.back.has(edge)) return { ...edge, back: true, d: around(a, b, right + LANE * (lanes.indexOf(edge.to) + 1)) };
    const passed = [];
    for (let layer = layered.depth.get(edge.from) + 1; layer < layered.depth.get(edge.to); layer += 1) passed.push(at.get(`${edge.to}@${layer}`));
    return { ...edge, d: down([a, ...passed, b]) };
  });
  const nodes = new Map([...graph.nodes].map(([id]) => [id, { x: at.get(id).x, y: at.get(id).y, wide: at.get(id).wide, high: HIGH }]));
  return {
    nodes, lines,
    width: right + LANE * (lanes.length + 1) + EDGE,
    height: items.length * (HIGH + GAP_Y) - GAP_Y + 2 * EDGE,
  };
}

const n = (number) => Math.round(number * 10) / 10;

function down(places) {
  let d = '';
  places.forEach((place, nth) => {
    const before = places[nth - 1];
    const [top, bottom] = place.passes ? [place.y - HIGH / 2, place.y + HIGH / 2] : [place.y - HIGH / 2, place.y + HIGH / 2];
    if (!before) { d = `M${n(place.x)},${n(bottom)}`; return; }
    const from = before.y + HIGH / 2;
    d += ` C${n(before.x)},${n(from + GAP_Y / 2)} ${n(place.x)},${n(top - GAP_Y / 2)} ${n(place.x)},${n(top)}`;
    if (place.passes) d += ` V${n(bottom)}`;
  });
  return d;
}

function around(a, b, lane) {
  const [from, to, r] = [a.y + 5, b.y - 5, 6];
  return `M${n(a.x + a.wide / 2)},${n(from)} H${n(lane - r)} Q${n(lane)},${n(from)} ${n(lane)},${n(from - r)} V${n(to + r)} Q${n(lane)},${n(to)} ${n(lane - r)},${n(to)} H${n(b.x + b.wide / 2)}`;
}

const loop = ({ x, y, wide: w }) => `M${n(x - w / 2)},${n(y - 6)} c-16,-8 -16,20 0,12`;
