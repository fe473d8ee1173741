// What differs between two values, place by place.
export function differences(before, after, path = '') {
  if (Object.is(before, after)) return [];
  const kinds = [before, after].map((value) => (Array.isArray(value) ? 'list' : value && typeof value === 'object' ? 'object' : 'plain'));
  if (kinds[0] !== kinds[1] || kinds[0] === 'plain') return [{ path: path || '/', before, after }];
  const names = kinds[0] === 'list'
    ? [...Array(Math.max(before.length, after.length)).keys()]
    : [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => differences(before[name], after[name], `${path}/${name}`));
}
