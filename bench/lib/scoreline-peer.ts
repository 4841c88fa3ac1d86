// The engine of the service, as the programs in bench/peers are: started by the scenario `peers`.
import { checkSpec, compileModel, ModelScore, scoreApplicant } from '../../src/engine/index.ts'
import { servePeer } from './peer-program.ts'

await servePeer((spec) => {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
  const modelScore = new ModelScore(compileModel(checked.spec))
  return {
    result: (applicant) => {
      scoreApplicant(applicant, modelScore)
      const { score, pd, grade } = modelScore
      const points = checked.spec.features.map((_, feature) => modelScore.readPoints(feature))
      return { score, pd, grade, points }
    },
    run: (applicants, from, count) => {
      let at = from
      for (let n = 0; n < count; n++) {
        const applicant = applicants[at]
        if (applicant !== undefined) scoreApplicant(applicant, modelScore)
        if (++at >= applicants.length) at = 0
      }
    },
  }
})
