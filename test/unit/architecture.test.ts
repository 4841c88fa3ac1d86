import { describe, expect, test } from 'vitest'
import {
  filesUnder,
  GENERATED,
  type Import,
  importsUnder,
  readSource,
} from '../support/structure/imports.ts'
import { LAYERS } from '../support/structure/layers.ts'
import {
  edgesBetween,
  findRoom,
  importsBetweenRooms,
  readCycles,
  upwardImports,
} from '../support/structure/rooms.ts'

const LINES_MAX = 400
const LOOSE_FILES_MAX = 5
const DRIVERS = '(drizzle-orm|postgres|ioredis|@electric-sql)'

interface Rule {
  readonly in: RegExp
  readonly what: RegExp
  /** Whether an import of types alone is allowed. */
  readonly unlessType?: boolean
}

/** What a file may not import, and why it would hurt. */
const FORBIDDEN: readonly Rule[] = [
  // The arithmetic of a decision must be readable and testable without the rest.
  { in: /^src\/engine\//, what: /^(?!\.\/)/ },
  { in: /^schemas\//, what: /^(?!\.\/|\.\.\/[\w-]+\.ts$|@sinclair\/typebox$)/ },
  // The tables are drizzle's; what is done with them stands in the stores.
  { in: /^src\/tables\//, what: /^(?!\.\/|drizzle-orm|\.\.\/\.\.\/schemas\/)/ },
  // Use cases know neither HTTP nor a driver.
  { in: /\/(service|\w+-cache)\.ts$/, what: new RegExp(`^(@?fastify|${DRIVERS})`) },
  { in: /\/(service|\w+-cache)\.ts$/, what: /\/(routes|plugin|config)\.ts$/ },
  // They name the type of a store; what makes one is the wiring.
  { in: /\/(service|\w+-cache)\.ts$/, what: /\/(?!object-)[\w-]*store\.ts$/, unlessType: true },
  { in: /store\.ts$|^src\/platform\//, what: /^@?fastify|\/(routes|plugin)\.ts$/ },
  { in: /\/(routes|plugin)\.ts$|^src\/http\/[\w-]+\.ts$/, what: new RegExp(`^${DRIVERS}`) },
  { in: /\/(routes|plugin)\.ts$|^src\/http\/[\w-]+\.ts$/, what: /\/store\.ts$|\/db\// },
  // The rest sees the engine's index only.
  { in: /^src\/(?!engine\/)/, what: /\/engine\/(?!index\.ts$)/ },
  // And the doors of the log: one for its types and values, and one for each kind of user.
  {
    in: /^src\/(?!log\/)/,
    what: /(^|\/)log\/(?!(index|database|wiring|tools)\.ts$)/,
  },
  { in: /^src\/(?!log\/|(services|app|server)\.ts$)/, what: /(^|\/)log\/wiring\.ts$/ },
  { in: /^src\/(?!log\/|cli\/)/, what: /(^|\/)log\/tools\.ts$/ },
  { in: /^src\/log\//, what: /\/(database|wiring|tools)\.ts$|^\.\.\/(\.\.\/)?index\.ts$/ },
  { in: /\/service\.ts$|^src\/scoring\//, what: /\/log\/database\.ts$/ },
  // Only processes and their wiring know the configuration.
  { in: /^src\/(?!cli\/)\w[\w-]*\//, what: /\/config\.ts$/ },
  // Production code needs no development tool.
  { in: /^(src|schemas)\//, what: /^(vitest|fast-check)|\/test\// },
]

const imports: readonly Import[] = importsUnder('src')

test.each(FORBIDDEN)('$in imports nothing like $what', (rule) => {
  const all = [...imports, ...importsUnder('schemas')]
  expect(all.length).toBeGreaterThan(100)
  const found = all.filter(
    ({ file, from, isTypeOnly }) =>
      rule.in.test(file) && rule.what.test(from) && !(rule.unlessType === true && isTypeOnly),
  )
  expect(found).toEqual([])
})

describe('the rooms of src', () => {
  const between = importsBetweenRooms(imports)
  const rooms = new Set(filesUnder('src').map((file) => findRoom(file)))

  test('each stands in one layer', () => {
    expect(LAYERS.flat().toSorted()).toEqual([...rooms].toSorted())
  })

  // An import from a lower layer to a higher one makes two parts one.
  test('import downwards only', () => {
    expect(between.length).toBeGreaterThan(100)
    const found = upwardImports(between, LAYERS).map(({ file, target }) => `${file} -> ${target}`)
    expect(found).toEqual([])
  })

  test('form no cycle', () => {
    expect(readCycles(edgesBetween(between))).toEqual([])
  })

  // What knows no domain can be read, tested and replaced without one.
  test('platform imports no domain', () => {
    const found = between.filter(
      ({ room, targetRoom }) => room === 'platform' && targetRoom !== 'errors.ts',
    )
    expect(found.map(({ file, target }) => `${file} -> ${target}`)).toEqual([])
  })

  test(`hold at most ${LOOSE_FILES_MAX} loose files`, () => {
    const loose = [...rooms].filter((room) => room?.endsWith('.ts'))
    expect(loose.length).toBeLessThanOrEqual(LOOSE_FILES_MAX)
  })
})

// A cycle makes the order matter in which files load; one of types alone is read as one file.
test('files form no cycle', () => {
  const edges = new Map<string, Set<string>>()
  for (const { file, target } of imports) {
    if (target === null) continue
    edges.set(file, (edges.get(file) ?? new Set()).add(target))
  }
  expect(edges.size).toBeGreaterThan(100)
  expect(readCycles(edges)).toEqual([])
})

// The check itself: without these, a check that sees nothing would pass.
describe('the check of layers', () => {
  const from = (room: string, targetRoom: string) => ({
    file: `src/${room}/a.ts`,
    from: `../${targetRoom}/b.ts`,
    target: `src/${targetRoom}/b.ts`,
    isTypeOnly: false,
    room,
    targetRoom,
  })

  test('finds an upward import', () => {
    const all = [from('scoring', 'engine'), from('engine', 'scoring')]
    expect(upwardImports(all, [['engine'], ['scoring']])).toEqual([all[1]])
  })

  test('finds a cycle of three rooms and no other room', () => {
    const all = [from('a', 'b'), from('b', 'c'), from('c', 'a'), from('a', 'd')]
    expect(readCycles(edgesBetween(all))).toEqual([['a', 'b', 'c']])
  })
})

// The environment is read once, so that a wrong variable fails the start and not a later moment.
test('only the processes hand the environment to the configuration', () => {
  const readers = filesUnder('src').filter((file) => readSource(file).includes('process.env'))
  expect(readers.every((file) => /^src\/(cli\/(demo\/)?\w[\w-]*|server)\.ts$/.test(file))).toBe(
    true,
  )
  expect(readers).toContain('src/server.ts')
})

// An async hook costs each request a turn of the promise queue, whether it waits or not.
describe('no hook of the request is an async function', () => {
  const asyncHook = /addHook\(\s*'(?!onClose|onReady|onListen)\w+',\s*async\b/

  test('in src', () => {
    expect(filesUnder('src').filter((file) => asyncHook.test(readSource(file)))).toEqual([])
  })

  test('and the check finds one', () => {
    expect(asyncHook.test("app.addHook('onRequest', async (request) => {})")).toBe(true)
    expect(asyncHook.test("app.addHook('onClose', async () => {})")).toBe(false)
  })
})

test('only processes end the process', () => {
  const enders = filesUnder('src').filter((file) => /process\.exit\b/.test(readSource(file)))
  for (const file of enders) {
    expect(file).toMatch(
      /^src\/(server|cli\/(demo\/)?\w[\w-]*|platform\/exit|platform\/db\/embedded\/embedded-(init|worker))\.ts$/,
    )
  }
})

test(`no file is longer than ${LINES_MAX} lines`, () => {
  // Generated files that git ignores do not count.
  const files = ['src', 'schemas', 'test', 'bench', 'clients', 'docs']
    .flatMap(filesUnder)
    .filter((file) => !GENERATED.includes(file))
  const long = files.filter((file) => readSource(file).split('\n').length > LINES_MAX + 1)
  expect(long).toEqual([])
})
