import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const FOLDER = new URL('../../../../drizzle/migrations/', import.meta.url)

interface JournalEntry {
  readonly idx: number
  readonly when: number
  readonly tag: string
}

const journal: JournalEntry[] = JSON.parse(
  readFileSync(new URL('meta/_journal.json', FOLDER), 'utf8'),
).entries

// The migrator skips, without a word, a migration that is older than the last one applied.
test('each migration is younger than the one before', () => {
  const times = journal.map((entry) => entry.when)
  expect(times).toEqual([...times].sort((a, b) => a - b))
  expect(new Set(times).size).toBe(times.length)
})

test('the journal and the folder name the same migrations', () => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sql'))
  expect(files.sort()).toEqual(journal.map((entry) => `${entry.tag}.sql`).sort())
})
