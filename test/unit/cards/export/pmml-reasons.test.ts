/** Reason codes of cards that go out as PMML and come home. */
import { describe, expect, test } from 'vitest'
import { writePmml } from '../../../../src/cards/export/pmml/pmml.ts'
import { importCard, runImport } from '../../../../src/cards/import/run-import.ts'
import { checkSpec, compileModel } from '../../../../src/engine/index.ts'
import { dmgCard, foundReasons, worksheetCard } from '../../../support/cards/reason-cards.ts'
import { find, readXml } from '../../../support/naive/naive-pmml.ts'

function written(card: unknown): string {
  const checked = checkSpec(card)
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
  const pmml = writePmml(compileModel(checked.spec), checked.spec)
  if (!pmml.ok) throw new Error(JSON.stringify(pmml.faults))
  return pmml.text
}

/** @param pdo of the scale that the import is given */
function imported(text: string, pdo = 20) {
  return importCard(Buffer.from(text), {
    name: 'card',
    version: '1.0.0',
    target: 'default_12m',
    scaling: { pdo, baseScore: 100, odds: '20', oddsDirection: 'good:bad' },
  })
}

const findScorecard = (text: string) => find(readXml(text), 'PMML', 'Scorecard')

/** What PMML itself says of a document: codes by distance, as consumers rank them. */
function rankedByPmml(text: string, chosen: readonly number[]) {
  const { attributes, children } = findScorecard(text)
  const characteristics = children.find(({ name }) => name === 'Characteristics')?.children ?? []
  return characteristics
    .map((one, at) => {
      const attribute = one.children[chosen[at] ?? 0]
      const points = Number(attribute?.attributes['partialScore'])
      const baseline = Number(one.attributes['baselineScore'])
      const isBelow = attributes['reasonCodeAlgorithm'] === 'pointsBelow'
      return {
        code: attribute?.attributes['reasonCode'] ?? one.attributes['reasonCode'],
        distance: isBelow ? baseline - points : points - baseline,
      }
    })
    .filter(({ distance }) => distance > 0)
    .sort((one, other) => other.distance - one.distance)
}

describe('a card with reasons', () => {
  test('goes out with the codes, baselines and outputs of PMML', () => {
    const text = written(dmgCard())
    expect(findScorecard(text).attributes).toMatchObject({
      useReasonCodes: 'true',
      reasonCodeAlgorithm: 'pointsBelow',
      baselineMethod: 'other',
    })
    // Attributes of missing values come first; an engineer of 25 with an income of 500.
    expect(rankedByPmml(text, [2, 2, 1])).toEqual([
      { code: 'RC2', distance: 18 },
      { code: 'RC1', distance: 16 },
    ])
    expect(rankedByPmml(text, [2, 1, 1])[0]).toEqual({ code: 'RC2_2', distance: 21 })
    expect(text).toContain('name="reason_4"')
    expect(text).toContain('feature="reasonCode" rank="4"')
  })

  test('comes home with the same codes, baselines and reasons', () => {
    const { spec } = imported(written(dmgCard()))
    expect(spec?.reasons).toEqual({ version: 1, method: 'fixed', baseline_basis: 'other' })
    expect(spec?.features.map((one) => [one.reason_code, one.reason_baseline])).toEqual([
      ['RC1', 19],
      ['RC2', 18],
      ['RC3', 10],
    ])
    for (const age of [15, 25, 35, null]) {
      for (const department of ['marketing', 'engineering', 'law', null]) {
        const applicant = { department, age, income: 500 }
        expect(foundReasons(spec, applicant).reasons).toEqual(
          foundReasons(dmgCard(), applicant).reasons,
        )
      }
    }
    // Going out once more changes nothing.
    const again = { ...spec, name: 'dmg' }
    expect(findScorecard(written(again)).children.at(-1)).toEqual(
      findScorecard(written(dmgCard())).children.at(-1),
    )
  })

  test('says that a higher score is a higher risk, and must agree with the scale', () => {
    const card = worksheetCard()
    const mirrored = { ...card, scaling: { ...card.scaling, pdo: -20 } }
    const text = written(mirrored)
    expect(findScorecard(text).attributes['reasonCodeAlgorithm']).toBe('pointsAbove')
    expect(imported(text, -20).spec?.reasons).toMatchObject({ baseline_basis: 'mean' })
    const { spec, faults } = imported(text, 20)
    expect(spec).toBeNull()
    expect(JSON.stringify(faults)).toContain('pointsAbove')
  })

  test('is refused where a fitted scale says that a higher score is a higher risk', () => {
    const fitted = (pds: readonly [number, number, number]) => {
      const rows = [
        `engineering,25,500,29,${pds[0]}`,
        `engineering,35,500,41,${pds[1]}`,
        `marketing,40,500,54,${pds[2]}`,
      ]
      return runImport({
        card: Buffer.from(written(dmgCard())),
        options: {
          name: 'card',
          version: '1.0.0',
          target: 'default_12m',
          scaling: {},
          probabilities: 'fit',
        },
        check: {
          sample: Buffer.from(['department,age,income,score,pd', ...rows].join('\n')),
          tolerance: 0,
        },
      })
    }
    expect(fitted([0.4, 0.3, 0.2])).toMatchObject({ faults: [], spec: { reasons: { version: 1 } } })
    const { spec, faults } = fitted([0.2, 0.3, 0.4])
    expect(spec).toBeNull()
    expect(faults[0]?.message).toContain('pointsBelow')
  })

  test('never names a feature that is not eligible', () => {
    const card = worksheetCard()
    Object.assign(card.features[0] ?? {}, { reason_eligible: false, reason_baseline: undefined })
    expect(rankedByPmml(written(card), [0, 0, 0, 0]).map(({ code }) => code)).toEqual([
      'R07',
      'R09',
    ])
  })

  test('has no reason codes without a baseline to measure them against', () => {
    const text = written(worksheetCard({ method: 'mean_all' }))
    expect(findScorecard(text).attributes['useReasonCodes']).toBe('false')
    expect(text).not.toContain('reasonCode=')
    expect(imported(text).spec?.reasons).toBeUndefined()
  })

  test.each([
    ['a baseline', / baselineScore="19"/, 'no baselineScore'],
    ['a code', / reasonCode="RC1"/, 'an Attribute without a reasonCode'],
    ['a known algorithm', 'pointsBelow', 'the reasonCodeAlgorithm is'],
  ])('keeps its scores and loses its reasons without %s', (_, part, words) => {
    const { spec, conversions } = imported(written(dmgCard()).replace(part, ''))
    expect(spec?.features).toHaveLength(3)
    expect(spec?.reasons).toBeUndefined()
    expect(JSON.stringify(spec)).not.toContain('reason_')
    expect(JSON.stringify(conversions)).toContain(words)
  })

  test('takes the baseline of the whole card where a characteristic has none', () => {
    const text = written(dmgCard())
      .replaceAll(/ baselineScore="\d+"/g, '')
      .replace('<Scorecard ', '<Scorecard baselineScore="7" ')
    const { spec } = imported(text)
    expect(spec?.features.map((one) => one.reason_baseline)).toEqual([7, 7, 7])
  })
})
