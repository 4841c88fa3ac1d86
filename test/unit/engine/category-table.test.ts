import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileCategoryTable, findCategorySlot } from '../../../src/engine/bin-tables.ts'
import { checkSpec, compileModel, ModelScore, scoreApplicant } from '../../../src/engine/index.ts'

const NONE = -7

/** Texts that share their length and most characters, as the categories of a card do. */
const similarTexts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 4 }),
  fc.integer({ min: 0, max: 40 }).map((n) => `category ${n} of a feature`),
  fc.constantFrom('', ' ', 'Missing', 'missing', '__proto__', 'constructor', 'a'.repeat(5000)),
)

// The sampled hash looks at two characters only: a wrong answer would be a wrong score.
test('a table answers as a Map of the same categories does', () => {
  const categories = fc.uniqueArray(similarTexts, { minLength: 1, maxLength: 100 })
  fc.assert(
    fc.property(categories, fc.array(similarTexts), (known, others) => {
      const slots = new Map(known.map((category, index) => [category, index]))
      const table = compileCategoryTable(slots, NONE)
      // The empty text stands at the places without a category.
      for (const text of [...known, ...others, '']) {
        expect(findCategorySlot(table, text)).toBe(slots.get(text) ?? NONE)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('categories that no pair of characters tells apart are told apart all the same', () => {
  const middle = Array.from({ length: 30 }, (_, n) => `${'x'.repeat(20)}${n + 10}${'y'.repeat(20)}`)
  const slots = new Map(middle.map((category, index) => [category, index]))
  const table = compileCategoryTable(slots, NONE)
  const found = middle.map((text) => findCategorySlot(table, text))
  expect(found).toEqual([...slots.values()])
  expect(findCategorySlot(table, `${'x'.repeat(20)}99${'y'.repeat(20)}`)).toBe(NONE)
})

// What lays the texts out for scoring must give back the same ones.
test.each(['\ud800', 'a\udc00b', '"', '\\', '\\u0041', '\0', '\u2028', '\ufeff', 'é', '🦄'])(
  'a category of %j is matched, and no other is, alone or among longer ones',
  (text) => {
    const bins = [
      { value: `${text}%,%${text.repeat(20)}`, points: 1 },
      { value: `${'-'.repeat(20)}${text}`, points: 2 },
    ]
    const features = [{ name: 'x', type: 'categorical', bins }]
    const scaling = { base_score: 600, base_odds: 50, pdo: 20 }
    const card = { name: 'n', version: '1', target: 't', base_points: 0, features, scaling }
    const checked = checkSpec(card)
    if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
    const modelScore = new ModelScore(compileModel(checked.spec))
    const computeScore = (x: string) => {
      scoreApplicant({ x }, modelScore)
      return modelScore.score
    }
    const texts = [text, text.repeat(20), `${'-'.repeat(20)}${text}`, '\ufffd', '?', `${text}-`]
    expect(texts.map(computeScore)).toEqual([1, 1, 2, 0, 0, 0])
  },
)
