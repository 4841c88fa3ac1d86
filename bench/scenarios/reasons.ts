// What reasons cost: `npm run bench -- reasons`. The same card and applicants, with and without the
// parameter.
import { CARD, makeApplicants, makeSpec } from '../lib/card.ts'
import { explainedSpec } from '../lib/explained-card.ts'
import { playScoreContests } from '../lib/score-contest.ts'

const BATCH_RECORDS = 1_000
const applicants = makeApplicants(CARD, BATCH_RECORDS)
const explained = { spec: explainedSpec(makeSpec(CARD)), applicants }

await playScoreContests(
  'reasons',
  [
    {
      name: 'single',
      connections: 64,
      sample: explained,
      contestants: (bench) => [
        bench.service('without', bench.singles),
        bench.service(
          'reasons=4',
          bench.singles.map((one) => ({ ...one, path: `${one.path}?reasons=4&lang=es` })),
        ),
      ],
    },
    {
      name: 'batch',
      connections: 4,
      sample: explained,
      contestants: (bench) => [
        bench.service('without', bench.batches),
        bench.service(
          'include_reasons: 4',
          bench.batches.map((one) => ({
            ...one,
            body: one.body.replace(/}$/, ',"include_reasons":4,"lang":"es"}'),
          })),
        ),
      ],
    },
  ],
  process.argv.slice(2),
)
