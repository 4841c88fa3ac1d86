import { expect, test } from 'vitest'
import { ModelScore, scoreApplicant } from '../../../src/engine/index.ts'
import { ReasonTexts } from '../../../src/scoring/reason-texts.ts'
import { compiledCard, foundReasons, worksheetCard } from '../../support/cards/reason-cards.ts'

/** Every applicant of the worksheet: each feature in its worse or its better bin. */
const APPLICANTS = Array.from({ length: 16 }, (_, bits) =>
  Object.fromEntries(
    ['tenure', 'income', 'util', 'inquiries'].map((name, at) => [name, (bits >> at) & 1]),
  ),
)

// A text is prepared for a bin: it must not carry the distance of one applicant to the next.
test.each(['positive', 'net', 'max'])(
  'texts of %s say what was found, in any order',
  (aggregate) => {
    const card = worksheetCard({ method: 'fixed', baseline_basis: 'mean', aggregate })
    const { spec, model, rules } = compiledCard(card)
    const texts = ReasonTexts.of(spec, model, rules, null) ?? expect.fail('it has averages')
    const score = new ModelScore(model)
    for (const applicant of [...APPLICANTS, ...APPLICANTS.toReversed()]) {
      scoreApplicant(applicant, score)
      const text = texts.reasons(score.slots, { max: 4, lang: 'en' })
      const { reasons, key_factors } = JSON.parse(`{${text.slice(1)}}`)
      const found = foundReasons(card, applicant)
      expect(
        reasons.map(({ code, distance, features }: (typeof found.reasons)[number]) => ({
          code,
          distance,
          features,
        })),
      ).toEqual(found.reasons)
      expect(key_factors).toEqual(found.keyFactors)
    }
  },
)
