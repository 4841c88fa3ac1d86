// json-rules-engine: a rule for each bin, whose event holds its points, as its documentation has
// it.
import { Engine } from 'json-rules-engine'
import { servePeer } from '../../lib/peer-program.ts'
import { type PeerFeature, type PeerSpec, readBin } from './bins.ts'

function readConditions({ name: fact }: PeerFeature, bin: ReturnType<typeof readBin>) {
  if ('texts' in bin) return [{ fact, operator: 'in', value: bin.texts }]
  const { low, high, lowClosed, highClosed } = bin
  const above = lowClosed ? 'greaterThanInclusive' : 'greaterThan'
  const below = highClosed ? 'lessThanInclusive' : 'lessThan'
  return [
    ...(low === Number.NEGATIVE_INFINITY ? [] : [{ fact, operator: above, value: low }]),
    ...(high === Number.POSITIVE_INFINITY ? [] : [{ fact, operator: below, value: high }]),
  ]
}

await servePeer((card) => {
  // The scenario hands over the sample card; the check of the scores would find anything else.
  const spec = card as PeerSpec
  const engine = new Engine([], { allowUndefinedFacts: true })
  const indexOf = new Map(spec.features.map(({ name }, index) => [name, index]))
  for (const feature of spec.features) {
    for (const bin of feature.bins) {
      const event = { type: feature.name, params: { points: bin.points } }
      engine.addRule({ conditions: { all: readConditions(feature, readBin(bin)) }, event })
    }
  }
  const score = async (applicant: object) => {
    const { events } = await engine.run(applicant)
    const points = new Array<number>(spec.features.length).fill(0)
    for (const { type, params } of events) {
      points[indexOf.get(type) ?? -1] = Number(params?.['points'])
    }
    return { score: points.reduce((sum, one) => sum + one, spec.base_points), points }
  }
  return {
    result: score,
    run: async (applicants, from, count) => {
      for (let n = 0; n < count; n++) await score(applicants[(from + n) % applicants.length] ?? {})
    },
  }
})
