import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { QUICK_START } from '../../../src/platform/quick-start-argv.ts'
import { HEAP_FLAG } from '../../support/start/process.ts'

/** What is loaded with the first request that needs it, or on a thread. */
const LATER = [
  '/node_modules/openid-client/',
  '/node_modules/jose/',
  '/node_modules/hyparquet/',
  '/node_modules/hyparquet-writer/',
  '/src/console/assets.ts',
]

const LOADING = ['src/server.ts', 'src/platform/db/embedded/pglite.ts']
  .map((path) => `await import('${new URL(`../../../${path}`, import.meta.url).href}')`)
  .join('\n')
const ENGINE = new URL('../../../src/engine/index.ts', import.meta.url).href
const MIB = 1024 * 1024
/** Prints the address and format of each module that is loaded after it. */
const LISTING = `import { registerHooks } from 'node:module'
  registerHooks({ load: (url, context, next) => {
    console.log(url + ' ' + context.format)
    return next(url, context)
  } })`

/** What a process prints that runs this code. */
async function printed(
  argv: readonly string[],
  code: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const args = [...argv, '--input-type=module', '--eval', code]
  const options = { maxBuffer: 2 ** 24, env: { ...process.env, ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  return stdout.trimEnd().split('\n')
}

/** What Node loads for the service when it starts with these arguments. */
async function loadedWith(argv: readonly string[]): Promise<string[]> {
  const listing = `data:text/javascript,${encodeURIComponent(LISTING)}`
  const lines = await printed([...argv, '--import', listing], LOADING)
  // Those of Node itself are there already, or not.
  return lines.filter((line) => line.startsWith('file:')).sort()
}

// Another build of a package beside the first would have another identity of each class.
test('a quick start loads the modules that Node finds by itself, each once', async () => {
  const loaded = await loadedWith(QUICK_START)
  expect(loaded.filter((line) => line.includes('/drizzle-orm/')).length).toBeGreaterThan(100)
  expect(loaded).toEqual(await loadedWith([]))
  expect(new Set(loaded).size).toBe(loaded.length)
})

// It takes 0.1 s and 20 MB in each process and thread.
test('a start loads nothing that removes types once the cache has the modules', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'compiled-'))
  onTestFinished(() => rmSync(cache, { recursive: true }))
  const code = `${LOADING}
    console.log(process.moduleLoadList.join('\\n'))`
  const start = () => printed(QUICK_START, code, { NODE_COMPILE_CACHE: cache })
  const remover = expect.stringContaining('amaro')
  expect(await start()).toContainEqual(remover)
  expect(await start()).not.toContainEqual(remover)
})

const DAMAGES: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  'a flipped bit in its head': (bytes) => flipped(bytes, 5),
  'a flipped bit': (bytes) => flipped(bytes, bytes.length >> 1),
  'half of its bytes': (bytes) => bytes.subarray(0, bytes.length >> 1),
  'no bytes': (bytes) => bytes.subarray(0, 0),
}

function flipped(bytes: Buffer, at: number): Buffer {
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  return bytes
}

// Damaged code would run as if it were the service.
test('a start takes nothing from a damaged cache, and makes it anew', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'compiled-'))
  onTestFinished(() => rmSync(cache, { recursive: true }))
  const code = `const engine = await import('${ENGINE}')
    console.log(Object.keys(engine).length)
    console.log(process.moduleLoadList.filter((name) => name.includes('amaro')).length)`
  const start = () => printed(QUICK_START, code, { NODE_COMPILE_CACHE: cache })
  const names = () =>
    readdirSync(cache, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
  const [exported, compiled] = await start()
  expect(Number(compiled)).toBeGreaterThan(0)
  expect(names().length).toBeGreaterThan(20)
  for (const [damage, made] of Object.entries(DAMAGES)) {
    for (const name of names()) writeFileSync(name, made(readFileSync(name)))
    expect(await start(), damage).toEqual([exported, compiled])
    expect(await start(), damage).toEqual([exported, '0'])
  }
})

// Node's own `fetch` takes 0.1 s and 3 MB, and one import of `node:http` is enough to load it.
test('a start does not load what only a later request needs', async () => {
  const code = `${LOADING}
    console.log(process.moduleLoadList.join('\\n'))`
  expect(await printed(QUICK_START, code)).not.toContainEqual(expect.stringContaining('undici'))
  const loaded = await loadedWith(QUICK_START)
  const ofLater = loaded.filter((line) => LATER.some((name) => line.includes(name)))
  expect(ofLater).toEqual([])
})

// V8 keeps a young generation of 64 MiB when the modules are loaded, 35 MB of it in memory.
test('the memory that a start needed for its own goes back to the system', async () => {
  const garbage = new URL('../../../src/platform/start-garbage.ts', import.meta.url).href
  const code = `import { getHeapSpaceStatistics } from 'node:v8'
    ${LOADING}
    const { collectStartGarbage } = await import('${garbage}')
    const young = () =>
      getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size
    console.log(young())
    await collectStartGarbage()
    console.log(young())`
  const [before = 0, after = 0] = (await printed(QUICK_START, code)).map(Number)
  expect(before).toBeGreaterThan(16 * MIB)
  expect(after).toBeLessThanOrEqual(4 * MIB)
})

// V8 prefers the flag to the bound of a thread, whose young objects then stay in memory.
test('a thread has its own bound of young objects, and the process that of the flag', async () => {
  const filling = `const { getHeapSpaceStatistics } = await import('node:v8')
    for (let round = 0; round < 60; round++) {
      const held = []
      for (let n = 0; n < 200_000; n++) held.push({ n, of: [n] })
    }
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    console.log(young.space_size)`
  const code = `import { once } from 'node:events'
    import { Worker } from 'node:worker_threads'
    const resourceLimits = { maxYoungGenerationSizeMb: 24 }
    await once(new Worker(${JSON.stringify(filling)}, { eval: true, resourceLimits }), 'exit')
    ${filling}`
  const [ofThread = 0, own = 0] = (await printed([HEAP_FLAG, ...QUICK_START], code)).map(Number)
  expect(ofThread).toBeGreaterThan(0)
  expect(ofThread).toBeLessThanOrEqual(24 * MIB)
  expect(own).toBeGreaterThan(32 * MIB)
  expect(own).toBeLessThanOrEqual(64 * MIB)
})

/** Sends the process a signal as soon as it loads the command line. */
const signalling = (signal: string) => `import { registerHooks } from 'node:module'
  registerHooks({ load: (url, context, next) => {
    if (url.endsWith('/src/cli/main.ts')) process.kill(process.pid, '${signal}')
    return next(url, context)
  } })`

test.each(['SIGTERM', 'SIGINT'])('%s while the service loads ends it, with 0', async (signal) => {
  const program = fileURLToPath(new URL('../../../src/cli/scoreline.mjs', import.meta.url))
  const code = `data:text/javascript,${encodeURIComponent(signalling(signal))}`
  const directory = mkdtempSync(join(tmpdir(), 'ended-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const child = spawn(process.execPath, ['--import', code, program, 'serve'], {
    env: { PATH: process.env['PATH'], DATA_DIR: directory, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [[end, by], errors] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  expect({ end, by, errors }).toEqual({ end: 0, by: null, errors: '' })
})
