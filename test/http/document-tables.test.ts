import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DocumentCheck, type DocumentedOperation } from '../support/expect/document-check.ts'
import { dataRoot } from '../support/start/data-root.ts'
import { backends } from '../support/start/databases.ts'
import { TestService } from '../support/start/service.ts'
import { ROOT } from '../support/structure/documents.ts'

// Calls and metrics are the same on every database.
const [backend = expect.fail('there is a database')] = backends
let service: TestService

beforeAll(async () => {
  const archive = mkdtempSync(join(dataRoot(), 'archive-'))
  // Some metrics exist only with these.
  const env = { METRICS_DEPLOYMENTS: '1', SCORE_LOG_ARCHIVE: pathToFileURL(archive).href }
  service = await TestService.start(backend, { env })
  await service.app.ready()
})
afterAll(() => service.close())

/** Compares the part of a page between two marks. UPDATE_TABLES=1 writes it anew. */
function expectPart(page: string, mark: string, lines: readonly string[]): void {
  const path = join(ROOT, page)
  const text = readFileSync(path, 'utf8')
  const part = new RegExp(`<!-- ${mark} -->\n[\\s\\S]*?<!-- /${mark} -->`)
  const expected = `<!-- ${mark} -->\n\n${lines.map(wrap).join('\n')}\n\n<!-- /${mark} -->`
  expect(text).toMatch(part)
  if (process.env['UPDATE_TABLES'] === '1')
    writeFileSync(
      path,
      text.replace(part, () => expected),
    )
  else expect(part.exec(text)?.[0]).toBe(expected)
}

/** Breaks an item of a list as the rule of 100 characters wants it, and never within code. */
function wrap(line: string): string {
  const words = line.match(/`[^`]*`\S*|\S+/g) ?? []
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < 98) lines.push(`${lines.pop()} ${word}`)
    else lines.push(word)
  }
  return lines.join('\n  ')
}

function readCaller({ operation }: DocumentedOperation): string {
  const [, caller = ''] = /\*\*Caller:\*\* (.*)\.$/m.exec(String(operation['description'])) ?? []
  return caller
    .replace('a member with the role ', '')
    .replace('any member of the team', 'any member')
    .replace(', or an API key with the scope', '; key with')
    .replace('an API key with the scope', 'key with')
    .replaceAll(' or ', ', ')
    .replaceAll('`', '')
}

test('docs/endpoints.md lists each call with its callers', () => {
  const { operations } = DocumentCheck.of(service.app, service.config.publicUrl)
  const byTag = Map.groupBy(operations, ({ operation }) => String(operation['tags']))
  expect(operations.length).toBeGreaterThan(100)
  expect(operations.filter((one) => readCaller(one) === '')).toEqual([])
  const lines = [...byTag].flatMap(([tag, own]) => [
    `## ${tag}`,
    '',
    ...[...Map.groupBy(own, readCaller)].map(
      ([caller, calls]) =>
        `- ${caller}: ${calls.map(({ method, path }) => `\`${method} ${path}\``).join(', ')}`,
    ),
    '',
  ])
  expectPart('docs/endpoints.md', 'endpoints', lines.slice(0, -1))
})

test('docs/observing.md lists each metric of the service with its meaning', async () => {
  const { body } = await service.call({ method: 'GET', url: '/metrics' })
  const found = [...body.matchAll(/^# HELP (scoreline_\w+) (.*)$/gm)]
  expect(found.length).toBeGreaterThan(60)
  const lines = found.map(([, name, help]) => `- \`${name}\`: ${help}`)
  expectPart('docs/observing.md', 'metrics', lines)
})
