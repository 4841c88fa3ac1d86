import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ScorecardSpec } from '../../../schemas/spec.ts'
import { checkSpec } from '../../../src/engine/index.ts'
import { sampleSpec } from '../../support/cards/cards.ts'
import { faultySpec } from '../../support/cards/faulty-specs.ts'
import { validSpec } from '../../support/cards/spec-arbitraries.ts'

// The published form of a spec is what modelers build exporters from; the engine is what judges
// them.
test('what the engine accepts has the form that the contract publishes', () => {
  expect(Value.Check(ScorecardSpec, sampleSpec())).toBe(true)
  fc.assert(
    fc.property(validSpec(), (spec) => {
      expect([...Value.Errors(ScorecardSpec, spec)]).toEqual([])
    }),
    { numRuns: 1_000 },
  )
})

test('what has not that form the engine refuses', () => {
  fc.assert(
    fc.property(faultySpec(), ({ spec }) => {
      if (!Value.Check(ScorecardSpec, spec)) expect(checkSpec(spec).ok).toBe(false)
    }),
    { numRuns: 1_000 },
  )
})
