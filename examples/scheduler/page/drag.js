// Moving things with a mouse, a pen or a finger. A mouse moves at once, a finger after it was held.
const HOLD = 300;
const SLACK = 6;

export class Drag {
  #held = null;
  #dropped = 0;

  // `over(cell)` says above which cell of the table something is, and `drop(id, cell)` that it is let go.
  constructor(root, { over, drop }) {
    this.root = root;
    this.over = over;
    this.drop = drop;
    // A finger that carries something scrolls nothing.
    root.addEventListener('touchmove', (event) => this.#held?.ghost && event.preventDefault(), { passive: false });
    root.addEventListener('contextmenu', (event) => this.#held && event.preventDefault());
  }

  // True right after something was dropped, when the click that follows means nothing.
  dropped() {
    return performance.now() - this.#dropped < 50;
  }

  lift(event, id) {
    if (event.button !== 0 || !event.isPrimary) return;
    event.stopPropagation();
    this.#end();
    const item = event.currentTarget;
    const held = { id, item, x: event.clientX, y: event.clientY, ghost: null, cell: null, stop: new AbortController() };
    this.#held = held;
    const finger = event.pointerType !== 'mouse';
    if (finger) held.timer = setTimeout(() => this.#begin(held), HOLD);
    const options = { signal: held.stop.signal };
    document.addEventListener('pointermove', (moved) => {
      const far = Math.hypot(moved.clientX - held.x, moved.clientY - held.y) > SLACK;
      if (!held.ghost && far && finger) this.#end();
      else if (!held.ghost && far) this.#begin(held);
      if (held.ghost) this.#follow(held, moved.clientX, moved.clientY);
    }, options);
    document.addEventListener('pointerup', () => {
      const { cell, ghost } = held;
      this.#end();
      if (ghost) this.#dropped = performance.now();
      if (ghost && cell) this.drop(id, cell);
    }, options);
    document.addEventListener('pointercancel', () => this.#end(), options);
    document.addEventListener('keydown', ({ key }) => key === 'Escape' && this.#end(), options);
  }

  #begin(held) {
    const box = held.item.getBoundingClientRect();
    held.ghost = held.item.cloneNode(true);
    held.ghost.classList.add('ghost');
    held.ghost.removeAttribute('id');
    Object.assign(held.ghost.style, { width: `${box.width}px`, height: `${Math.min(box.height, 90)}px` });
    held.item.classList.add('lifted');
    document.body.append(held.ghost);
    document.body.classList.add('dragging');
    navigator.vibrate?.(10);
    this.#follow(held, held.x, held.y);
  }

  #follow(held, x, y) {
    Object.assign(held.ghost.style, { left: `${x + 8}px`, top: `${y + 8}px` });
    const there = document.elementFromPoint(x, y)?.closest('td[data-day]');
    // A cell that several rows share is as many cells.
    held.cell = there && this.root.contains(there) ? row(there, y) : null;
    this.over(there ?? null);
  }

  #end() {
    const held = this.#held;
    if (!held) return;
    this.#held = null;
    clearTimeout(held.timer);
    held.stop.abort();
    held.ghost?.remove();
    held.item.classList.remove('lifted');
    document.body.classList.remove('dragging');
    this.over(null);
  }
}

function row(cell, y) {
  const box = cell.getBoundingClientRect();
  const nth = Math.floor((y - box.top) / (box.height / (cell.rowSpan || 1)));
  return { dataset: { day: cell.dataset.day, section: String(Number(cell.dataset.section) + Math.max(0, Math.min(nth, cell.rowSpan - 1))) } };
}
