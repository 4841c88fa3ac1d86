import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readLoadOptions } from '../../bench/lib/load-options.ts'
import { readOptions } from '../../bench/lib/options.ts'
import { adminProgram } from '../../src/cli/admin.ts'
import { COMMANDS } from '../../src/cli/admin-commands.ts'
import { readArguments } from '../../src/cli/arguments.ts'
import { readCommandLine as readExportLine } from '../../src/cli/export-usage.ts'
import { readImportLine } from '../../src/cli/import-options.ts'
import { logProgram } from '../../src/cli/log.ts'
import { migrateProgram } from '../../src/cli/migrate.ts'
import { spoolProgram } from '../../src/cli/spool.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import {
  type Command,
  codeIn,
  formatProse,
  listBlocks,
  PAGES,
  queryRows,
  ROOT,
  readAnchors,
  readCommands,
  readLinks,
  readSection,
  readText,
} from '../support/structure/documents.ts'
import { VARIABLE_FILES } from '../support/structure/variable-files.ts'

const exists = (path: string) => existsSync(join(ROOT, path))
const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> }

describe('the configuration in docs/configuration.md', () => {
  const rows = queryRows(readSection('docs/configuration.md', 'Variables'))
  const documented = rows.map(([name = '', text = '']) => ({
    name: name.replaceAll('`', ''),
    // A default that is not a value, such as "none", stands without backticks.
    value: /^`(.+)`$/.exec(text)?.[1] ?? null,
  }))

  test('names every variable that the service reads, and no other', () => {
    const text = VARIABLE_FILES.map(readText).join('')
    const read = text.match(/'[A-Z][A-Z_]+'/g) ?? []
    const names = new Set(read.map((name) => name.slice(1, -1)))
    expect(names.size).toBeGreaterThan(15)
    expect(documented.map(({ name }) => name).sort()).toEqual([...names].sort())
  })

  test.each(documented)('gives $name its default', ({ name, value }) => {
    const defaults = loadConfig({})
    if (value !== null) {
      expect(loadConfig({ [name]: value })).toEqual(defaults)
      return
    }
    const camel = name.toLowerCase().replace(/_(.)/g, (_, letter) => letter.toUpperCase())
    const fields = Object.keys(defaults).filter((field) => camel.startsWith(field))
    expect(fields, 'a variable without a value has a field of its own').toHaveLength(1)
    const held = defaults[fields[0] as keyof Config]
    expect(held === null || (Array.isArray(held) && held.length === 0)).toBe(true)
  })
})

/** Programs of `scoreline` whose lines in pages are read as the program reads them. */
const PROGRAMS = {
  admin: adminProgram,
  log: logProgram,
  migrate: migrateProgram,
  spool: spoolProgram,
}
const PROGRAM_LINE = /scoreline(?:\.sh)? (admin|log|migrate|spool) ([a-z-][^`\n]*)/g
const RUNBOOKS = readdirSync(join(ROOT, 'docs/runbooks')).map((name) => `docs/runbooks/${name}`)

/** Lines of pages, and of runbooks, that call the program itself. */
const programLines = [...PAGES, ...RUNBOOKS].flatMap((page) => {
  const text = readText(page)
  const inline = RUNBOOKS.includes(page) ? [...text.matchAll(/`(scoreline [^`]+)`/g)] : []
  const parts = [...listBlocks(text, 'sh'), ...inline.map(([, line = '']) => line)]
  return parts.flatMap((part) =>
    [...part.matchAll(PROGRAM_LINE)].map(([, program = '', line = '']) => ({ program, line })),
  )
})

/** Reads the options of each npm script as the program does; throws for what it refuses. */
const SCRIPTS: Readonly<Record<string, (args: readonly string[], command: Command) => unknown>> = {
  admin: (args) => readArguments(adminProgram('npm run admin --'), args),
  import: (args) => readImportLine(args, 'npm run import --'),
  export: (args) => readExportLine(args, 'npm run export --'),
  demo: (args) => expect(args).toEqual(['--once']),
  migrations: (args) => expect(args[0]).toBe('--name'),
  bench: ([scenario = '', ...options]) => {
    if (scenario === '--help') return
    if (scenario === 'tables') return expect(options).toEqual([])
    expect(exists(`bench/scenarios/${scenario}.ts`)).toBe(true)
    if (options.includes('--help')) return expect(options).toHaveLength(1)
    // A name alone is one in a sentence.
    if (scenario === 'load') return options.length === 0 || readLoadOptions(options)
    // Scenarios for operators have options of their own, which they read when they run.
    if (!OWN_OPTIONS.includes(scenario)) readOptions(options, 1)
  },
}

