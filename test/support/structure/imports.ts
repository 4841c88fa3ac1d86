import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** What a generator writes: nobody reads it for its style. The first one is ignored by git. */
export const GENERATED: readonly string[] = [
  'test/client/openapi.ts',
  'clients/typescript/src/openapi.ts',
]

/** One import statement of a file. */
export interface Import {
  /** The importing file, as a path from the root. */
  readonly file: string
  /** What the statement names, as written. */
  readonly from: string
  /** The imported file as a path from the root; null for a package. */
  readonly target: string | null
  /** True when only types are imported, so that nothing is loaded at run time. */
  readonly isTypeOnly: boolean
}

const STATEMENT =
  /^(?<keyword>import|export)\b(?<names>[^'"]*?)from '(?<from>[^']+)'|^import '(?<bare>[^']+)'|import\('(?<dynamic>[^']+)'\)/gms

/** Every TypeScript file below a folder, as a path from the root. */
export function filesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !/node_modules|\/dist\//.test(file))
    .sort()
}

export function readSource(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Every import statement of the files below a folder. */
export function importsUnder(folder: string): Import[] {
  return filesUnder(folder).flatMap(readImports)
}

function readImports(file: string): Import[] {
  return [...readSource(file).matchAll(STATEMENT)].map(({ groups = {} }) => {
    const from = groups['from'] ?? groups['bare'] ?? groups['dynamic'] ?? ''
    const names = groups['names'] ?? ''
    return { file, from, target: findTarget(file, from), isTypeOnly: importsTypesOnly(names) }
  })
}

/** `import type { A }`, and `import { type A, type B }`. */
function importsTypesOnly(names: string): boolean {
  if (/^\s*type\b/.test(names)) return true
  const inBraces = /^\s*\{([^}]*)\}/.exec(names)?.[1]
  if (inBraces === undefined) return false
  const members = inBraces.split(',').map((member) => member.trim())
  return members.every((member) => member === '' || member.startsWith('type '))
}

function findTarget(file: string, from: string): string | null {
  if (!from.startsWith('.')) return null
  const target = join(dirname(file), from)
  return existsSync(join(ROOT, target)) ? target : null
}
