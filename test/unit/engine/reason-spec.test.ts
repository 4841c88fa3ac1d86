import { describe, expect, test } from 'vitest'
import {
  checkSpec,
  checkStoredSpec,
  compileModel,
  compileReasons,
  textIn,
} from '../../../src/engine/index.ts'
import { dmgCard, worksheetCard } from '../../support/cards/reason-cards.ts'

interface Card {
  [name: string]: unknown
  features: { [name: string]: unknown; bins: Record<string, unknown>[] }[]
}

/** The card with another value at a path such as `features[0].source`. */
function changed(path: string, value: unknown, card: unknown = dmgCard()): Card {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '')
  const last = steps.pop() ?? ''
  let at = card as Record<string, unknown>
  for (const step of steps) at = at[step] as Record<string, unknown>
  if (value === undefined) delete at[last]
  else at[last] = value
  return card as Card
}

function faultPaths(card: unknown): string[] {
  const check = checkSpec(card)
  return check.ok ? [] : check.faults.map(({ path }) => path)
}

describe('the part of a spec that explains scores', () => {
  test('is accepted where it is complete', () => {
    const check = checkSpec(dmgCard())
    expect(check).toMatchObject({ ok: true, warnings: [] })
  })

  test.each([
    ['reasons.method', 'mean'],
    ['reasons.method', undefined],
    ['reasons.max', 0],
    ['reasons.max', 11],
    ['reasons.max', 2.5],
    ['reasons.aggregate', 'sum'],
    ['reasons.min_distance', -1],
    ['reasons.min_distance', '0'],
    ['reasons.texts_version', 11],
    ['reasons.baseline_basis', undefined],
    ['reasons.baseline_basis', 'median'],
    ['reason_codes', ['RC1']],
    ['reason_codes.RC1', 'Department'],
    ['reason_codes.RC1', {}],
    ['reason_codes.RC1.en', ''],
    ['features[0].label', 3],
    ['features[0].source', 'bureau'],
    ['features[0].reason_code', 'RC9'],
    ['features[0].reason_code', 'R'.repeat(33)],
    ['features[0].reason_baseline', undefined],
    ['features[0].reason_baseline', '19'],
    ['features[0].reason_eligible', 1],
    ['features[0].inquiry_factor', 'no'],
    ['features[0].actionable', null],
    ['features[0].bins[1].label', {}],
    ['features[0].bins[1].reason_code', ''],
    ['features[0].bins[1].baseline_count', -1],
    ['features[0].bins[1].baseline_count', '12'],
  ])('has a fault at %s for %j', (path, value) => {
    expect(faultPaths(changed(path, value))).toEqual([path])
  })

  test('names the texts with a wrong language, and bads without or above a count', () => {
    expect(faultPaths(changed('reason_codes.RC1', { 'en us': 'x' }))).toEqual(['reason_codes.RC1'])
    expect(faultPaths(changed('features[0].bins[1].baseline_bads', 3))).toEqual([
      'features[0].bins[1].baseline_count',
    ])
    const counted = changed('features[0].bins[1].baseline_count', 2)
    expect(faultPaths(changed('features[0].bins[1].baseline_bads', 3, counted))).toEqual([
      'features[0].bins[1].baseline_bads',
    ])
  })

  test('reports every fault at once', () => {
    const card = changed('reasons.max', 99)
    changed('features[1].source', 7, card)
    changed('features[2].bins[0].range', 'x', card)
    expect(faultPaths(card)).toEqual([
      'features[2].bins[0].range',
      'reasons.max',
      'features[1].source',
    ])
  })

  test('has no effect without version 1', () => {
    for (const reasons of [
      undefined,
      null,
      'x',
      {},
      { version: 2, method: 'no' },
      { version: '1' },
    ]) {
      const card = changed('features[0].source', 'bureau', changed('reasons', reasons))
      const check = checkSpec(card)
      expect(check).toMatchObject({ ok: true, warnings: [] })
      if (check.ok) expect(compileReasons(check.spec, compileModel(check.spec))).toBeNull()
    }
  })

  // Earlier releases kept the extension unchecked: such a model must go on scoring.
  test('does not stop a registered model from scoring when it is faulty', () => {
    const check = checkStoredSpec(changed('reasons.method', 'median'))
    expect(check.ok).toBe(true)
    if (check.ok) expect(compileReasons(check.spec, compileModel(check.spec))).toBeNull()
  })

  test('warns of many reasons, of unknown settings, and of scored features without a reason', () => {
    const card = changed('reasons.max', 5)
    changed('reasons.agregate', 'net', card)
    changed('features[0].reason_eligible', false, card)
    const check = checkSpec(card)
    expect(check.ok && check.warnings.map(({ path }) => path)).toEqual([
      'reasons."agregate"',
      'reasons.max',
      'features[0].reason_eligible',
    ])
  })

  test('wants a feature that can be a reason', () => {
    const card = worksheetCard({ method: 'max' })
    for (const feature of card.features) Object.assign(feature, { reason_eligible: false })
    expect(faultPaths(card)).toEqual(['features'])
  })
})

test('a text falls back from its tag to its language, to English, to the first', () => {
  const texts = { de: 'Alter', en: 'Age', 'zh-Hant': '年齡' }
  expect(textIn(texts, 'de-AT')).toBe('Alter')
  expect(textIn(texts, 'DE')).toBe('Alter')
  expect(textIn(texts, 'zh-hant-TW')).toBe('年齡')
  expect(textIn(texts, 'fr')).toBe('Age')
  expect(textIn({ de: 'Alter', fr: 'Âge' }, 'es')).toBe('Alter')
  expect(textIn('Age', 'es')).toBe('Age')
  expect(textIn(undefined, 'es')).toBeNull()
})
