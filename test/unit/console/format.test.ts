import { expect, test } from 'vitest'
import { signed } from '../../../src/console/page/format.ts'

test('a difference has the sign of what is shown, and none if that is 0', () => {
  const shown = [12.5, -12.5, 0, -0, -0.003, 0.003, -0.006].map(signed)
  expect(shown).toEqual(['+12.5', '−12.5', '0', '0', '0', '0', '−0.01'])
})
