import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { findPackageJSON, stripTypeScriptTypes } from 'node:module'
import { basename, extname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** A file in the form in which browsers receive it. */
export interface Asset {
  readonly contentType: string
  readonly plain: Buffer
  readonly gzipped: Buffer
}

/** All files of the console. */
export interface ConsoleFiles {
  /** Hash of all assets and part of their URLs, so that each release has its own URLs. */
  readonly version: string
  /** Assets by name. */
  readonly assets: ReadonlyMap<string, Asset>
  /** The HTML page that loads the assets, and its hash. */
  readonly page: Asset
  readonly pageVersion: string
}

const PAGE = new URL('./page/', import.meta.url)
const SOURCES = fileURLToPath(new URL('..', import.meta.url))
const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
const STYLE_TYPE = 'text/css; charset=utf-8'
const VERSION_CHARS = 16

/** Module files of the libraries; `end` turns a script that sets a variable into a module. */
const LIBRARIES: Readonly<Record<string, { in: string; file: string; end?: string }>> = {
  preact: { in: 'preact', file: 'dist/preact.mjs' },
  'preact/hooks': { in: 'preact', file: 'hooks/dist/hooks.mjs' },
  htm: { in: 'htm', file: 'dist/htm.mjs' },
  'htm/preact': { in: 'htm', file: 'preact/index.mjs' },
  uplot: { in: 'uplot', file: 'dist/uPlot.iife.min.js', end: '\nexport default uPlot\n' },
}

/**
 * Builds the files that browsers run: removes types from TypeScript, reads libraries from their
 * packages, and replaces each import by its URL. It is for a thread of its own, see
 * `openConsoleFiles`.
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

/** All modules that one imports; `firstModules` are needed at once, so the page preloads them. */
function modulesFrom(entry: URL): { texts: Map<string, string>; firstModules: string[] } {
  const texts = new Map<string, string>()
  const add = (source: URL | string): string[] => {
    const name = nameOf(source)
    if (texts.has(name)) return []
    const imports: { source: URL | string; isLazy: boolean }[] = []
    const text = textOf(source).replace(
      // Matches `import`, `export … from` and `import()`, but not these words inside a text or a
      // URL.
      /(?<![\w'"/])(from\s*|import\s*\(?\s*)(['"])([\w@./-]+)\2/g,
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

/**
 * Asset name: from the specifier of a library, the file name of the page, or the path in `src/`.
 */
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

/** Suppresses Node's warning that the function is experimental, which operators can't act on. */
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

/** Uses relative URLs, so that a proxy may serve the service under any path. */
function pageOf(version: string, firstModules: readonly string[]): string {
  const at = (name: string) => `console/assets/${version}/${name}`
  const ahead = firstModules.map((name) => `<link rel="modulepreload" href="${at(name)}">`)
  return read(new URL('index.html', PAGE))
    .replace('<!-- modules -->', ahead.join('\n    '))
    .replace(/"assets\/([\w.-]+)"/g, (_all, name: string) => `"${at(name)}"`)
}
