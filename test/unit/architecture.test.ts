import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LINES_MAX = 400
const DRIVERS = '(drizzle-orm|postgres|ioredis|@electric-sql)'

interface Import {
  readonly file: string
  readonly from: string
}

/** Every TypeScript file below a folder, as a path from the root. */
function filesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('node_modules'))
}

function importsUnder(folder: string): Import[] {
  return filesUnder(folder).flatMap((file) =>
    [
      ...read(file).matchAll(
        /^(?:import|export)\b[^'"]*?from '([^']+)'|^import '([^']+)'|import\('([^']+)'\)/gms,
      ),
    ].map((match) => ({ file, from: match[1] ?? match[2] ?? match[3] ?? '' })),
  )
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** What a file may not import, and why it would hurt. */
const FORBIDDEN = [
  // The arithmetic of a decision must be readable and testable without the rest.
  { in: /^src\/engine\//, what: /^(?!\.\/)/ },
  { in: /^schemas\//, what: /^(?!\.\/|\.\.\/[\w-]+\.ts$|@sinclair\/typebox$)/ },
  // Use cases know neither HTTP nor a driver.
  { in: /\/(service|cache)\.ts$/, what: new RegExp(`^(@?fastify|${DRIVERS})`) },
  { in: /\/(service|cache)\.ts$/, what: /\/(store|routes|plugin|config)\.ts$/ },
  { in: /\/store\.ts$|^src\/db\//, what: /^@?fastify|\/(routes|plugin)\.ts$/ },
  { in: /\/(routes|plugin)\.ts$|^src\/(http|plugins)\//, what: new RegExp(`^${DRIVERS}`) },
  { in: /\/(routes|plugin)\.ts$|^src\/(http|plugins)\//, what: /\/store\.ts$|\/db\// },
  // Of the engine the rest sees its index only.
  { in: /^src\/(?!engine\/)/, what: /\/engine\/(?!index\.ts$)/ },
  // Nothing but the process and its wiring knows the configuration.
  { in: /^src\/\w+\/(?!run\.ts)/, what: /\/config\.ts$/ },
  // What runs in production needs no tool of development.
  { in: /^(src|schemas)\//, what: /^(vitest|fast-check)|\/test\// },
]

test.each(FORBIDDEN)('$in imports nothing like $what', (rule) => {
  const all = [...importsUnder('src'), ...importsUnder('schemas')]
  expect(all.length).toBeGreaterThan(100)
  const found = all.filter(({ file, from }) => rule.in.test(file) && rule.what.test(from))
  expect(found).toEqual([])
})

test('domains form no cycle', () => {
  const uses = new Map<string, Set<string>>()
  for (const { file, from } of importsUnder('src')) {
    const domain = /^src\/(\w+)\//.exec(file)?.[1]
    const other = /^\.\.\/(\w+)\//.exec(from)?.[1]
    if (domain === undefined || other === undefined || other === domain) continue
    uses.set(domain, (uses.get(domain) ?? new Set()).add(other))
  }
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(uses.get(from) ?? [])].some(
      (next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))),
    )
  expect(uses.size).toBeGreaterThan(5)
  expect([...uses.keys()].filter((domain) => reaches(domain, domain))).toEqual([])
})

// The environment is read once, so that a start fails for it or no later moment does.
test('only the processes hand the environment to the configuration', () => {
  const readers = filesUnder('src').filter((file) => read(file).includes('process.env'))
  expect(readers.sort()).toEqual([
    ...['src/admin.ts', 'src/demo/run.ts', 'src/export.ts', 'src/import.ts', 'src/server.ts'],
  ])
})

// An async hook costs each request a turn of the promise queue, whether it waits or not.
test('no hook of the request is an async function', () => {
  const hooks = /addHook\(\s*'(?!onClose|onReady|onListen)\w+',\s*async\b/
  expect(filesUnder('src').filter((file) => hooks.test(read(file)))).toEqual([])
})

test('only processes end the process', () => {
  const enders = filesUnder('src').filter((file) => /process\.exit\b/.test(read(file)))
  for (const file of enders)
    expect(file).toMatch(/^src\/(server|admin|export|demo\/run|db\/embedded-(init|worker))\.ts$/)
})

test(`no file is longer than ${LINES_MAX} lines`, () => {
  // What a generator writes, a test makes and git ignores.
  const files = ['src', 'schemas', 'test', 'bench']
    .flatMap(filesUnder)
    .filter((file) => file !== 'test/client/openapi.ts')
  const long = files.filter((file) => read(file).split('\n').length > LINES_MAX + 1)
  expect(long).toEqual([])
})
