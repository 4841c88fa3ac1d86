import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { QUICK_START } from '../../../src/platform/quick-start-argv.ts'

const ENTRIES = ['src/server.ts', 'src/platform/db/embedded/pglite.ts'].map(
  (path) => new URL(`../../../${path}`, import.meta.url).href,
)
/** Prints the address and format of each module that is loaded after it. */
const LISTING = `import { registerHooks } from 'node:module'
  registerHooks({ load: (url, context, next) => {
    console.log(url + ' ' + context.format)
    return next(url, context)
  } })`

/** What Node loads for the service when it starts with these arguments. */
async function loadedWith(argv: readonly string[]): Promise<string[]> {
  const listing = `data:text/javascript,${encodeURIComponent(LISTING)}`
  const code = ENTRIES.map((url) => `await import('${url}')`).join('\n')
  const args = [...argv, '--import', listing, '--input-type=module', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 })
  const lines = stdout.trimEnd().split('\n')
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
