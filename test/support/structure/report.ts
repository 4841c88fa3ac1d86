import { filesUnder, importsUnder } from './imports.ts'
import { LAYERS } from './layers.ts'
import { edgesBetween, findRoom, importsBetweenRooms, readCycles, upwardImports } from './rooms.ts'

// Prints the figures of the tree: `npm run structure`.
const imports = importsUnder('src')
const between = importsBetweenRooms(imports)
const rooms = new Set(filesUnder('src').map(findRoom))
const edges = edgesBetween(between)
const pairs = [...edges.values()].reduce((sum, targets) => sum + targets.size, 0)
const fileEdges = new Map<string, Set<string>>()
for (const { file, target } of imports) {
  if (target !== null) fileEdges.set(file, (fileEdges.get(file) ?? new Set()).add(target))
}
const list = (groups: readonly (readonly string[])[]) =>
  groups.map((group) => `  ${group.join(' ')}`).join('\n')

const upward = upwardImports(between, LAYERS)
process.stdout.write(
  `${[
    `rooms (folders and files directly below src): ${rooms.size}`,
    `  of these files: ${[...rooms].filter((room) => room?.endsWith('.ts')).length}`,
    `pairs of rooms of which one imports the other: ${pairs}`,
    `import statements between rooms: ${between.length}`,
    `upward imports: ${upward.length}`,
    list(upward.map(({ file, target }) => [file, '->', target ?? ''])),
    `cycles of rooms: ${readCycles(edges).length}`,
    list(readCycles(edges)),
    `cycles of files: ${readCycles(fileEdges).length}`,
    list(readCycles(fileEdges)),
  ]
    .filter((line) => line !== '')
    .join('\n')}\n`,
)