const OWN_OPTIONS = [
  'capacity',
  'propagation',
  'rolling-restart',
  'outages',
  'soak',
  'archive',
  'replay',
  'monitoring',
  'outcomes',
  'batches',
]

/** Programs of others that a reader may want, which `npm ci` does not bring. */
const FOREIGN = ['openapi-typescript']

function checkCommand(command: Command): void {
  const [program, ...rest] = command.words
  if (program === 'node') expect(exists(rest[0] ?? '')).toBe(true)
  else if (program === 'npx') checkNpx(rest)
  else
    checkNpm(
      rest.filter((word) => word !== '--silent'),
      command,
    )
}

function checkNpx([name = '', ...args]: readonly string[]): void {
  if (FOREIGN.includes(name)) return
  expect(exists(`node_modules/.bin/${name}`)).toBe(true)
  for (const path of args.filter((arg) => arg.includes('/'))) expect(exists(path)).toBe(true)
}

function checkNpm([verb = '', ...rest]: readonly string[], command: Command): void {
  if (verb === 'ci') return
  const [script = '', dashes, ...args] = verb === 'run' ? rest : [verb, ...rest]
  expect(Object.keys(scripts)).toContain(script)
  if (dashes === undefined) return
  expect(dashes).toBe('--')
  const readable = args.map((arg) => arg.replace('$URL', 'http://127.0.0.1:3000'))
  const read = SCRIPTS[script] ?? expect.fail(`nothing checks the options of npm run ${script}`)
  read(readable, command)
}

describe('a command in a document', () => {
  const commands = PAGES.flatMap(readCommands)

  test('is found', () => {
    expect(commands.length).toBeGreaterThan(30)
  })

  test.each(commands)('$page: $line is one that its program takes', checkCommand)

  test.each(programLines)('scoreline $program $line is one that it takes', ({ program, line }) => {
    const declare = PROGRAMS[program as keyof typeof PROGRAMS]
    const words = line.replace(/ < .*$/, '').split(' ')
    const request = readArguments(declare(`scoreline ${program}`), words)
    expect(request.kind).toBe(words.includes('--help') ? 'help' : 'run')
  })

  test('of the operator is documented, each', () => {
    const shown = commands.map(({ line }) => line).join('\n')
    const forgotten = COMMANDS.map(({ name }) => name).filter((name) => !shown.includes(name))
    expect(forgotten).toEqual([])
  })
})

describe('a link in a document', () => {
  const links = PAGES.flatMap(readLinks)

  test('leads to a file that exists', () => {
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter(({ path }) => !exists(path))).toEqual([])
  })

  test('leads to a heading that exists', () => {
    const dead = links.filter(
      ({ path, anchor }) => anchor !== null && !readAnchors(path).includes(anchor),
    )
    expect(dead).toEqual([])
  })

  test('leads to every page but from the page itself', () => {
    const linked = new Set(links.map(({ path }) => path))
    expect(PAGES.filter((page) => page !== 'README.md' && !linked.has(page))).toEqual([])
  })
})

// A path that is gone sends a newcomer to search.
test('every file and folder that a document names exists', () => {
  const named = PAGES.flatMap((page) =>
    codeIn(formatProse(page))
      .filter((code) =>
        /^(?:src|schemas|test|bench|clients|docker|drizzle|docs|\.ci)\/[\w./-]*$/.test(code),
      )
      .map((path) => ({ page, path })),
  )
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter(({ path }) => !exists(path))).toEqual([])
})

// The map is how a newcomer finds the one folder that they need.
test('the map in docs/architecture.md has one row for each folder of src and each file of its root', () => {
  const mapped = queryRows(readSection('docs/architecture.md', 'Map'))
    .map(([name = '']) => name.replaceAll('`', ''))
    .filter((name) => name.startsWith('src/'))
  const entries = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
  const expected = entries
    .map((entry) => ({ entry, path: relative(ROOT, join(entry.parentPath, entry.name)) }))
    .filter(({ entry, path }) => entry.isDirectory() || path.split('/').length === 2)
    // The section on the console says what its folders hold; `dist` is built.
    .filter(({ path }) => !/^src\/console\/(app\/|dist\b)/.test(path))
    .map(({ entry, path }) => (entry.isDirectory() ? `${path}/` : path))
  expect(expected.length).toBeGreaterThan(40)
  expect(mapped.sort()).toEqual(expected.sort())
})

