import { expect, test } from 'vitest'
import { refuseOversizedCard } from '../../../src/http/body-parser.ts'
import { finishSteps } from '../../../src/platform/steps.ts'

const bin = (n: number) => ({ range: `(${n}, ${n + 1}]`, points: n, label: 'a "{[ label' })
const card = (bins: number) => ({
  name: 'a card',
  features: Array.from({ length: Math.ceil(bins / 1_000) }, (_, f) => ({
    name: `f${f}`,
    type: 'numeric',
    bins: Array.from({ length: Math.min(1_000, bins - 1_000 * f) }, (_, n) => bin(n)),
  })),
})
const refusal = (text: string) => {
  try {
    finishSteps(refuseOversizedCard(text))
    return null
  } catch (error) {
    return error
  }
}

// To parse and check such a card takes up to a second of processor time.
test('a card with a bin too many is refused before it is parsed', () => {
  expect(refusal(JSON.stringify({ spec: card(20_000) }))).toBeNull()
  const expected = {
    code: 'invalid_spec',
    details: [
      { path: 'features', message: 'must have at most 20000 bins together, but have more' },
    ],
  }
  const { code, details } = expected
  const pretty = JSON.stringify({ environment: 'test', spec: card(20_001) }, null, 2)
  expect(refusal(pretty)).toMatchObject({ code, details })
  const escaped = pretty.replace('"spec"', String.raw`"\u0073pec"`)
  expect(refusal(escaped)).toMatchObject({ code, details })
  // What follows is not looked at.
  expect(refusal(pretty.slice(0, -3))).toMatchObject({ code, details })
})

test('what only looks like bins is not counted', () => {
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ points: n, range: 'a', bins: [{}] }))
  const features = [{ name: 'f', bins: [bin(1)], notes: { bins: [{ features: rows }] } }]
  for (const body of [
    { spec: card(10), sample: { records: rows } },
    { sample: { spec: { features: rows } }, spec: { features } },
    { spec: { features, old: { features: [{ bins: rows }] } } },
    { spec: JSON.stringify(card(30_000)) },
  ]) {
    expect(refusal(JSON.stringify(body))).toBeNull()
  }
  expect(refusal('}]"')).toBeNull()
})

test('bins are counted whatever they hold', () => {
  const bins = (one: object) => Array.from({ length: 20_001 }, () => one)
  const escaped = JSON.stringify({ spec: card(20_001) }).replaceAll(
    'points',
    String.raw`p\u006fints`,
  )
  for (const body of [
    JSON.stringify({ spec: { features: [{ bins: bins({ p: 1 }) }] } }),
    JSON.stringify({ spec: { features: [{ bins: bins({}) }] } }),
    escaped,
  ]) {
    expect(refusal(body)).toMatchObject({ code: 'invalid_spec' })
  }
})

// Each look at a bracket costs as much as the parser's: there is an end to them.
test('a text with more brackets than a legal card is left to the parser', () => {
  expect(refusal(`${'{'.repeat(30_000)}${'['.repeat(1_000_000)}`)).toBeNull()
})
