import { expect, test } from 'vitest'
import { checkSteps, compileSteps, type Steps } from '../../../src/engine/index.ts'
import { CATEGORIES_MAX } from '../../../src/engine/spec.ts'
import { CATEGORIES_A_STEP } from '../../../src/engine/steps.ts'
import { card, categorical } from '../../support/cards/cards.ts'

function counted<T>(steps: Steps<T>): { readonly value: T; readonly pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const step = steps.next()
    if (step.done === true) return { value: step.value, pauses }
  }
}

// The largest legal feature took a tenth of a second in one step, for which every score waited.
test('a feature of many categories is checked and compiled in many steps', () => {
  const categories = Array.from({ length: CATEGORIES_MAX - 1 }, (_, at) => `category ${at}`)
  const spec = card([
    categorical('one', [
      [categories.join('%,%'), 7],
      ['Missing', 0],
    ]),
  ])
  const check = counted(checkSteps(spec))
  if (!check.value.ok) throw new Error('the card is legal')
  const compiled = counted(compileSteps(check.value.spec))
  const pausesMin = CATEGORIES_MAX / CATEGORIES_A_STEP - 1
  expect([check.pauses, compiled.pauses].map((pauses) => pauses >= pausesMin)).toEqual([true, true])
  expect(compiled.value.features[0]?.categories.map.size).toBe(CATEGORIES_MAX)
})
