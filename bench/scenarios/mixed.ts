// Single scores beside batches on the same service, against none: `npm run bench -- mixed --rate
// 5000`. One connection of 64 sends a batch, then two single scores, and so on: batches are less
// than one request in a hundred, so the p99 is that of single scores.
import type { LoadRequest } from '../lib/load.ts'
import type { ScoreBench } from '../lib/score-bench.ts'
import { playScoreContests } from '../lib/score-contest.ts'

const CONNECTIONS = 64
const REQUESTS_OF_CONNECTION = 3

/** As many for each connection, in turn; the first request of the first connection is a batch. */
function mixed({ singles, batches }: ScoreBench): LoadRequest[] {
  const all = Array.from({ length: REQUESTS_OF_CONNECTION * CONNECTIONS }, (_, at) => {
    return singles[at % singles.length] ?? singles[0]
  })
  return [batches[0], ...all.slice(1)].filter((request) => request !== undefined)
}

await playScoreContests(
  'mixed',
  [
    {
      name: 'mixed',
      connections: CONNECTIONS,
      contestants: (bench) => [
        bench.service('no batches', bench.singles),
        bench.service('batches', mixed(bench)),
        bench.service('batches, without threads for them', mixed(bench), { BATCH_THREADS: '0' }),
      ],
    },
  ],
  process.argv.slice(2),
)
