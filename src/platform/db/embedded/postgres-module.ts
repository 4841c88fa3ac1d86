import { readFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'

// Some hundred queries after each start, V8's optimizing compiler takes 600 MB for one function of
// PGlite, the SQL parser. Without that compiler a query takes 10 to 50 percent longer, and the
// process takes a quarter of the memory. The flags apply to all WebAssembly of the process.
const V8_FLAGS = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']

let compiled: Promise<WebAssembly.Module> | null = null

/**
 * PostgreSQL as PGlite has it. Threads that get this module share what V8 compiles of it: the
 * second one of a process opens its database in half of the time.
 *
 * @throws Error if the file of the package can't be read
 */
export function postgresModule(): Promise<WebAssembly.Module> {
  compiled ??= compile().catch((error: unknown) => {
    compiled = null
    throw error
  })
  return compiled
}

async function compile(): Promise<WebAssembly.Module> {
  const program = new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))
  for (const flag of V8_FLAGS) setFlagsFromString(flag)
  return WebAssembly.compile(await readFile(program))
}
