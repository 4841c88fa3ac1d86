import type { Import } from './imports.ts'

/** A room is a folder directly below `src`, or a file there. */
export function findRoom(file: string): string | null {
  return /^src\/([^/]+)/.exec(file)?.[1] ?? null
}

/** One import from a room to another. */
interface RoomImport extends Import {
  readonly room: string
  readonly targetRoom: string
}

/** The imports that leave their room for another room of `src`. */
export function importsBetweenRooms(imports: readonly Import[]): RoomImport[] {
  return imports.flatMap((one) => {
    const room = findRoom(one.file)
    const targetRoom = one.target === null ? null : findRoom(one.target)
    if (room === null || targetRoom === null || room === targetRoom) return []
    return [{ ...one, room, targetRoom }]
  })
}

/** The pairs of rooms of which the first imports the second. */
export function edgesBetween(imports: readonly RoomImport[]): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>()
  for (const { room, targetRoom } of imports) {
    edges.set(room, (edges.get(room) ?? new Set()).add(targetRoom))
  }
  return edges
}

/**
 * The groups of nodes that reach each other, each sorted; a graph without cycles has none.
 *
 * @param edges each node with the nodes that it points to
 */
export function readCycles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reached = new Map([...edges.keys()].map((node) => [node, reachableFrom(node, edges)]))
  const groups = new Map<string, string[]>()
  for (const [node, others] of reached) {
    if (!others.has(node)) continue
    const group = [...others].filter((other) => reached.get(other)?.has(node)).sort()
    groups.set(group.join(' '), group)
  }
  return [...groups.values()]
}

function reachableFrom(
  start: string,
  edges: ReadonlyMap<string, ReadonlySet<string>>,
): Set<string> {
  const reached = new Set<string>()
  const open = [...(edges.get(start) ?? [])]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (reached.has(node)) continue
    reached.add(node)
    open.push(...(edges.get(node) ?? []))
  }
  return reached
}

/**
 * The imports that run upwards in a list of layers.
 *
 * @param layers rooms from the ground up; the rooms of one layer may import each other
 */
export function upwardImports(
  imports: readonly RoomImport[],
  layers: readonly (readonly string[])[],
): RoomImport[] {
  const readLayer = (room: string) => layers.findIndex((layer) => layer.includes(room))
  return imports.filter(({ room, targetRoom }) => readLayer(room) < readLayer(targetRoom))
}
