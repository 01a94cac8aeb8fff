/** Owns a bounded memory that drops what was put first. Must not know its use. */

/** Puts an entry at the map's end, and drops the first one beyond the count: the map keeps the entries that were put last. */
export function keepLast<K, V>(map: Map<K, V>, key: K, value: V, maxCount: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > maxCount) map.delete(map.keys().next().value as K);
}
