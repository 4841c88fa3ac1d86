import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OutcomeWrite } from '../../../src/outcomes/held-items.ts'
import { type FilePart, ImportDirectory } from '../../../src/outcomes/import-files.ts'
import { ImportRun } from '../../../src/outcomes/import-run.ts'
import { countStatuses, type ReadItem } from '../../../src/outcomes/item.ts'
import { systemClock } from '../../../src/platform/clock.ts'

const KIB = 1024
const LINE_BYTES_MAX = 64 * KIB

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'scoreline-import-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function makeFile(name: string, lines: readonly string[]): string {
  const text = lines.join('\n')
  writeFileSync(join(directory, name), text)
  return text
}

async function listParts(name: string, offset: number): Promise<FilePart[]> {
  const parts: FilePart[] = []
  const found = new ImportDirectory(directory).parts(name, offset, LINE_BYTES_MAX)
  for await (const part of found) parts.push(part)
  return parts
}

/** Lines of the parts: one that is too long has no end. */
const formatLines = (parts: readonly FilePart[]) =>
  parts.reduce((sum, { bytes }) => {
    const text = bytes.toString()
    return sum + text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  }, 0)

test.each([256 * KIB - 1, 256 * KIB, 256 * KIB + 1, 511 * KIB, 2_000 * KIB])(
  'a line of %i bytes is one line, and what follows begins behind it',
  async (bytes) => {
    const text = makeFile('long', ['a', 'x'.repeat(bytes), 'b', 'y'.repeat(bytes)])
    const parts = await listParts('long', 0)
    let at = 0
    for (const part of parts) {
      expect(part.offset).toBe(at)
      at = part.endOffset
      const rest = text.slice(part.offset, part.endOffset)
      const own = part.bytes.toString()
      const isBeginning = own.length > LINE_BYTES_MAX && !own.includes('\n')
      expect(isBeginning ? rest.startsWith(own) : rest === own).toBe(true)
      // Whoever goes on from here reads the same lines.
      const left = text.length - at
      expect(formatLines(await listParts('long', at))).toBe(
        left === 0 ? 0 : text.slice(at).split('\n').length,
      )
    }
    expect(at).toBe(text.length)
  },
)

// An error would else name a line that its sender does not find.
test('lines behind one that is too long keep their numbers', async () => {
  const text = makeFile('imp_1', [
    '{}',
    `{"kind": "${'x'.repeat(900 * KIB)}"}`,
    '{}',
    'z'.repeat(700 * KIB),
    '{}',
  ])
  let end: ReturnType<NonNullable<OutcomeWrite['progress']>> | undefined
  const judge = async (_: unknown, read: readonly ReadItem[]) =>
    read.map(({ fault }) => ({
      fact: null,
      held: null,
      status: 'invalid' as const,
      matchedOf: null,
      message: fault,
    }))
  const write = async ({ progress }: OutcomeWrite) => {
    const written = { statuses: [], holdings: [] }
    end = progress?.(written)
    return written
  }
  const run = new ImportRun(
    {
      files: new ImportDirectory(directory),
      imports: {} as never,
      outcomes: { judge },
      store: { write },
      clock: systemClock,
      isClosing: () => false,
    },
    {
      id: 'imp_1',
      sender: { teamId: 'team_1', environment: null, by: 'usr_1' },
      format: 'ndjson',
      status: 'running',
      offset: 0,
      lines: 0,
      counts: countStatuses([]),
      errors: [],
    },
  )
  expect(await run.run()).toBe('done')
  const tooLong = 'the line is longer than 65536 bytes'
  expect(end).toMatchObject({
    lines: 5,
    offset: text.length,
    errors: [
      { line: 1 },
      { line: 2, message: tooLong },
      { line: 3 },
      { line: 4, message: tooLong },
      { line: 5 },
    ],
  })
})
