import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { findPackageJSON, stripTypeScriptTypes } from 'node:module'
import { basename, extname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** A file as the browser gets it. */
export interface Asset {
  readonly contentType: string
  readonly plain: Buffer
  readonly gzipped: Buffer
}

/** The console as the browser gets it. */
export interface ConsoleFiles {
  /** Names all assets together: under another release they have other addresses. */
  readonly version: string
  /** By their names below the version's address. */
  readonly assets: ReadonlyMap<string, Asset>
  /** The page that loads them, and what names it as it is. */
  readonly page: Asset
  readonly pageVersion: string
}

const PAGE = new URL('./page/', import.meta.url)
const SOURCES = fileURLToPath(new URL('..', import.meta.url))
const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
const STYLE_TYPE = 'text/css; charset=utf-8'
const VERSION_CHARS = 16

/** Where a library's module lies in its package; a script that sets a variable becomes a module by its end. */
const LIBRARIES: Readonly<Record<string, { in: string; file: string; end?: string }>> = {
  preact: { in: 'preact', file: 'dist/preact.mjs' },
  'preact/hooks': { in: 'preact', file: 'hooks/dist/hooks.mjs' },
  htm: { in: 'htm', file: 'dist/htm.mjs' },
  'htm/preact': { in: 'htm', file: 'preact/index.mjs' },
  uplot: { in: 'uplot', file: 'dist/uPlot.iife.min.js', end: '\nexport default uPlot\n' },
}

/**
 * Makes of the console's sources what the browser runs: TypeScript without its types, libraries out of
 * their packages, each import by its address.
 *
 * It takes some tens of milliseconds, once, before the service listens.
 */
export function readConsole(): ConsoleFiles {
  const { texts, firstModules } = modulesFrom(new URL('main.ts', PAGE))
  texts.set('theme.js', stripped(new URL('theme.ts', PAGE)))
  texts.set('console.css', read(new URL('console.css', PAGE)))
  texts.set('uplot.css', readFileSync(inPackage('uplot', 'dist/uPlot.min.css'), 'utf8'))
  const all = [...texts].map(([name, text]) => `${name}\n${text}`).join('\n')
  const version = hash('sha256', all, 'base64url').slice(0, VERSION_CHARS)
  const assets = [...texts].map(([name, text]) => [name, assetOf(name, text)] as const)
  const page = assetOf('index.html', pageOf(version, firstModules))
  const pageVersion = hash('sha256', page.plain, 'base64url')
  return { version, assets: new Map(assets), page, pageVersion }
}

/** The modules that one leads to; those that it needs at once come first, and are to be fetched ahead. */
function modulesFrom(entry: URL): { texts: Map<string, string>; firstModules: string[] } {
  const texts = new Map<string, string>()
  const add = (source: URL | string): string[] => {
    const name = nameOf(source)
    if (texts.has(name)) return []
    const imports: { source: URL | string; isLazy: boolean }[] = []
    const text = textOf(source).replace(
      // Of an import or export, and of `import()`.
      /(\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"]+)\2/g,
      (_all, before: string, quote: string, specifier: string) => {
        const target = specifier.startsWith('.') ? new URL(specifier, source) : specifier
        imports.push({ source: target, isLazy: before.includes('(') })
        return `${before}${quote}./${nameOf(target)}${quote}`
      },
    )
    texts.set(name, text)
    const eager = imports.filter(({ isLazy }) => !isLazy).flatMap((one) => add(one.source))
    for (const one of imports.filter(({ isLazy }) => isLazy)) add(one.source)
    return [name, ...eager]
  }
  return { firstModules: add(entry), texts }
}

/** A library by its specifier, one of the console's files by its name, another source by its path. */
function nameOf(source: URL | string): string {
  if (typeof source === 'string') return `${source.replace('/', '-')}.js`
  const path = fileURLToPath(source)
  const isOwn = source.href.startsWith(PAGE.href)
  const name = isOwn ? basename(path) : relative(SOURCES, path).replaceAll('/', '-')
  return name.replace(/\.ts$/, '.js')
}

function textOf(source: URL | string): string {
  if (typeof source !== 'string') return stripped(source)
  const library = LIBRARIES[source]
  if (library === undefined) throw new TypeError(`the console has no library ${source}`)
  const text = readFileSync(inPackage(library.in, library.file), 'utf8')
  return text.replace(/^\/\/# sourceMappingURL=.*$/m, '') + (library.end ?? '')
}

function inPackage(name: string, file: string): URL {
  const found = findPackageJSON(name, import.meta.url)
  if (found === undefined) throw new Error(`the package ${name} is missing: run npm ci`)
  return new URL(file, `file://${found}`)
}

function read(source: URL): string {
  return readFileSync(source, 'utf8')
}

/** Node tells with a warning that the function may change: of no use to who runs the service. */
function stripped(source: URL): string {
  const { emitWarning } = process
  try {
    process.emitWarning = () => {}
    return stripTypeScriptTypes(read(source))
  } finally {
    process.emitWarning = emitWarning
  }
}

function assetOf(name: string, text: string): Asset {
  const contentType =
    { '.css': STYLE_TYPE, '.html': 'text/html; charset=utf-8' }[extname(name)] ?? SCRIPT_TYPE
  const plain = Buffer.from(text)
  return { contentType, plain, gzipped: gzipSync(plain, { level: 9 }) }
}

/** Addresses are relative, so that a proxy may put the service under a path of its own. */
function pageOf(version: string, firstModules: readonly string[]): string {
  const at = (name: string) => `console/assets/${version}/${name}`
  const ahead = firstModules.map((name) => `<link rel="modulepreload" href="${at(name)}">`)
  return read(new URL('index.html', PAGE))
    .replace('<!-- modules -->', ahead.join('\n    '))
    .replace(/"assets\/([\w.-]+)"/g, (_all, name: string) => `"${at(name)}"`)
}
