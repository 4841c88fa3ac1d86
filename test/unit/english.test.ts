import { describe, expect, test } from 'vitest'
import { filesUnder, GENERATED, readSource } from '../support/structure/imports.ts'

/** Habits that make a sentence be read twice. `instead` says what to write. */
const HABITS = [
  { habit: /\b[Tt]old of\b/, instead: 'say what is called with what: "Receives the events …"' },
  { habit: /(\/\*\*|^\s*\*|\/\/) Of /, instead: 'name the noun: "Longest wait of a request"' },
  { habit: /(?<!\b[Tt]here )\bis no (?!longer\b|more\b)[a-z]+/, instead: '"is not a …"' },
  { habit: /\bwho may not\b/, instead: 'name who, and what they lack' },
  { habit: /\bas it were\b/, instead: 'leave it out' },
  { habit: /\bcan not\b/, instead: '"can\'t"' },
  { habit: /\b([Hh]e|[Hh]is|[Hh]im)\b/, instead: 'they, their, them, or the noun' },
]
const COLUMNS_MAX = 100
const FOLDERS = ['src', 'schemas', 'test', 'bench', 'clients', 'docs']
/** They name what they forbid. */
const CHECKS = ['test/unit/english.test.ts', 'test/unit/documents.test.ts']

const lines = FOLDERS.flatMap(filesUnder)
  .filter((file) => !CHECKS.includes(file) && !GENERATED.includes(file))
  .flatMap((file) =>
    readSource(file)
      .split('\n')
      .map((text, index) => ({ at: `${file}:${index + 1}`, text })),
  )

describe('comments, messages and help', () => {
  test.each(HABITS)('avoid $habit: $instead', ({ habit }) => {
    expect(lines.length).toBeGreaterThan(10_000)
    const found = lines.filter(({ text }) => habit.test(text))
    expect(found.map(({ at, text }) => `${at} ${text.trim()}`)).toEqual([])
  })

  // The formatter wraps code and leaves comments as they are.
  test(`no comment is longer than ${COLUMNS_MAX} columns`, () => {
    const isComment = /^\s*(\/\/|\/?\*)/
    const long = lines.filter(({ text }) => isComment.test(text) && text.length > COLUMNS_MAX)
    expect(long.map(({ at }) => at)).toEqual([])
  })
})

// Without it a habit whose pattern matches nothing would pass for good.
test.each([
  ['// It is told of each change.', 0],
  ['/** Of the card, not of the service. */', 1],
  ['this is no record', 2],
  ['refuses who may not', 3],
  ['the answer, as it were', 4],
  ['it can not be read', 5],
  ['their budget or his', 6],
])('%s is found', (text, index) => {
  expect(HABITS[index]?.habit.test(text)).toBe(true)
})
