import { enableCompileCache, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

/*
 * Loaded before all else, by processes and threads, see `QUICK_START`: it makes what Node does
 * after it faster, and changes nothing of it.
 *
 * It is JavaScript, because Node removes types with a program of its own, which takes 0.1 s and 20
 * MB. That is not loaded where the cache below has each module without its types, and this is the
 * one module that the cache can't have.
 *
 * To load the service takes 3.5 s of processor time and 310 MB without this module, 2.0 s and 160 MB
 * without the cache, 2.4 s and 290 MB without the hook, 1.0 s and 140 MB with both:
 *
 *   node [--import ./src/platform/quick-start.mjs] --input-type=module -e "
 *     await import('./src/app.ts'); await import('./src/services.ts')
 *     console.log(process.cpuUsage(), process.memoryUsage.rss())"
 */

/*
 * Node looks at the file system for each of 4,700 imports, and parses the package.json of a package
 * anew for each import of the package and for each file in it. That took 40 % of the processor time
 * in which the service is loaded.
 */
const ROOT = new URL('../../', import.meta.url).href
const OWN = ['src/', 'schemas/', 'test/', 'bench/'].map((folder) => ROOT + folder)
/** Name of a package, with a path in it, or of a module of Node; not a URL or an absolute path. */
const NAME = /^(?:node:|@)?[\w.-]+(?:\/|$)/
/** Packages in which every file is a module, though its name does not say so. */
const MODULES_ONLY = ['drizzle-orm', 'hyparquet', 'hyparquet-writer'].map(
  (name) => `/node_modules/${name}/`,
)

/**
 * What the names of packages lead to in the service's own modules; each package is there once.
 *
 * @type {Map<string, import('node:module').ResolveFnOutput>}
 */
const known = new Map()

/**
 * The format of a file that a module names by its path, if its name and its place say it.
 *
 * @param {string} path what the module writes
 * @param {string} parentURL the module
 */
function findFormat(path, parentURL) {
  if (path.endsWith('.mjs')) return 'module'
  if (path.endsWith('.ts') && OWN.some((folder) => parentURL.startsWith(folder))) {
    return 'module-typescript'
  }
  const isModule = path.endsWith('.js') && MODULES_ONLY.some((place) => parentURL.includes(place))
  return isModule ? 'module' : null
}

registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL, conditions } = context
    if (parentURL === undefined || !conditions.includes('import')) return next(specifier, context)
    if (specifier.startsWith('.')) {
      const format = findFormat(specifier, parentURL)
      if (format === null) return next(specifier, context)
      return { url: new URL(specifier, parentURL).href, format, shortCircuit: true }
    }
    const isOfOwn = OWN.some((folder) => parentURL.startsWith(folder))
    const isName = NAME.test(specifier) && (isOfOwn || specifier.startsWith('drizzle-orm'))
    if (!isName) return next(specifier, context)
    const resolved = known.get(specifier) ?? { ...next(specifier, context), shortCircuit: true }
    known.set(specifier, resolved)
    return resolved
  },
})

// What Node compiles is kept for the next start. Where the directory can't be written, nothing is
// kept. An operator's NODE_COMPILE_CACHE names another one.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)))

// V8 prefers the flag of the command line to the bounds that a thread was given: the young objects
// of reports, exports and batches took 67 MB each. This thread keeps what it began with.
if (isMainThread) setFlagsFromString('--max-semi-space-size=0')
