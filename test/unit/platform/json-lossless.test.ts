import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  cardSteps,
  parseApplicants,
  parseCardJson,
  parseJson,
  parseStoredJson,
  REPEATED_NAMES,
  storedJsonSteps,
} from '../../../src/platform/json.ts'
import { finishSteps } from '../../../src/platform/steps.ts'
import { processorMs } from '../../support/expect/processor-time.ts'

// JSON.parse takes the last of two values: a card with -12 and 12 points went live with 12.
test.each([
  ['a name', '{"a":1,"a":2}', 'a'],
  [
    'a name deep inside',
    '{"features":[{"bins":[{},{"points":-12,"points":12}]}]}',
    'features[0].bins[1].points',
  ],
  ['a name that one side escapes', '{"points":1,"poi\\u006ets":1}', 'points'],
  ['a name among others', '{"b":{"c":1},"a":{"b":1},"b":0}', 'b'],
])('JSON of a card that gives %s twice is refused with the path', (_, text, path) => {
  expect(() => parseCardJson(text)).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      details: [{ path, message: 'is there twice' }],
    }),
  )
})

test('a number of a card that would become 0 is refused with the path, and zeros are not', () => {
  for (const number of ['1e-400', '-0.1e-500', `0.${'0'.repeat(400)}1`]) {
    expect(() => parseCardJson(`{"bins":[{"points":${number}}]}`)).toThrow(
      /bins\[0\]\.points .*become 0/,
    )
  }
  expect(parseCardJson('[0, -0, 0.0, 0e5, 5e-324]')).toEqual([0, -0, 0, 0, 5e-324])
})

test('other JSON of a card is read as all JSON is', () => {
  const text = '{"a":[1,{"a":2},{"a":3}],"b":{"a":"\\n"},"toString":null}'
  expect(parseCardJson(text)).toEqual(parseJson(text))
})

// To read it at once held up single scores for 110 ms.
test('the largest card is read in many steps, to the same value', () => {
  const bins = Array.from({ length: 20_000 }, (_, n) => ({ range: `(${n}, ${n + 1}]`, points: n }))
  const text = JSON.stringify({ spec: { features: [{ name: 'f', bins }] } })
  const steps = cardSteps(text)
  let count = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) count++
  expect(count).toBeGreaterThan(100)
  expect(JSON.stringify(step.value)).toBe(text)
})

// A sample of megabytes is one text of an import.
test('each long text of a card is a step of its own', () => {
  const document = { card: 'a'.repeat(1e6), sample: '\\"\n'.repeat(1e6), name: 'x' }
  const steps = cardSteps(JSON.stringify(document))
  let pauses = 0
  let step = steps.next()
  while (step.done !== true) {
    pauses++
    step = steps.next()
  }
  expect(step.value).toEqual(document)
  expect(pauses).toBeGreaterThanOrEqual(3)
})

test('a long stored text is read in steps, to what JSON.parse gives, or the same error', () => {
  const bins = Array.from({ length: 20_000 }, (_, n) => ({ 2: n / 7, a: -0.5e-320, 1: 'é', n }))
  const text = JSON.stringify({ b: bins, a: [null, true, {}, []] })
  const steps = storedJsonSteps(text)
  let step = steps.next()
  expect(step.done).toBe(false)
  while (step.done !== true) step = steps.next()
  expect(step.value).toEqual(JSON.parse(text))
  expect(JSON.stringify(step.value)).toBe(text)
  const damaged = `${text.slice(0, -1)},}`
  const message = 'a stored document is not valid JSON'
  expect(() => finishSteps(storedJsonSteps(damaged))).toThrow(message)
  expect(() => parseStoredJson(damaged)).toThrow(message)
})

/** Applicants as pairs of a name and a value, in which names are repeated. */
const pairs = fc.array(
  fc.tuple(
    fc.constantFrom('a', 'b:', 'c"d', ':'),
    fc.oneof(fc.integer(), fc.constantFrom('', ':', '{"a":1}', '\\'), fc.constant(null)),
  ),
  { maxLength: 8 },
)

test('a name that an applicant says more than once is noted, the last value counts, and no other name is noted', () => {
  fc.assert(
    fc.property(fc.array(pairs, { maxLength: 4 }), fc.constantFrom('', ' ', '\n\t'), (all, gap) => {
      const texts = all.map((applicant) =>
        applicant
          .map(([name, value]) => `${JSON.stringify(name)}${gap}:${gap}${JSON.stringify(value)}`)
          .join(','),
      )
      const text = `{"records":[${texts.map((inner) => `{${inner}}`).join()}]}`
      const { records } = parseApplicants(text) as { records: { [REPEATED_NAMES]?: string[] }[] }
      const plain = records.map((applicant) => Object.entries(applicant))
      expect(plain).toEqual(all.map((applicant) => Object.entries(Object.fromEntries(applicant))))
      for (const [at, applicant] of all.entries()) {
        const names = applicant.map(([name]) => name)
        const repeated = names.filter((name, index) => names.indexOf(name) !== index)
        expect(records[at]?.[REPEATED_NAMES] ?? []).toEqual(repeated)
      }
    }),
  )
})

// Each repeat once copied the list of those before: 120 kB took 20 s.
test('a name that is said 100,000 times is read within a second, and noted 1,000 times', () => {
  const text = `{${Array(100_000).fill('"a":1').join()}}`
  const started = processorMs()
  const read = parseApplicants(text) as { [REPEATED_NAMES]?: string[] }
  expect(processorMs() - started).toBeLessThan(1_000)
  expect(read[REPEATED_NAMES]).toHaveLength(1_000)
})

// V8 takes a long part of a text without copying it.
test('a name that is read from a stored document does not keep the document in memory', () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const read = (at: number) => {
    const document = { name: `the name of the card ${at}`, filler: 'x'.repeat(4_000_000) }
    return (finishSteps(storedJsonSteps(JSON.stringify(document))) as typeof document).name
  }
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const names = Array.from({ length: 20 }, (_, at) => read(at))
  collectGarbage()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(40_000_000)
  expect(names).toHaveLength(20)
})