// A layer that is written down in two places must be the same in both.
test('the layers in docs/architecture.md are those that the structure is checked against', () => {
  const code = readText('test/support/structure/layers.ts').matchAll(/^ {2}\[('.+')\],$/gm)
  const layers = [...code].map(([, list = '']) => list.replaceAll("'", '').split(', '))
  const documented = queryRows(readSection('docs/architecture.md', 'Dependency rules'))
    .map(([, rooms = '']) => codeIn(rooms))
    .slice(0, layers.length)
  expect(layers.length).toBeGreaterThan(10)
  expect(documented.toReversed()).toEqual(layers)
})

describe('a citation of docs/decisions.md', () => {
  const files = ['src', 'schemas', 'test', 'bench', 'clients', 'docs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
      .filter((file) => !file.includes('node_modules')),
  )

  test('names a decision that exists, by its number', () => {
    const numbers = [...readText('docs/decisions.md').matchAll(/^###? (\d+(?:\.\d+)?)/gm)].map(
      ([, number]) => number,
    )
    const cited = files.flatMap((file) =>
      [...readText(file).matchAll(/decisions\.md,? ((?:[\d.]*\d(?:, | and | to )?)+)/g)].flatMap(
        ([, list = '']) => (list.match(/\d[\d.]*\d|\d/g) ?? []).map((number) => ({ file, number })),
      ),
    )
    expect(cited.length).toBeGreaterThan(5)
    expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([])
  })

  // Whoever maintains a test must be able to open what it rests on.
  test('is the only kind: no comment cites a text that the repository does not have', () => {
    const foreign = new RegExp(
      ['api-specification', 'API specification', `the ${'guides'}`].join('|'),
      'i',
    )
    const own = 'test/unit/documents.test.ts'
    expect(files.filter((file) => file !== own && foreign.test(readText(file)))).toEqual([])
  })

  test('decisions keep their order: sections and numbers rise by one', () => {
    const found = [...readText('docs/decisions.md').matchAll(/^### (\d+)\.(\d+) /gm)]
    const numbers = found.map(([, section, entry]) => [Number(section), Number(entry)] as const)
    const expected = numbers.map(([section], index) => {
      const before = numbers[index - 1]
      return [section, before?.[0] === section ? before[1] + 1 : 1]
    })
    expect(numbers).toEqual(expected)
  })
})

describe('a section with measured figures', () => {
  const sections = [
    ['docs/performance.md', 'Scoreline against baselines'],
    ['docs/performance.md', 'The engine'],
    ['docs/performance.md', 'The score log'],
    ['docs/performance.md', 'The quota'],
    ['docs/performance.md', 'Other engines and servers'],
    ['docs/performance.md', 'A long log'],
    ['docs/performance.md', 'Tracing'],
    ['docs/performance.md', 'Files of applicants'],
    ['docs/performance.md', 'One team beside another'],
    ['docs/capacity.md', 'Capacity'],
    ['docs/capacity.md', 'What was measured'],
  ] as const

  test('is every one of docs/performance.md that has a table', () => {
    const headings = [...readText('docs/performance.md').matchAll(/^## (.+)$/gm)].map(
      ([, heading = '']) => heading,
    )
    const measured = headings.filter(
      (heading) => queryRows(readSection('docs/performance.md', heading)).length > 0,
    )
    const listed = sections.filter(([page]) => page === 'docs/performance.md')
    expect(measured).toEqual(listed.map(([, heading]) => heading))
  })

  test.each(sections)('%s, %s: names the command that measures it', (page, heading) => {
    expect(readSection(page, heading)).toMatch(/`npm run bench\b/)
  })

  // No figure stands without the rounds behind it.
  test.each(sections)('%s, %s: links to its raw rounds', (page, heading) => {
    expect(readSection(page, heading)).toMatch(/\]\(\.\.\/bench\/results\//)
  })
})

describe('the form of documents', () => {
  test('the first page has at most 130 lines', () => {
    expect(readText('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(130)
  })

  test('lines outside of tables and blocks have at most 100 characters', () => {
    const long = PAGES.flatMap((page) =>
      formatProse(page)
        .split('\n')
        .filter((line) => line.length > 100 && !/^\||^!?\[/.test(line))
        .map((line) => `${page}: ${line}`),
    )
    expect(long).toEqual([])
  })

  // Sentences that must be read twice cost every reader; see "Write English" in contributing.md.
  test('habits that make English hard to read stay out', () => {
    const habits = /\btold of\b|\bis no valid\b|\bwho may not\b|\bas it were\b|\b(?:he|his|him)\b/i
    const found = PAGES.flatMap((page) =>
      formatProse(page)
        .split('\n')
        .filter((line) => habits.test(line))
        .map((line) => `${page}: ${line}`),
    )
    expect(found).toEqual([])
  })
})
