// The score log in each durability, against a service without one: `npm run bench -- log`. Single
// scores under load, batches, and single scores with few connections, where nothing queues.
import type { LoadRequest } from '../lib/load.ts'
import type { ScoreBench } from '../lib/score-bench.ts'
import { playScoreContests } from '../lib/score-contest.ts'

const contestants = (of: (bench: ScoreBench) => readonly LoadRequest[]) => (bench: ScoreBench) => [
  bench.service('off', of(bench), { SCORE_LOG_OFF: '1' }),
  ...['process', 'disk', 'database'].map((durability) =>
    bench.service(durability, of(bench), { SCORE_LOG_DURABILITY: durability }),
  ),
]
const singles = contestants((bench) => bench.singles)
const batches = contestants((bench) => bench.batches)
await playScoreContests(
  'log',
  [
    { name: 'single', connections: 64, contestants: singles },
    { name: 'batch', connections: 4, contestants: batches },
    { name: 'calm', connections: 4, contestants: singles },
  ],
  process.argv.slice(2),
)
