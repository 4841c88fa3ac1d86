// A batch with contributions, against parsing and stringifying bodies of its size: `npm run bench
// -- batch`. The baseline reads the same batch and writes an answer as long as the service's.
import { playScoreContests } from '../lib/score-contest.ts'

const SCORE_LOG_OFF = '1'

await playScoreContests(
  'batch',
  [
    {
      name: 'batch',
      connections: 4,
      contestants: (bench) => [
        bench.bare('/batch/stringify', bench.batches),
        bench.service('everything on', bench.batches),
        bench.service('without log', bench.batches, { SCORE_LOG_OFF }),
      ],
    },
  ],
  process.argv.slice(2),
)
