import { enableCompileCache, type ResolveFnOutput, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/*
 * Loaded before all else, by processes and threads, see `QUICK_START`: it makes what Node does
 * after it faster, and changes nothing of it.
 *
 * Node parses the package.json of a package anew for each import of the package and for each file
 * in it. That of drizzle-orm has 179 kB, which were parsed 600 times: half of the processor time
 * that a start takes.
 */
const PACKAGE = 'drizzle-orm'
const FILES = `/node_modules/${PACKAGE}/`

/** What its names lead to; the package is there once. */
const known = new Map<string, ResolveFnOutput>()

registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL, conditions } = context
    if (specifier.startsWith('.') && parentURL?.includes(FILES)) {
      return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true }
    }
    if (!specifier.startsWith(PACKAGE) || !conditions.includes('import')) {
      return next(specifier, context)
    }
    const resolved = known.get(specifier) ?? { ...next(specifier, context), shortCircuit: true }
    known.set(specifier, resolved)
    return resolved
  },
})

// What Node compiles is kept for the next start. Where the directory can't be written, nothing is
// kept. An operator's NODE_COMPILE_CACHE names another one.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)))
