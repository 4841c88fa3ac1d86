import fc from 'fast-check'
import { expect, test } from 'vitest'
import { excessSteps, findExcess, NESTING_MAX } from '../../../src/platform/json-shape.ts'

const MIB = 1024 * 1024
const TOO_DEEP = `is nested deeper than ${NESTING_MAX} levels`

function measureDepth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return (
    1 + Object.values(value).reduce((most: number, one) => Math.max(most, measureDepth(one)), 0)
  )
}

/** Values in as many arrays and objects as the list has items, with siblings beside them. */
const wrapped = fc
  .tuple(
    fc.array(fc.tuple(fc.boolean(), fc.jsonValue({ maxDepth: 2 })), {
      minLength: 110,
      maxLength: 140,
    }),
    fc.constantFrom('', ']', '}}', '"]}"', '},{', '\\', '\\"]', '[{'),
    fc.constantFrom(0, 1, 2),
  )
  .map(([levels, text, indent]) => {
    const value = levels.reduce<unknown>(
      (inner, [isArray, sibling]) =>
        isArray ? [sibling, text, inner] : { a: sibling, [text]: text, z: inner },
      text,
    )
    return { value, json: JSON.stringify(value, null, indent) }
  })

// Brackets in texts are no levels, and those of siblings not either.
test('a text is refused for its depth exactly when it is deeper than 128 levels', () => {
  fc.assert(
    fc.property(wrapped, ({ value, json }) => {
      expect(findExcess(json)).toBe(measureDepth(value) > NESTING_MAX ? TOO_DEEP : null)
    }),
    { numRuns: 100 },
  )
})

// A stranger's 16 MiB of brackets kept the process from everyone for 3.7 s.
test('a text that never ends is refused at its 129th level, however long it is', () => {
  for (const open of ['[', '{"a":', '[{"a":[0],"b":']) {
    expect(findExcess(open.repeat(NESTING_MAX + 1))).toBe(TOO_DEEP)
    expect(findExcess(open.repeat(4 * MIB))).toBe(TOO_DEEP)
  }
  expect(findExcess('['.repeat(NESTING_MAX) + ']'.repeat(NESTING_MAX))).toBe(null)
})

test('in a long text an object has at most 100,000 names, and all of it 1,500,000 values', () => {
  const padding = ' '.repeat(MIB)
  const names = (count: number) =>
    `{${Array.from({ length: count }, (_, n) => `"${n}":{":":0}`).join()}}${padding}`
  expect(findExcess(names(100_000))).toBe(null)
  expect(findExcess(names(100_001))).toBe('has an object of more than 100000 names')
  const values = (count: number) => `["${','.repeat(MIB)}"${',0'.repeat(count - 1)}]`
  expect(findExcess(values(1_500_000))).toBe(null)
  expect(findExcess(values(1_500_001))).toMatch(/more than 1500000 values/)
})

// Many siblings, each within the bounds of depth and names, cost as much as one beyond them.
test('many siblings are refused if together they exceed the bounds, though each is within them', () => {
  const nested = `${'['.repeat(127)}${']'.repeat(127)}`
  const objects = 'has too many objects and arrays: send less at a time'
  expect(findExcess(`[${Array(60_000).fill(nested).join()}]`)).toBe(objects)
  expect(findExcess(`[${Array(4_000).fill(nested).join()}]`)).toBe(objects)
  expect(findExcess(`[${Array(300_000).fill('[]').join()}]`)).toBe(objects)
  const names = (of: number) => `{${Array.from({ length: 99_999 }, (_, n) => `"${of}x${n}":1`)}}`
  expect(findExcess(`[${Array.from({ length: 14 }, (_, of) => names(of))}]`)).toBe(
    'has more than 200000 different names: send less at a time',
  )
  // 295,000 objects of four names each held the process for a second.
  const small = Array.from({ length: 200_000 }, (_, n) => `{"a${n}":1,"b${n}":1}`).join()
  expect(findExcess(`{"outcomes":[${small}]}`)).toBe(
    'has more than 200000 different names: send less at a time',
  )
  const repeated = Array(200_000).fill('{"reference":"a","kind":"b","account":"c"}').join()
  expect(findExcess(`{"outcomes":[${repeated}]}`)).toBe(null)
})

test('the densest card of 16 MiB is read', () => {
  const bins = Array(600_000).fill('{"value":"a","points":1}').join()
  expect(findExcess(`{"features":[{"bins":[${bins}]}]}`)).toBe(null)
})

test('the largest batch of plain applicants is read', () => {
  const record = `{${Array.from({ length: 1_000 }, (_, n) => `"feature${n}":${n}`).join()}}`
  expect(
    findExcess(`{"records":[${Array.from({ length: 1_000 }, () => record).join(', ')}]}`),
  ).toBe(null)
})

test.each([
  ['one text of a million quotes', `["${'\\"'.repeat(1_000_000)}"]`],
  ['two million blanks', `[${' '.repeat(2_000_000)}]`],
  ['a million texts without commas', `[${'"" '.repeat(1_000_000)}]`],
])('%s are looked at in steps', (_what, text) => {
  expect([...excessSteps(text)].length).toBeGreaterThan(20)
})

test('a name of more than a million characters is refused', () => {
  expect(findExcess(`{"${'a'.repeat(1_048_576)}":1}`)).toBeNull()
  expect(findExcess(`{"${'a'.repeat(1_048_577)}":1}`)).toMatch('a name of more than a million')
})
